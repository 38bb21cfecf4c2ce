"""`reconciler handover`: how a target comes to us from another autoscaler, or goes back, and how far that is."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.plan import live_options, side_options
from reconciler.values.plural import count_text

if TYPE_CHECKING:
    from reconciler.cluster.target import TargetFacts
    from reconciler.cluster.world import World


@click.command("handover")
@click.argument("platform")
@click.argument("target", metavar="[NAMESPACE/]NAME")
@click.option("--back", is_flag=True, help="From us to the platform's autoscaler instead.")
@side_options
@click.option("--detailed-exitcode", is_flag=True, help="Exit code 2 while steps are left.")
@live_options
def command(
    platform: str,
    target: str,
    *,
    back: bool,
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    detailed_exitcode: bool,
    namespace: str | None,
    **connection: object,
) -> int:
    """Say step by step how the size of a target changes hands, and which steps are done. Nothing is written.

    PLATFORM is the key of the platform in policies, such as openshift. Do the next step, ask again, go on: each step says what
    was found. Replicas stay as they are all the way.

    \b
    Examples:
      reconciler handover openshift worker-a --policy policies/ --context prod
      reconciler handover openshift worker-a --back --context prod
      reconciler handover openshift prod-worker-a \\
        --cluster examples/openshift/cluster
    """
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_inputs
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_OK, InputError
    from reconciler.decisions.platform_handovers import HandoverCase, handovers
    from reconciler.rendering.printers.text.handover import handover_text

    known = {one.provider: one for one in handovers()}
    if platform not in known:
        raise InputError(f"no handover on {platform!r}. There is one on: {', '.join(known)}")
    inputs = read_inputs(policy_path, name, cluster_path, now, connection_choice(connection), namespace)
    facts = _target(inputs.world, known[platform].kinds, target)
    case = HandoverCase(facts=facts, world=inputs.world, policy=inputs.policy, now_seconds=inputs.now_seconds)
    handover = known[platform].back(case) if back else known[platform].to_us(case)
    click.echo(handover_text(f"{facts.ref} at {count_text(facts.replicas or 0, 'replica')}", handover), nl=False)
    return EXIT_CHANGES if detailed_exitcode and handover.next < len(handover.steps) else EXIT_OK


def _target(world: "World", kinds: tuple[str, ...], asked: str) -> "TargetFacts":
    """The only target of this name. Raises `InputError`."""
    import difflib

    from reconciler.cli.outputs.failure import InputError

    there = {f"{facts.ref.namespace}/{facts.ref.name}": facts for facts in world.targets if facts.ref.kind in kinds}
    matches = [name for name in there if asked in (name, name.partition("/")[2])]
    if len(matches) == 1:
        return there[matches[0]]
    if matches:
        raise InputError(f"{asked!r} is the name of several: {', '.join(matches)}")
    near = difflib.get_close_matches(asked, [*there, *(name.partition("/")[2] for name in there)], n=1)
    listed = ", ".join(list(there)[:10]) or "none"
    raise InputError(f"no target {asked!r}." + (f" Did you mean {near[0]!r}?" if near else f" There are: {listed}."))
