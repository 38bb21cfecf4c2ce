"""Gangs for which kube-scheduler makes room by removing pods of lower priority. It uses no new node then.

SOURCE: kube-scheduler 1.37, `PodGroupEvaluator` of its plugin DefaultPreemption. It removes all pods of lower priority and looks
whether the gang fits. Then it keeps as many of them as it can. The priority of a pod is that of its PodGroup. Disruption budgets
only decide who is kept. This happens with the first refusal. So a gang that was refused some time ago gets its nodes.
"""

from collections.abc import Iterable

from reconciler.cluster.world import World
from reconciler.decisions.demand.pod_counts import LINGER_SECONDS
from reconciler.decisions.reasons.pods import GangPreempts
from reconciler.decisions.situation.pod_groups import GroupedPods
from reconciler.decisions.situation.waiting_pods import WaitingPods
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason
from reconciler.scheduling.state import SchedulingState

_NEVER = "Never"
_MOST = 16
"""So many gangs of one view are looked at. Each looks at all pods that run."""


def preempting(
    world: World, waiting: WaitingPods, state: SchedulingState, groups: Iterable[GroupedPods], now_seconds: int
) -> dict[int, tuple[PodOutcome, Reason]]:
    """What to say of pods of such gangs, by shape. The state stays as it is."""
    found: dict[int, tuple[PodOutcome, Reason]] = {}
    if not world.release.whole_groups:
        return found
    candidates = [one for one in groups if one.held is None and one.needed > 1 and _may(world, waiting, one, now_seconds)]
    for group in candidates[:_MOST]:
        mark = state.mark()
        if not _fits(waiting, state, group):
            removed = _remove_lower(world, state, world.pod_shapes[group.shapes[0]].priority)
            if removed and _fits(waiting, state, group):
                why = GangPreempts(group="/".join(group.key), lower=removed).reason()
                found |= dict.fromkeys(group.shapes, (PodOutcome.DELAYED, why))
        state.undo(mark)
    return found


def _may(world: World, waiting: WaitingPods, group: GroupedPods, now_seconds: int) -> bool:
    """Whether the gang may preempt, and its last refusal, or the creation of its last pod, was just now."""
    pods, rows = world.pods, [row for shape in group.shapes for row in waiting[shape]]
    policies = {world.pod_shapes[shape].preemption_policy for shape in group.shapes}
    policies |= {one.preemption_policy for one in world.pod_groups if (one.namespace, one.name) == group.key}
    last = max(max(pods.created_seconds[row], pods.unschedulable_seconds[row]) for row in rows)
    nominated = any(pods.nominated[row] >= 0 for row in rows)
    return _NEVER not in policies and not nominated and last + LINGER_SECONDS > now_seconds


def _fits(waiting: WaitingPods, state: SchedulingState, group: GroupedPods) -> bool:
    mark = state.mark()
    placed = sum(count for shape in group.shapes for _, count in state.place(shape, len(waiting[shape])))
    state.undo(mark)
    return placed >= group.needed


def _remove_lower(world: World, state: SchedulingState, priority: int) -> int:
    """Take all pods of lower priority off their nodes; how many these are."""
    of_groups = {(one.namespace, one.name): one.priority for one in world.pod_groups}
    lower = {
        number
        for number, shape in enumerate(world.pod_shapes)
        if of_groups.get((shape.namespace, shape.pod_group), shape.priority) < priority
    }
    removed = 0
    for node in range(state.node_count) if lower else ():
        for shape, count in state.bound(node):
            if shape in lower:
                state.unbind(shape, node, count)
                removed += count
    return removed
