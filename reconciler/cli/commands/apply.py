"""`reconciler apply`: exactly a saved plan, as far as it still holds."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.approval import approval_options
from reconciler.cli.inputs.drain_timeout import drain_timeout_option
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import input_options, live_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.cli.inputs.plan_inputs import Cluster
    from reconciler.control.saved_plans.apply import RemovalTerms
    from reconciler.plan.plan import Plan
    from reconciler.policy.documents import PolicySet
    from reconciler.rendering.documents.apply import ApplyDocument
    from reconciler.values.cluster_identity import ClusterIdentity


PLAN_NAMESPACE = "reconciler-plan"
"""What signatures of saved plans are for."""


@click.command("apply")
@click.argument("plan_path", metavar="PLANFILE", type=NAMED_PATH)
@input_options
@click.option("--simulate", is_flag=True, help="Do it on the embedded cluster, which starts from --cluster.")
@click.option(
    "--plan-signers", "plan_signers", metavar="FILE", type=NAMED_PATH,
    help="Carry out only a plan that one of these SSH keys signed, in PLANFILE.sig.",
)  # fmt: skip
@drain_timeout_option
@approval_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@live_options
def command(
    plan_path: Path,
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    output: str,
    plan_signers: Path | None,
    *,
    simulate: bool,
    drain_timeout_seconds: int,
    namespace: str | None,
    **others: object,
) -> int:
    """Carry out a plan that `reconciler plan --out PLANFILE` saved. The command decides again, and does what both plans do.
    Without --policy, and if the directory policies/ does not exist, it decides by the policy in the file.

    On the live cluster, apply holds the Lease, so it is refused while a loop of the policy runs. It ends when the drains that it
    began have ended (^C undoes them). With --simulate, it acts on the embedded cluster instead.

    An action is refused if the policy, the owner of the replicas, the bounds of the group or the replicas have changed. The
    refusal says which. A scale-up takes the smaller of both counts. Exit code 0: everything was done, and 1: something was not.

    An approval is a trailer of a commit message. It approves one saved plan for one cluster and one policy, until an instant. A
    refusal prints the whole line. An approval applies once: after the plan has been carried out, it matches nothing.

    \b
      Reconciler-Approve: policy=sha256:… plan=sha256:… cluster=prod
        until=2026-12-01T00:00:00Z nodes<=5 evictions<=20

    With --plan-signers, only the plan that was signed counts: any other is refused, whatever its content.

    Anyone who can write a commit can write that trailer. It counts only if one of the keys of --allowed-signers or --gpg-keys
    signed the commit, unless --any-author is given.

    \b
    Examples:
      reconciler plan --context prod --out plan.json \\
        && reconciler apply plan.json --context prod
      reconciler plan --cluster snapshot/ --out plan.json
      reconciler apply plan.json --cluster snapshot/ --simulate
      reconciler apply plan.json --cluster snapshot/ --simulate --require-plan 3 \\
        --approved-by HEAD --any-author
      reconciler apply plan.json --context prod --require-plan 3 \\
        --approved-by HEAD --allowed-signers ~/approvers
      ssh-keygen -Y sign -n reconciler-plan -f ~/.ssh/id_ed25519 plan.json
      reconciler apply plan.json --cluster snapshot/ --simulate \\
        --plan-signers ~/approvers
      reconciler apply plan.json --cluster snapshot/ --simulate -o json \\
        | jq '.actions[] | select(.state != "Done")'
    """
    import time
    from functools import partial

    from reconciler.cli.inputs.approval_terms import approval_choice, removal_terms
    from reconciler.cli.inputs.plan_inputs import read_world
    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.cli.outputs.terminal import progress
    from reconciler.cluster.world import identity_of
    from reconciler.control.saved_plans.apply_document import apply_document
    from reconciler.control.saved_plans.simulated_apply import SimulatedApply
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET

    approval, connection = approval_choice(others)
    saved, files = _read(plan_path, plan_signers)
    terms = removal_terms(approval)
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    if not simulate:
        if cluster_path is not None or now is not None:
            raise InputError("--cluster and --now require --simulate. Name the live cluster with --context")
        policy = _policy(saved, files, plan_path, policy_path, name, int(time.time()), partial(_live_cluster, connection))
        document = _live(saved, policy, terms, budget, drain_timeout_seconds, namespace, connection)
        _write(document, output)
        return EXIT_OK if document.complete else EXIT_ERROR
    with progress("reading policy and cluster"):
        world, now_seconds = read_world(cluster_path, now)
        policy = _policy(saved, files, plan_path, policy_path, name, now_seconds, identity_of(world))
    _same_place(saved, world.name, policy.policy.name)
    with progress("applying"):
        applied, happened = SimulatedApply(world, policy, now_seconds, saved, terms, budget).run()
    document = apply_document(saved, applied, now_seconds, happened)
    _write(document, output)
    return EXIT_OK if document.complete else EXIT_ERROR


def _live(
    saved: "Plan",
    policy: "PolicySet",
    terms: "RemovalTerms | None",
    work_budget: int,
    drain_timeout_seconds: int,
    namespace: str | None,
    connection: "Mapping[str, object]",
) -> "ApplyDocument":
    import time

    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.processes.live_apply import apply_live
    from reconciler.control.saved_plans.apply_document import apply_document

    live = LiveInputs(connection_choice(connection), or_snapshot=False)
    _same_place(saved, live.name, policy.policy.name)
    applied, happened = apply_live(
        live, policy, saved, terms,
        namespace=namespace, drain_timeout_seconds=drain_timeout_seconds, work_budget=work_budget,
    )  # fmt: skip
    return apply_document(saved, applied, int(time.time()), happened)


def _write(document: "ApplyDocument", output: str) -> None:
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.apply import apply_text

    width = text_width(sys.stdout)
    text = json_text(document) if output == "json" else apply_text(document, colour=wants_colour(sys.stdout), width=width)
    click.echo(text.encode("utf-8", "replace"), nl=False)


def _policy(
    saved: "Plan", files: "Mapping[str, bytes]", plan_path: Path, policy_path: Path | None, name: str | None, now_seconds: int,
    cluster: "Cluster",
) -> "PolicySet":  # fmt: skip
    """The policy of now where one is named or lies here; else the one that the plan carries."""
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES, carried_policy, read_policy

    if files and policy_path is None and not DEFAULT_POLICIES.is_dir():
        return carried_policy(plan_path, files, name or saved.policy, now_seconds, cluster)
    return read_policy(policy_path, name, now_seconds, cluster)


def _live_cluster(connection: "Mapping[str, object]") -> "ClusterIdentity | None":
    """Which cluster the connection leads to. Only a policy for many clusters asks."""
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cluster.world import identity_of

    return identity_of(LiveInputs(connection_choice(connection), or_snapshot=False).world(targets_only=True))


def _read(path: Path, signers: Path | None) -> "tuple[Plan, Mapping[str, bytes]]":
    from reconciler.cli.outputs.failure import InputError
    from reconciler.plan.saved import MOST_BYTES, SavedPlanError, carried_files, read_saved

    if path.is_dir():
        raise InputError(f"{path}: a directory. Name the file that `reconciler plan --out FILE` wrote")
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. `reconciler plan --out {path}` writes one") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if signers is not None:
        _check_signature(path, data, signers)
    try:
        return read_saved(data), carried_files(data)
    except SavedPlanError as error:
        raise InputError(f"{path}: {error}") from None


def _check_signature(path: Path, data: bytes, signers: Path) -> None:
    """Who signed exactly these bytes goes to stderr. Raises `InputError` if nobody did who may."""
    import time

    from reconciler.cli.outputs.failure import InputError
    from reconciler.cli.outputs.telling import tell
    from reconciler.gitops.git.fault import SourceError
    from reconciler.gitops.git.signed_file import MOST_SIGNATURE_BYTES, file_signer
    from reconciler.rendering.words.plain import plain

    if not signers.is_file():
        raise InputError(f"{signers}: no such file")
    signature = path.with_name(f"{path.name}.sig")
    try:
        with signature.open("rb") as stream:
            signed = stream.read(MOST_SIGNATURE_BYTES)
    except FileNotFoundError:
        hint = f"ssh-keygen -Y sign -n {PLAN_NAMESPACE} -f KEY {path}"
        raise InputError(f"{path}: the plan is not signed: there is no {signature.name}. `{hint}` signs it") from None
    except OSError as error:
        raise InputError(f"{signature}: {error.strerror or error}") from None
    try:
        signer = file_signer(data, signed, signers, PLAN_NAMESPACE, int(time.time()))
    except SourceError as error:
        raise InputError(f"{path}: {error.fault.sentence}") from None
    tell(f"the plan was signed by {plain(signer)}")


def _same_place(saved: "Plan", cluster: str, policy: str) -> None:
    """A plan for another cluster or another policy is a mix-up and nothing to judge action by action."""
    from reconciler.cli.outputs.failure import InputError
    from reconciler.rendering.words.plain import plain

    for what, planned, actual in (("cluster", saved.cluster, cluster), ("policy", saved.policy, policy)):
        if planned != actual:
            raise InputError(f"the plan is for {what} {plain(planned) or '(unnamed)'}, this is {actual or '(unnamed)'}")
