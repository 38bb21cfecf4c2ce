"""The effect of a plan on nodes and pods: by its own actions now, and on the way to the steady state."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.plan.plan import Plan
from reconciler.scheduling.departing import departing


class Impact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods as `namespace/name`, nodes by name, all sorted; groups by name.

    `evicted_now` are pods that this plan's removals move; DaemonSet and mirror pods go with their node and do not count. The
    others are None or empty if the steady state was not computed. `evicted_settled` counts every eviction: a pod that moves twice
    counts twice under its first name. `nodes_gone` are nodes of today that are gone in the steady state. `nodes_joined` is how
    many nodes joined each group on the way. `waiting` are pods without a node in the steady state, replaced ones under their
    first name. `data_lost` are those of `evicted_settled` with data only on their node (emptyDir, hostPath) that is not declared
    safe to lose.
    """

    evicted_now: tuple[str, ...] = ()
    evicted_settled: tuple[str, ...] = ()
    nodes_gone: tuple[str, ...] = ()
    nodes_joined: Mapping[str, int] = {}
    waiting: tuple[str, ...] = ()
    data_lost: tuple[str, ...] = ()


def left_over(pods: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those of `pods` that `others` does not have, or not as often."""
    known = Counter(others)
    rest = []
    for pod in pods:
        if known[pod] > 0:
            known[pod] -= 1
        else:
            rest.append(pod)
    return rest


def losing_data(world: World, pods: Iterable[str]) -> tuple[str, ...]:
    """Those of `pods` (as `namespace/name`) whose eviction loses data on their node, sorted, each once."""
    asked = set(pods)
    if not asked:
        return ()
    lossy = [bool(traits.lost_volumes) and traits.safe_to_evict != "true" for traits in world.pod_traits]
    if not any(lossy):
        return ()
    rows = [row for row, index in enumerate(world.pods.traits) if lossy[index]]
    return tuple(sorted(asked.intersection(world.pods.keys(rows))))


def evicted_now(world: World, plan: Plan) -> tuple[str, ...]:
    """The pods that have to move when the nodes of this plan's removals are drained, sorted."""
    names = {name for action in plan.actions for name in action.nodes}
    if not names:
        return ()
    moving: Sequence[int] = departing(world, bytearray(node.name in names for node in world.nodes), ending=False)
    if any(world.pods.deletion_seconds):
        moving = [row for row in moving if not world.pods.deletion_seconds[row]]
    return tuple(sorted(world.pods.keys(moving)))
