"""What carrying a plan out does to nodes and pods: by its own actions now, and on the way to where the loop rests."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.plan.plan import Plan
from reconciler.scheduling.departing import departing


class Impact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods as `namespace/name`, nodes by name, all sorted; groups by name.

    `evicted_now` are pods that this plan's removals move; DaemonSet and mirror pods go with their node and do not count.
    The others are None or empty where nobody looked ahead: `evicted_settled` counts every eviction (a pod that moves
    twice counts twice under its first name), `nodes_gone` are nodes of today that are gone at rest, `nodes_joined` how many
    nodes joined each group on the way, `waiting` pods that have no node at rest, replaced ones under their first name.
    """

    evicted_now: tuple[str, ...] = ()
    evicted_settled: tuple[str, ...] = ()
    nodes_gone: tuple[str, ...] = ()
    nodes_joined: Mapping[str, int] = {}
    waiting: tuple[str, ...] = ()


def evicted_now(world: World, plan: Plan) -> tuple[str, ...]:
    """The pods that have to move when the nodes of this plan's removals are drained, sorted."""
    names = {name for action in plan.actions for name in action.nodes}
    if not names:
        return ()
    moving: Sequence[int] = departing(world, bytearray(node.name in names for node in world.nodes), ending=False)
    if any(world.pods.deletion_seconds):
        moving = [row for row in moving if not world.pods.deletion_seconds[row]]
    return tuple(sorted(world.pods.keys(moving)))
