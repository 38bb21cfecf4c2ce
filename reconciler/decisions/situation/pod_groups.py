"""PodGroups with pending pods: how many of these must run together, and which of them wait for something else than a node.

SOURCE: kube-scheduler 1.36 and 1.37 (plugin GangScheduling, and `validatePodGroup` since 1.37).
"""

from array import array
from collections.abc import Callable, Iterable, Mapping

import msgspec

from reconciler.cluster.pods.pod_table import PodTable, is_gated, is_ready
from reconciler.cluster.workloads.pod_group import POD_GROUP, PodGroup
from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import GangWaits, NotModelled, PodGroupGated, PodGroupRejected, PodGroupUnknown
from reconciler.decisions.situation.waiting_pods import WaitingPods
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason
from reconciler.scheduling.kernels import loops

_MISSING, _NOT_CAPTURED = "does not exist, and kube-scheduler waits for it", "was not captured"


class GroupedPods(msgspec.Struct, frozen=True):
    """The pending pods of one PodGroup, by shape and in number. `needed` of them have to get a place together (1: each by
    itself). With `held`, none gets a place: what that means for them, and why."""

    key: tuple[str, str]
    shapes: tuple[int, ...]
    waiting: int
    needed: int = 1
    held: tuple[PodOutcome, Reason] | None = None


def grouped_pods(world: World, waiting: WaitingPods) -> tuple[GroupedPods, ...]:
    """All PodGroups of pending pods, by namespace and name. Terminating pods count no more: others have to replace them."""
    by_group: dict[tuple[str, str], list[int]] = {}
    for shape in waiting:
        of = world.pod_shapes[shape]
        if of.pod_group:
            by_group.setdefault((of.namespace, of.pod_group), []).append(shape)
    if not by_group:
        return ()
    known = {(one.namespace, one.name): one for one in world.pod_groups}
    bound, gated = _members(world, _is_bound), _members(world, _is_gated) if world.release.whole_groups else {}
    return tuple(
        _gated(key, tuple(by_group[key]), waiting, gated[key])
        if key in gated and key in known
        else _grouped(world, waiting, key, tuple(by_group[key]), known.get(key), bound.get(key, {}))
        for key in sorted(by_group)
    )


def ready_members(world: World) -> Mapping[tuple[str, str], int]:
    """How many pods of each PodGroup are ready on their node."""
    return {key: sum(by_shape.values()) for key, by_shape in _members(world, _is_ready).items()}


def _is_bound(pods: PodTable, row: int) -> bool:
    return pods.node[row] >= 0


def _is_ready(pods: PodTable, row: int) -> bool:
    return pods.node[row] >= 0 and is_ready(pods.flags[row])


def _is_gated(pods: PodTable, row: int) -> bool:
    return pods.node[row] < 0 and is_gated(pods.flags[row])


def _members(world: World, holds: Callable[[PodTable, int], bool]) -> Mapping[tuple[str, str], Mapping[int, int]]:
    """How many pods of each PodGroup, by shape, are neither finished nor terminating, and `holds` for them."""
    shapes = {number: (one.namespace, one.pod_group) for number, one in enumerate(world.pod_shapes) if one.pod_group}
    if not shapes:
        return {}
    pods = world.pods
    starts, order = array("i", bytes(4 * (len(world.pod_shapes) + 2))), array("i", bytes(4 * len(pods)))
    loops.by_node(pods.shape, starts, order)
    bound: dict[tuple[str, str], dict[int, int]] = {}
    for number, key in shapes.items():
        rows = order[starts[number] : starts[number + 1]]
        if count := sum(holds(pods, row) and not pods.deletion_seconds[row] and not pods.finished(row) for row in rows):
            bound.setdefault(key, {})[number] = count
    return bound


def _gated(key: tuple[str, str], shapes: tuple[int, ...], waiting: WaitingPods, gated: Mapping[int, int]) -> GroupedPods:
    count = sum(len(waiting[shape]) for shape in shapes)
    why = PodGroupGated(group="/".join(key), gated=sum(gated.values())).reason()
    return GroupedPods(key, shapes, count, held=(PodOutcome.DELAYED, why))


def _grouped(
    world: World,
    waiting: WaitingPods,
    key: tuple[str, str],
    shapes: tuple[int, ...],
    group: PodGroup | None,
    bound: Mapping[int, int],
) -> GroupedPods:
    count, running = sum(len(waiting[shape]) for shape in shapes), sum(bound.values())
    least = 1 if group is None else group.min_count
    needed = max(1, least - running)
    name = "/".join(key)
    held = _unknown(world, name, group) if group is None or group.problem else _held(world, name, group, shapes, bound)
    if held is None and needed > count:
        held = PodOutcome.DELAYED, GangWaits(group=name, min_count=least, pods=running + count).reason()
    return GroupedPods(key, shapes, count, needed, held)


def unclear_group(world: World, name: str, group: PodGroup | None) -> str:
    """What of a PodGroup keeps anybody from knowing where its pods may run (empty: nothing)."""
    if group is None:
        return f"PodGroup {name}, which {_MISSING if POD_GROUP in world.captured else _NOT_CAPTURED}"
    if group.problem:
        return f"PodGroup {name}, which cannot be read: {group.problem}"
    return f"{', '.join(f'spec.{field}' for field in group.not_modelled)} of PodGroup {name}" if group.not_modelled else ""


def _unknown(world: World, name: str, group: PodGroup | None) -> tuple[PodOutcome, Reason]:
    if group is not None:
        return PodOutcome.NOT_MODELLED, PodGroupUnknown(group=name, why=f"cannot be read: {group.problem}").reason()
    if POD_GROUP not in world.captured:
        return PodOutcome.NOT_MODELLED, PodGroupUnknown(group=name, why=_NOT_CAPTURED).reason()
    return PodOutcome.DELAYED, PodGroupUnknown(group=name, why=_MISSING).reason()


def _held(
    world: World, name: str, group: PodGroup, shapes: Iterable[int], bound: Iterable[int]
) -> tuple[PodOutcome, Reason] | None:
    """`shapes` are those of its pods that wait, and `bound` those of its pods that run."""
    if unclear := unclear_group(world, name, group):
        return PodOutcome.NOT_MODELLED, NotModelled(feature=unclear).reason()
    compares = world.release.whole_groups
    of = [world.pod_shapes[shape] for shape in sorted({*shapes, *bound} if compares else shapes)]
    if len({one.scheduler_name for one in of}) > 1:
        return _rejected(name, "its pods differ in spec.schedulerName")
    if not compares:
        return None
    odd = next((one.priority for one in of if one.priority != group.priority), None)
    if odd is not None:
        return _rejected(name, f"its priority is {group.priority}, and that of a pod is {odd}")
    if len({group.preemption_policy or of[0].preemption_policy, *(one.preemption_policy for one in of)}) > 1:
        return _rejected(name, "its pods differ in spec.preemptionPolicy, or from that of the group")
    return None


def _rejected(name: str, why: str) -> tuple[PodOutcome, Reason]:
    return PodOutcome.UNPLACEABLE, PodGroupRejected(group=name, why=why).reason()
