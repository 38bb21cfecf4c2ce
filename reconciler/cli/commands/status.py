"""`reconciler status`: what the loop of a policy last did, read from the API server."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import live_options

if TYPE_CHECKING:
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.rendering.documents.status import PlanStatus


@click.command("status")
@click.option("--name", metavar="NAME", help="The policy, where loops of several keep state there.")
@click.option("--fleet", is_flag=True, help="The loops of all clusters (`run --fleet`), those with a problem first.")
@click.option("--cluster", "cluster_name", metavar="NAME", help="In a fleet: the loop of this Cluster, [NAMESPACE/]NAME.")
@click.option("--live", "live_url", metavar="URL", help="Also ask the running loop at this address for its last plan.")
@click.option("--token-file", metavar="FILE", type=NAMED_PATH, help="With --live: bearer token to show there.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@live_options
def command(
    name: str | None,
    *,
    fleet: bool,
    cluster_name: str | None,
    live_url: str | None,
    token_file: Path | None,
    output: str,
    namespace: str | None,
    **connection: object,
) -> int:
    """Show who leads, the last plan, the policy in force, and every group: replicas, holds, back-offs, conflicts. Then the
    nodes that are being drained. Read from the Lease, the state ConfigMap and the targets, so it works with the loop down.

    Exit code 5: nobody leads, or the last decision is more than a minute late. 6: a newer policy is refused. With --fleet, this
    holds for any cluster.

    \b
    Examples:
      reconciler status
      reconciler status --context prod --namespace reconciler
      reconciler status --fleet --context management
      reconciler status --cluster infra/west --name fleet
      reconciler status --live http://localhost:8080 -o json | jq .plan.summary
    """
    import time

    from reconciler.cli.inputs.connections import connection_choice, own_namespace
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.policy_state import policy_with_state
    from reconciler.cli.outputs.failure import EXIT_NOT_DECIDED, EXIT_OK, EXIT_POLICY_REFUSED
    from reconciler.control.live.loop_status import loop_status
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.status import status_text

    beside = {"--name": name, "--cluster": cluster_name, "--live": live_url}
    if fleet and any(beside.values()):
        option = next(option for option, given in beside.items() if given)
        raise click.UsageError(f"--fleet shows the loops of all clusters: leave {option} out")
    live = LiveInputs(connection_choice(connection), or_snapshot=False)
    where = own_namespace(namespace)
    if fleet:
        return _fleet(live, where, int(time.time()), output)
    if cluster_name is not None:
        policy = _loop(live, where, cluster_name, name)
    else:
        policy = policy_with_state(live.connections.management, where, name)
    plan = _asked(live_url, token_file) if live_url is not None else None
    targets = {str(facts.ref): facts for facts in live.world(targets_only=True).targets}
    document = loop_status(live.connections.management, where, policy, targets, int(time.time()), plan)
    click.echo(json_text(document) if output == "json" else status_text(document), nl=False)
    if not document.leader.leads or document.leader.not_decided_since:
        return EXIT_NOT_DECIDED
    return EXIT_POLICY_REFUSED if document.policy_in_force.refused else EXIT_OK


def _fleet(live: "LiveInputs", namespace: str, now_seconds: int, output: str) -> int:
    """Print it; the exit code."""
    import sys

    import msgspec

    from reconciler.cli.outputs.failure import EXIT_NOT_DECIDED, EXIT_OK, EXIT_POLICY_REFUSED, InputError
    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.control.live.fleet_report import fleet_report
    from reconciler.kube.connection.api import ApiError, UnreachableError
    from reconciler.rendering.documents.fleet.status import fleet_status_document
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.document import document_text

    try:
        report = fleet_report(live.connections.management, namespace, live.world(targets_only=True).clusters, now_seconds)
    except (ApiError, UnreachableError, msgspec.DecodeError) as error:
        raise InputError(f"namespace {namespace}: {error}") from None
    if output == "json":
        click.echo(json_text(report), nl=False)
    else:
        text = document_text(fleet_status_document(report), width=text_width(sys.stdout), colour=wants_colour(sys.stdout))
        click.echo(text, nl=False)
    if any(one.not_decided_since or (one.policy and not one.holder) for one in report.clusters):
        return EXIT_NOT_DECIDED
    return EXIT_POLICY_REFUSED if any(one.stopped for one in report.clusters) else EXIT_OK


def _loop(live: "LiveInputs", namespace: str, given: str, policy: str | None) -> str:
    """The name of the loop of a cluster, as its state has it."""
    import msgspec

    from reconciler.cli.inputs.named_cluster import named_cluster
    from reconciler.cli.outputs.failure import InputError
    from reconciler.control.live.fleet_report import fleet_report
    from reconciler.kube.connection.api import ApiError, UnreachableError
    from reconciler.kube.leading.loop_name import LoopName

    cluster = named_cluster(live.world(targets_only=True), given)
    try:
        report = fleet_report(live.connections.management, namespace, (cluster,), 0)
    except (ApiError, UnreachableError, msgspec.DecodeError) as error:
        raise InputError(f"namespace {namespace}: {error}") from None
    policies = sorted({one.policy for one in report.clusters if one.cluster == cluster.title and one.policy})
    if policy is None and len(policies) != 1:
        known = f"choose with --name ({', '.join(policies)})" if policies else "no loop of a fleet has run for it yet"
        raise InputError(f"{cluster.title}: {known}")
    return LoopName(policy or policies[0], cluster.namespace, cluster.name).text


def _asked(url: str, token_file: Path | None) -> "PlanStatus":

    from reconciler.cli.inputs.running_loop import ask
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
    from reconciler.plan.plan import Plan
    from reconciler.rendering.documents.status import PlanStatus
    from reconciler.values.decoding import decode

    try:
        plan = decode(ask(url, "/plan", token_file, text=False), Plan)
    except DECODING_ERRORS as error:
        raise InputError(f"{url}/plan: no plan as this version reads it ({finding(error)})") from None
    return PlanStatus(at=plan.now, summary=plan.summary, digest=plan.digest, mode=plan.mode)
