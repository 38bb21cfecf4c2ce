"""`reconciler hold`: leave groups alone for a while, or end that; it works with the loop down."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.completing import complete
from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.decisions.groups.group import EffectiveGroup


@click.command("hold")
@click.argument("groups", metavar="[GROUP]...", nargs=-1, shell_complete=complete("group"))
@click.option("--all", "everything", is_flag=True, help="Every group of the policy.")
@click.option("--reason", metavar="TEXT", help="The reason, which plans, events and status show.")
@click.option("--until", metavar="WHEN", help="When it ends by itself: 2h, or an instant in RFC 3339 [default: at --release].")
@click.option("--release", is_flag=True, help="End the hold instead.")
@click.option(
    "--policy",
    "policy_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Policy that names the groups [default: policies/ if it is there, else the targets' own annotations].",
)
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
@click.option("--cluster", "cluster_name", metavar="NAME", help="In a fleet: the groups of this Cluster, [NAMESPACE/]NAME.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@connection_options
def command(
    groups: tuple[str, ...],
    *,
    everything: bool,
    reason: str | None,
    until: str | None,
    release: bool,
    policy_path: Path | None,
    name: str | None,
    cluster_name: str | None,
    output: str,
    **connection: object,
) -> int:
    """Write the annotation reconciler.dev/hold on the targets of groups, or take it off. Replicas stay as they are. On an Auto
    Scaling group it is a tag of the same name, and the caller needs autoscaling:CreateOrUpdateTags and autoscaling:DeleteTags.

    The loop does not scale a held group and drains none of its nodes. Plans show its changes without the hold. When the
    hold ends, decisions resume with fresh back-offs. If a Cluster's topology owns a target, nothing is written to it, and the
    exit code is 1. The command then prints the lines to add to the Cluster.

    \b
    Examples:
      reconciler hold general-a --reason "recovering node h100-3" --until 2h
      reconciler hold --all --reason "change freeze" \\
        --until 2026-12-24T00:00:00Z --context prod
      reconciler hold general-a --release
      reconciler hold --all --cluster infra/west --reason "moving racks"
    """
    import time

    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.named_cluster import named_cluster
    from reconciler.cli.inputs.plan_inputs import read_policy
    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.cluster.world import identity_of
    from reconciler.control.live.target_holds import HoldState, set_hold
    from reconciler.decisions.groups.effective_groups import effective_groups
    from reconciler.policy.tree import narrowed
    from reconciler.providers.live_platforms import names_clouds
    from reconciler.rendering.documents.hold import HoldDocument, HoldLine
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.hold import hold_text

    if everything == bool(groups):
        raise click.UsageError("name groups, or --all")
    if release and (reason or until):
        raise click.UsageError("--release ends a hold: leave --reason and --until out")
    if not release and not (reason or "").strip():
        raise click.UsageError('--reason TEXT is required, so that others know why, such as --reason "change freeze"')
    now_seconds = int(time.time())
    text = "" if release else _text(reason or "", until, now_seconds)
    live = LiveInputs(connection_choice(connection), or_snapshot=False)
    identity = named_cluster(live.world(targets_only=True), cluster_name) if cluster_name is not None else None
    policy = read_policy(policy_path, name, now_seconds, lambda: identity or identity_of(live.world(targets_only=True)))
    if identity is not None:
        policy = narrowed((policy,), identity)[0]
    known = effective_groups(live.world(targets_only=True, policies=(policy,)), policy, now_seconds)
    chosen = known if everything else _chosen(groups, known)
    served = live.connections.served
    if not served and not names_clouds(policy):
        raise InputError(f"{live.connections.management.server} has no Cluster API: hold groups in the policy (spec.hold)")
    lines = []
    for group in chosen:
        if group.facts is None:
            raise InputError(f"{group.name}: its target {group.target} is not there")
        result = set_hold(live.connections.management, served, policy, group.name, group.facts, text)
        lines.append(
            HoldLine(
                group=result.group, target=result.target, state=str(result.state), before=result.before, now=result.now,
                message=result.message, lines=result.lines,
            )
        )  # fmt: skip
    complete = all(line.state not in (HoldState.REFUSED, HoldState.FAILED) for line in lines)
    document = HoldDocument(complete=complete, groups=tuple(lines))
    click.echo(json_text(document) if output == "json" else hold_text(document), nl=False)
    return EXIT_OK if complete else EXIT_ERROR


def _text(reason: str, until: str | None, now_seconds: int) -> str:
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cluster.targets.hold_mark import hold_text
    from reconciler.values.instant import instant_text

    if any(ord(character) < 32 for character in reason):
        raise InputError("--reason: one line, without control characters")
    if until is None:
        return hold_text(reason.strip())
    ends = _instant(until, now_seconds)
    if ends <= now_seconds:
        raise InputError(f"--until {until}: that is over already ({instant_text(ends)})")
    return hold_text(reason.strip(), instant_text(ends))


def _instant(until: str, now_seconds: int) -> int:
    from reconciler.cli.outputs.failure import InputError
    from reconciler.values.duration import DurationError, parse_duration
    from reconciler.values.instant import InstantError, parse_instant

    try:
        return parse_instant(until)
    except InstantError as error:
        hint = error.hint
    try:
        return now_seconds + parse_duration(until)
    except DurationError as error:
        raise InputError(f"--until {until}: neither a duration ({error.hint}) nor an instant ({hint})") from None


def _chosen(names: "Sequence[str]", known: "Sequence[EffectiveGroup]") -> "list[EffectiveGroup]":
    import difflib

    from reconciler.cli.outputs.failure import InputError

    by_name = {group.name: group for group in known}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            there = ", ".join(list(by_name)[:10]) or "none"
            raise InputError(f"no group {name!r}." + (f" Did you mean {near[0]!r}?" if near else f" There are: {there}."))
    return [by_name[name] for name in dict.fromkeys(names)]
