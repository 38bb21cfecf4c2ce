"""`reconciler bounds`: the parameter of the admission policies, rendered from a policy."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options.connection import connection_options
from reconciler.cli.options.named_path import NAMED_PATH
from reconciler.cli.outputs.telling import tell

if TYPE_CHECKING:
    from reconciler.cli.options.connections import ConnectionChoice
    from reconciler.decisions.groups.admission_bounds import AdmissionBounds


@click.command("bounds")
@click.option(
    "--policy",
    "policy_path",
    metavar="PATH",
    type=NAMED_PATH,
    default=Path("policies"),
    show_default=True,
    help="Policy file or directory.",
)
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Snapshot that has the discovered targets, and sizes that only targets say.",
)
@click.option("--now", metavar="RFC3339", help="The instant that says which holds have ended [default: now].")
@click.option("--namespace", metavar="NAME", default="reconciler", show_default=True, help="Where the reconciler runs.")
@click.option("--out", metavar="FILE", type=NAMED_PATH, help="Write it there instead of to stdout.")
@click.option("--check", metavar="FILE", type=NAMED_PATH, help="Write nothing, and show what would change in FILE.")
@connection_options
def command(
    policy_path: Path,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    namespace: str,
    out: Path | None,
    check: Path | None,
    **connection: object,
) -> int:
    """Render the ConfigMap that says between how many replicas each target may have, whose claims may be taken and where no pod
    is evicted, for the admission policies of `examples/deploy/components/bounds`.

    Keep what it prints in git, and have it applied by whoever installs the reconciler: its own account may not. A group that is
    held or whose mode is Observe keeps its size. A hold with an end counts until this is rendered again after it. Without
    --cluster or --context only NodeGroups count, with the sizes that policy files say. With --check the exit code is 1 where FILE
    says something else.

    \b
    Examples:
      reconciler bounds --policy policies/ --out bounds.yaml
      reconciler bounds --policy policies/ --cluster snapshot/ --check bounds.yaml
      reconciler bounds --policy policies/ --context prod | kubectl apply --server-side -f -
    """
    from reconciler.cli.options.connections import connection_choice
    from reconciler.cli.outputs.failure import EXIT_OK, InputError
    from reconciler.cli.outputs.saved_document import save_document
    from reconciler.rendering.bounds_manifest import bounds_manifest, left_out

    if out is not None and check is not None:
        raise click.UsageError("--out writes and --check does not: give one")
    if not policy_path.exists():
        raise InputError(f"{policy_path}: no such file or directory; --policy names the policy that bounds come from")
    bounds = _bounds(policy_path, name, cluster_path, now, connection_choice(connection))
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
    policy_path: Path, name: str | None, cluster_path: Path | None, now: str | None, choice: "ConnectionChoice"
) -> "AdmissionBounds":
    import time

    from reconciler.cli.inputs.plan_inputs import read_cluster, read_policy
    from reconciler.cli.options.connections import ConnectionChoice
    from reconciler.cli.options.decision_instant import decision_instant
    from reconciler.cluster.world import World
    from reconciler.decisions.groups.admission_bounds import admission_bounds

    now_seconds = int(time.time()) if now is None else decision_instant(now)
    policy = read_policy(policy_path, name, now_seconds)
    if cluster_path is None and choice == ConnectionChoice():
        if policy.policy.discovery:
            tell("warning: discovered targets are left out, since no cluster is named: they may not be resized")
        return admission_bounds(World(captured_seconds=now_seconds), policy, now_seconds)
    return admission_bounds(read_cluster(cluster_path, choice), policy, now_seconds)


def _checked(file: Path, text: str) -> int:
    """Prints what would change in the file."""
    from difflib import unified_diff

    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.rendering.plain import plain_lines

    try:
        found = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"--check {file}: {error.strerror or error}") from None
    if found == text:
        return EXIT_OK
    lines = unified_diff(found.splitlines(), text.splitlines(), str(file), "by the policy", lineterm="", n=0)
    click.echo(plain_lines("\n".join(lines)))
    tell(f"{file}: not what the policy says; render it again with --out {file}")
    return EXIT_ERROR
