"""Which pods ask for a place, and which of those count."""

from collections import defaultdict

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import Delayed, Expendable, NotModelled, OtherScheduler
from reconciler.plan.instant import instant_text
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason
from reconciler.policy.documents import PodRules
from reconciler.scheduling.state import SchedulingState


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
    by_shape: dict[int, list[int]] = defaultdict(list)
    apart: list[tuple[int, PodOutcome, Reason]] = []
    pods = world.pods
    for index, node in enumerate(pods.node):
        if node >= 0 or pods.deletion_seconds[index] or pods.finished(index) or pods.gated(index):
            continue
        if index in pods.unknown_node:
            continue
        shape = world.pod_shapes[pods.shape[index]]
        due = pods.created_seconds[index] + rules.new_pod_delay_seconds
        if shape.scheduler_name not in rules.scheduler_names:
            apart.append((index, PodOutcome.NOT_MODELLED, OtherScheduler(scheduler=shape.scheduler_name).reason()))
        elif shape.priority < rules.expendable_below_priority:
            reason = Expendable(priority=shape.priority, cutoff=rules.expendable_below_priority)
            apart.append((index, PodOutcome.EXPENDABLE, reason.reason()))
        elif state.modelled(pods.shape[index]):
            apart.append((index, PodOutcome.NOT_MODELLED, NotModelled(feature=state.modelled(pods.shape[index])).reason()))
        elif rules.new_pod_delay_seconds and due > now_seconds:
            late = Delayed(delay_seconds=rules.new_pod_delay_seconds, until=instant_text(due))
            apart.append((index, PodOutcome.DELAYED, late.reason()))
        else:
            by_shape[pods.shape[index]].append(index)
    order = sorted(by_shape, key=lambda shape: (-world.pod_shapes[shape].priority, -_size(world, shape), shape))
    return DemandResult(demands=tuple(Demand(shape=shape, pods=tuple(by_shape[shape])) for shape in order), apart=tuple(apart))


def _size(world: World, shape: int) -> int:
    """Cpu and memory on one scale: 1 core weighs as much as 4 GiB, the common ratio of general-purpose machines."""
    requests = world.pod_shapes[shape].requests
    return requests.cpu_milli * (4 << 30) // 1000 + requests.memory_bytes
