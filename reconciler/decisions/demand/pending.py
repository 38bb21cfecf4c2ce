"""Which pods ask for a place, and which of those count."""

from array import array
from collections.abc import Iterator

import msgspec

from reconciler.cluster.pods.pod_table import FINISHED_PHASES, PodTable, pod_flags
from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import Delayed, Expendable, NotModelled, OtherScheduler
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason
from reconciler.policy.documents import PodRules
from reconciler.scheduling.kernels import loops
from reconciler.scheduling.state import SchedulingState
from reconciler.values.instant import instant_text


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one shape that ask for a place, by index in World order."""

    shape: int
    pods: tuple[int, ...]


class DemandResult(msgspec.Struct, frozen=True, kw_only=True):
    """Demands in the order in which they are served, and pending pods that do not count, with the reason."""

    demands: tuple[Demand, ...]
    apart: tuple[tuple[int, PodOutcome, Reason], ...]


def pending_demand(world: World, state: SchedulingState, rules: PodRules, now_seconds: int) -> DemandResult:
    """All pods without a node that are neither finished, terminating nor gated.

    Served by priority, then large ones first (first-fit decreasing), then in canonical order. Source of the exclusions:
    Cluster Autoscaler pod listers (finished, deleted and scheduling-gated pods are not demand), expendable cut-off.
    """
    by_shape: dict[int, list[int]] = {}
    apart: list[tuple[int, PodOutcome, Reason]] = []
    for number, indices in _waiting(world.pods, len(world.pod_shapes)):
        shape = world.pod_shapes[number]
        if shape.scheduler_name not in rules.scheduler_names:
            reason = OtherScheduler(scheduler=shape.scheduler_name).reason()
            apart.extend((index, PodOutcome.NOT_MODELLED, reason) for index in indices)
        elif shape.priority < rules.expendable_below_priority:
            reason = Expendable(priority=shape.priority, cutoff=rules.expendable_below_priority).reason()
            apart.extend((index, PodOutcome.EXPENDABLE, reason) for index in indices)
        elif feature := state.modelled(number):
            reason = NotModelled(feature=feature).reason()
            apart.extend((index, PodOutcome.NOT_MODELLED, reason) for index in indices)
        else:
            young, old = _by_age(world, indices, rules.new_pod_delay_seconds, now_seconds)
            apart.extend(young)
            if old:
                by_shape[number] = old
    order = sorted(by_shape, key=lambda shape: (-world.pod_shapes[shape].priority, -_size(world, shape), shape))
    return DemandResult(demands=tuple(Demand(shape=shape, pods=tuple(by_shape[shape])) for shape in order), apart=tuple(apart))


def _waiting(pods: PodTable, shapes: int) -> Iterator[tuple[int, list[int]]]:
    """`PodTable.pending` by shape, in their order in each."""
    starts, order = array("i", bytes(4 * (shapes + 2))), array("i", bytes(4 * len(pods)))
    gated = pod_flags(ready=False, gated=True)
    columns = (pods.node, pods.deletion_seconds, pods.phase, pods.flags, pods.shape)
    if not loops.waiting_pods(*columns, *FINISHED_PHASES, gated, starts, order):
        return
    unknown = pods.unknown_node
    for shape in range(shapes):
        found = order[starts[shape] : starts[shape + 1]].tolist()
        if unknown:
            found = [index for index in found if index not in unknown]
        if found:
            yield shape, found


def _by_age(
    world: World, indices: list[int], delay_seconds: int, now_seconds: int
) -> tuple[list[tuple[int, PodOutcome, Reason]], list[int]]:
    """Pods that are younger than the delay, with their reason, and the others."""
    if not delay_seconds:
        return [], indices
    young, old = [], []
    for index in indices:
        due = world.pods.created_seconds[index] + delay_seconds
        if due > now_seconds:
            young.append((index, PodOutcome.DELAYED, Delayed(delay_seconds=delay_seconds, until=instant_text(due)).reason()))
        else:
            old.append(index)
    return young, old


def _size(world: World, shape: int) -> int:
    """Cpu and memory on one scale: 1 core weighs as much as 4 GiB, the common ratio of general-purpose machines."""
    requests = world.pod_shapes[shape].requests
    return requests.cpu_milli * (4 << 30) // 1000 + requests.memory_bytes
