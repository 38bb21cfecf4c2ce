"""`reconciler bounds`: the parameter of the admission policies, rendered from a policy, or kept to it in a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.log_lines import log_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import cluster_option, now_option, policy_option
from reconciler.cli.inputs.source import policy_source_options
from reconciler.cli.outputs.telling import tell

if TYPE_CHECKING:
    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.cli.inputs.source_choice import SourceChoice
    from reconciler.decisions.ownership.admission_bounds import AdmissionBounds
    from reconciler.policy.documents import PolicySet

_DEFAULT_NAMESPACE = "reconciler"


@click.command("bounds")
@policy_option("Policy file or directory [default: policies].")
@cluster_option("Snapshot that has the discovered targets, and sizes that only targets say.")
@now_option("The instant that says which holds have ended [default: now].")
@click.option(
    "--namespace",
    metavar="NAME",
    help="Where the reconciler runs [default: reconciler, with --apply the pod's namespace if it runs in a pod].",
)
@click.option("--out", metavar="FILE", type=NAMED_PATH, help="Write it there instead of to stdout.")
@click.option("--check", metavar="FILE", type=NAMED_PATH, help="Write nothing, and show what would change in FILE.")
@click.option("--apply", is_flag=True, help="Keep the ConfigMap of the cluster to the policy, until SIGTERM.")
@click.option("--once", is_flag=True, help="With --apply: one look, then end.")
@click.option(
    "--period",
    "period_seconds",
    metavar="S",
    type=click.IntRange(1, 3600),
    default=30,
    show_default=True,
    help="With --apply: look so often, in seconds.",
)
@click.option("--listen", metavar="ADDRESS", help="With --apply: answer the probes /healthz and /readyz at HOST:PORT, or :PORT.")
@log_options
@connection_options
@policy_source_options
def command(
    policy_path: Path | None,
    cluster_path: Path | None,
    now: str | None,
    namespace: str | None,
    out: Path | None,
    check: Path | None,
    *,
    apply: bool,
    once: bool,
    period_seconds: int,
    listen: str | None,
    log_format: str,
    log_level: str,
    **given: object,
) -> int:
    """Render the ConfigMap that the admission policies of `examples/deploy/components/bounds` read. It has the range of replicas
    of each target, the targets whose claims may be taken, and the places where no pod is evicted. With --apply, keep the
    ConfigMap of a cluster up to date.

    The reconciler's own account may not write it. There are two ways to keep it up to date. Run this command with --apply next to
    the loop, under its own account and with the same source (git, a directory, Flux, custom resources). A bad commit then leaves
    the bounds as they are. Or keep the output in git, and let the person who installs the reconciler apply it. A hold with an end
    then applies until the bounds are rendered again.

    A group that is held or whose mode is Observe keeps its size. Without --cluster, --context or --apply, only NodeGroups count,
    with the sizes in policy files. With --check, the exit code is 1 if FILE differs.

    \b
    Examples:
      reconciler bounds --policy policies/ --out bounds.yaml
      reconciler bounds --policy policies/ --cluster snapshot/ --check bounds.yaml
      reconciler bounds --policy policies/ --context prod \\
        | kubectl apply --server-side -f -
      reconciler bounds --apply --git https://git.example.org/policies.git \\
        --path clusters/prod --name prod
    """
    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.cli.inputs.log_lines import LogChoice
    from reconciler.cli.inputs.source_choice import only_source, source_choice

    repository = source_choice(given)
    connection = ConnectionChoice(**{name: given[name] for name in ConnectionChoice.__struct_fields__})  # type: ignore[arg-type]
    only_source(repository, policy_path)
    if apply:
        from reconciler.cli.processes.bounds_run import BoundsChoice, run_bounds

        if any(option is not None for option in (out, check, cluster_path, now)):
            raise click.UsageError("--apply cannot be used with --out, --check, --cluster or --now")
        log = LogChoice(form=log_format, level=log_level)
        choice = BoundsChoice(
            policy=policy_path, namespace=namespace, period_seconds=period_seconds, once=once, listen=listen, log=log
        )
        return run_bounds(choice, connection, repository)
    if once or listen is not None:
        raise click.UsageError("--once and --listen go with --apply")
    if out is not None and check is not None:
        raise click.UsageError("--out writes and --check does not: give one")
    return _rendered(_bounds(policy_path, repository, cluster_path, now, connection), namespace or _DEFAULT_NAMESPACE, out, check)


def _rendered(bounds: "AdmissionBounds", namespace: str, out: Path | None, check: Path | None) -> int:
    from reconciler.cli.outputs.failure import EXIT_OK
    from reconciler.cli.outputs.saved_files import save_document
    from reconciler.rendering.manifests.bounds_manifest import bounds_manifest, left_out

    for sentence in left_out(bounds):
        tell(f"warning: {sentence}")
    text = bounds_manifest(bounds, namespace)
    if check is not None:
        return _checked(check, text)
    if out is None:
        click.echo(text, nl=False)
    else:
        save_document(text, out)
    return EXIT_OK


def _bounds(
    policy_path: Path | None,
    repository: "SourceChoice",
    cluster_path: Path | None,
    now: str | None,
    choice: "ConnectionChoice",
) -> "AdmissionBounds":
    import time

    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.cli.inputs.decision_instant import decision_instant
    from reconciler.cli.inputs.plan_inputs import read_cluster
    from reconciler.cluster.world import World
    from reconciler.decisions.ownership.admission_bounds import admission_bounds

    now_seconds = int(time.time()) if now is None else decision_instant(now)
    policy = _policy(policy_path, repository, now_seconds)
    if cluster_path is None and choice == ConnectionChoice():
        if policy.policy.discovery:
            tell("warning: discovered targets are left out, since no cluster is named: they may not be resized")
        return admission_bounds(World(captured_seconds=now_seconds), policy, now_seconds)
    return admission_bounds(read_cluster(cluster_path, choice), policy, now_seconds)


def _policy(path: Path | None, repository: "SourceChoice", now_seconds: int) -> "PolicySet":
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES, read_policy
    from reconciler.cli.inputs.source_choice import read_once
    from reconciler.cli.outputs.failure import InputError

    if repository.in_cluster:
        raise InputError("--custom-resources and --flux-source require --apply: output on stdout comes from files or git")
    if repository.git_url is not None:
        return read_once(repository, now_seconds)
    location = path or DEFAULT_POLICIES
    if not location.exists():
        raise InputError(f"{location}: no such file or directory. Name the policy of the bounds with --policy")
    return read_policy(location, repository.policy_name, now_seconds)


def _checked(file: Path, text: str) -> int:
    """Prints what would change in the file."""
    from difflib import unified_diff

    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.rendering.words.plain import plain_lines

    try:
        current = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"--check {file}: {error.strerror or error}") from None
    if current == text:
        return EXIT_OK
    lines = unified_diff(current.splitlines(), text.splitlines(), str(file), "by the policy", lineterm="", n=0)
    click.echo(plain_lines("\n".join(lines)))
    tell(f"{file} differs from the policy. Render it again with --out {file}")
    return EXIT_ERROR
