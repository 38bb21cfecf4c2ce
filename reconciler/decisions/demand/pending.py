"""Which pods ask for a place, and which of those count."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import World
from reconciler.decisions.demand.queue import Demand, Lot, Served
from reconciler.decisions.demand.surplus import surplus
from reconciler.decisions.reasons.pods import Delayed, Expendable, NotJudged, NotModelled, OtherScheduler
from reconciler.decisions.situation.pod_groups import grouped_pods
from reconciler.decisions.situation.waiting_pods import WaitingPods
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason
from reconciler.policy.documents import PodRules
from reconciler.scheduling.state import SchedulingState
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.instant import instant_text
from reconciler.values.later import Later

if TYPE_CHECKING:
    from reconciler.decisions.demand import gang_preemption
else:
    gang_preemption = Later("reconciler.decisions.demand.gang_preemption")

_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


class DemandResult(msgspec.Struct, frozen=True, kw_only=True):
    """Demands in the order in which they are served, and pending pods that do not count, with the reason."""

    demands: tuple[Demand, ...]
    apart: tuple[Lot, ...]


def pending_demand(world: World, waiting: WaitingPods, state: SchedulingState, rules: PodRules, now_seconds: int) -> DemandResult:
    """All pods without a node that are neither finished, terminating nor gated.

    Served by priority, then large ones first (first-fit decreasing), then in canonical order. Source of the exclusions:
    Cluster Autoscaler pod listers (finished, deleted and scheduling-gated pods are not demand), expendable cut-off.
    """
    by_shape: dict[int, Sequence[int]] = {}
    delays = _own_delays(world)
    apart: list[Lot] = []
    above = surplus(world, chain.from_iterable(waiting.values()))
    grouped = grouped_pods(world, waiting)
    held = {shape: one.held for one in grouped if one.held is not None for shape in one.shapes}
    if grouped:
        held |= gang_preemption.preempting(world, waiting, state, grouped, now_seconds)
    for shape, every in waiting.items():
        apart += [_apart(shape, (row,), PodOutcome.DELAYED, above[row]) for row in every if row in above] if above else []
        rows = [row for row in every if row not in above] if above else every
        if not rows:
            continue
        if (never := never_placed(state, rules, shape) or held.get(shape)) is not None:
            apart.append(_apart(shape, rows, *never))
            continue
        young, old = _by_age(world, rows, rules.new_pod_delay_seconds, delays, now_seconds)
        apart += [_apart(shape, (row,), PodOutcome.DELAYED, reason) for row, reason in young]
        if old:
            by_shape[shape] = old
    order = serving_order(world, by_shape)
    return DemandResult(demands=tuple(Demand(shape=shape, pods=by_shape[shape]) for shape in order), apart=tuple(apart))


def _apart(shape: int, rows: Sequence[int], outcome: PodOutcome, reason: Reason) -> Lot:
    return Lot(shape, rows, Served(outcome=outcome, reasons=(reason,)))


def never_placed(state: SchedulingState, rules: PodRules, number: int) -> tuple[PodOutcome, Reason] | None:
    """Why pods of a shape get no place whatever there is room for; None if they may."""
    shape = state.pod_shape(number)
    if shape.scheduler_name not in rules.scheduler_names:
        return PodOutcome.NOT_MODELLED, OtherScheduler(scheduler=shape.scheduler_name).reason()
    if shape.priority < rules.expendable_below_priority:
        return PodOutcome.EXPENDABLE, Expendable(priority=shape.priority, cutoff=rules.expendable_below_priority).reason()
    if shape.defect:
        return PodOutcome.NOT_MODELLED, NotJudged(why=shape.defect).reason()
    if feature := state.modelled(number):
        return PodOutcome.NOT_MODELLED, NotModelled(feature=feature).reason()
    return None


def serving_order(world: World, shapes: Iterable[int]) -> list[int]:
    """Shapes of pods by priority, then large ones first (first-fit decreasing), then in canonical order."""
    return sorted(shapes, key=lambda shape: (-world.pod_shapes[shape].priority, -size_of(world.pod_shapes[shape]), shape))


def _own_delays(world: World) -> Mapping[int, int]:
    """Seconds by number of traits, for pods that ask for a delay of their own."""
    delays = {}
    for number, traits in enumerate(world.pod_traits):
        text = dict(traits.annotations).get(_DELAY) if traits.annotations else None
        if text is not None:
            with suppress(DurationError):
                delays[number] = parse_duration(text)
    return delays


def _by_age(
    world: World, rows: Sequence[int], delay_seconds: int, delays: Mapping[int, int], now_seconds: int
) -> tuple[list[tuple[int, Reason]], Sequence[int]]:
    """Pods that are younger than the delay, with their reason, and the others. As in Cluster Autoscaler, a pod's own delay counts
    if it is longer. An invalid duration does not count."""
    created, longest = world.pods.created_seconds, max((delay_seconds, *delays.values()))
    if not longest or max(map(created.__getitem__, rows)) + longest <= now_seconds:
        return [], rows
    young, old = [], []
    for row in rows:
        delay = max(delay_seconds, delays.get(world.pods.traits[row], 0))
        due = created[row] + delay
        if due > now_seconds:
            young.append((row, Delayed(delay_seconds=delay, until=instant_text(due)).reason()))
        else:
            old.append(row)
    return young, old


def size_of(shape: PodShape) -> int:
    """Cpu and memory on one scale: 1 core weighs as much as 4 GiB, the common ratio of general-purpose machines."""
    requests = shape.requests
    return requests.cpu_milli * (4 << 30) // 1000 + requests.memory_bytes
