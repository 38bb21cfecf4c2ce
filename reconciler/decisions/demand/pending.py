"""Which pods ask for a place, and which of those count."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby

import msgspec

from reconciler.cluster.pods.pod_table import FINISHED_PHASES, PodTable, pod_flags
from reconciler.cluster.world import World
from reconciler.decisions.demand.surplus import surplus
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.pods import Arriving, Delayed, Expendable, NotJudged, NotModelled, OtherScheduler
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.plan.reason import Reason
from reconciler.policy.documents import PodRules
from reconciler.scheduling.kernels import loops
from reconciler.scheduling.state import SchedulingState
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.instant import instant_text

_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one shape that ask for a place, by index in World order."""

    shape: int
    pods: Sequence[int]


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
    delays = _own_delays(world)
    apart: list[tuple[int, PodOutcome, Reason]] = []
    waiting = list(_waiting(world.pods, len(world.pod_shapes)))
    above = surplus(world, list(chain.from_iterable(indices for _, indices in waiting)))
    apart.extend((index, PodOutcome.DELAYED, reason) for index, reason in above.items())
    for number, every in waiting:
        indices = [index for index in every if index not in above] if above else every
        if (never := never_placed(state, rules, number)) is not None:
            apart.extend((index, *never) for index in indices)
        else:
            young, old = _by_age(world, indices, rules.new_pod_delay_seconds, delays, now_seconds)
            apart.extend(young)
            if old:
                by_shape[number] = old
    order = serving_order(world, by_shape)
    return DemandResult(demands=tuple(Demand(shape=shape, pods=tuple(by_shape[shape])) for shape in order), apart=tuple(apart))


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
    return sorted(shapes, key=lambda shape: (-world.pod_shapes[shape].priority, -_size(world, shape), shape))


def _waiting(pods: PodTable, shapes: int) -> Iterator[tuple[int, list[int]]]:
    """`PodTable.pending` by shape, in their order in each."""
    starts, order = array("i", bytes(4 * (shapes + 2))), array("i", bytes(4 * len(pods)))
    gated = pod_flags(ready=False, gated=True)
    columns = (pods.node, pods.deletion_seconds, pods.phase, pods.flags, pods.shape)
    if not loops.waiting_pods(*columns, *FINISHED_PHASES, gated, starts, order):
        return
    unknown = pods.unknown_node
    for shape in range(shapes):
        waiting = order[starts[shape] : starts[shape + 1]].tolist()
        if unknown:
            waiting = [index for index in waiting if index not in unknown]
        if waiting:
            yield shape, waiting


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
    world: World, indices: list[int], delay_seconds: int, delays: Mapping[int, int], now_seconds: int
) -> tuple[list[tuple[int, PodOutcome, Reason]], list[int]]:
    """Pods that are younger than the delay, with their reason, and the others. As in Cluster Autoscaler, a pod's own delay counts
    if it is longer. An invalid duration does not count."""
    if not (delay_seconds or delays):
        return [], indices
    young, old = [], []
    for index in indices:
        delay = max(delay_seconds, delays.get(world.pods.traits[index], 0))
        due = world.pods.created_seconds[index] + delay
        if due > now_seconds:
            young.append((index, PodOutcome.DELAYED, Delayed(delay_seconds=delay, until=instant_text(due)).reason()))
        else:
            old.append(index)
    return young, old


def _size(world: World, shape: int) -> int:
    """Cpu and memory on one scale: 1 core weighs as much as 4 GiB, the common ratio of general-purpose machines."""
    requests = world.pod_shapes[shape].requests
    return requests.cpu_milli * (4 << 30) // 1000 + requests.memory_bytes


# The pods that wait for a place, and what a plan means for each.


class Served(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What this plan means for one pod: its outcome, the node or group, the reasons."""

    outcome: PodOutcome
    node: str | None = None
    group: str | None = None
    reasons: tuple[Reason, ...] = ()


def in_runs(served: Mapping[int, Served]) -> list[tuple[Served, list[int]]]:
    """The pods in World order, in runs that share their outcome."""
    rows = sorted(served)
    runs: list[tuple[Served, list[int]]] = []
    first = 0
    for entry, alike in groupby(map(served.__getitem__, rows)):
        end = first + len(list(alike))
        runs.append((entry, rows[first:end]))
        first = end
    return runs


class Queue:
    """Pods still waiting for a place, by demand, and what became of the others. `names_others`: groups that grow for them
    name the groups that offered nothing."""

    names_others = True

    def __init__(self, demands: tuple[Demand, ...]) -> None:
        self.demands = demands
        self.served: dict[int, Served] = {}
        self.later: frozenset[int] = frozenset()
        """Shapes whose turn has not come."""
        self._pods = {demand.shape: demand.pods for demand in demands}
        self._taken = dict.fromkeys(self._pods, 0)

    def take(self, shape: int, count: int, served: Served) -> None:
        """The next `count` pods of a shape are served."""
        taken = self._taken[shape]
        self.served.update(dict.fromkeys(self._pods[shape][taken : taken + count], served))
        self._taken[shape] = taken + count

    def take_on(self, shape: int, placements: Sequence[tuple[int, int]], serve: Callable[[int], Served]) -> None:
        """The next pods of a shape have room on nodes, as `placements` says: (node, pods). `serve`: the outcome on a node."""
        for node, count in placements:
            self.take(shape, count, serve(node))

    @property
    def taken(self) -> dict[int, int]:
        """Pods by shape that are served so far."""
        return dict(self._taken)

    def taken_since(self, before: dict[int, int]) -> Iterator[tuple[int, Served, list[int]]]:
        """(shape, what became of them, pods) for pods served since `taken` was `before`, those of a shape in serving order."""
        for shape, taken in self._taken.items():
            pods = self._pods[shape][before[shape] : taken]
            place = 0
            for served, alike in groupby(map(self.served.__getitem__, pods)):
                pod_count = len(list(alike))
                yield shape, served, list(pods[place : place + pod_count])
                place += pod_count

    def waiting(self) -> list[tuple[int, int]]:
        """(shape, pods left) in serving order, without empty ones."""
        left = [(shape, len(pods) - self._taken[shape]) for shape, pods in self._pods.items() if shape not in self.later]
        return [(shape, count) for shape, count in left if count > 0]


# How often each plugin says no: why pods of one shape have no place, over many nodes at once.

CLOSED = "leaving or not usable"


def rejections(draft: Draft, shape: int, nodes: Sequence[int]) -> tuple[str, ...]:
    """`8 NodeResourcesFit`, by falling number then name. A node that several plugins reject counts for each of them; one that
    takes no pods counts as such, whatever the plugins would say."""
    counts = draft.state.refusals(shape, nodes)
    if closed := len(nodes) - len(draft.state.open_among(nodes)):
        counts[CLOSED] = closed
    return tuple(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# A burst of pods that is still arriving. Growth waits for its end, so that nodes are chosen for the whole burst.
#
# If pods were judged one by one, the first of a burst would add machines that do not suit the later ones. Batching of pending
# pods comes from Karpenter (idle and longest duration). A plan shows what would be added now. Only loops ask whether to do it
# now: in a capture of a cluster, a burst would never end.


def arriving(plan: Plan, world: World, rules: PodRules, now_seconds: int) -> Arriving | None:
    """What growth for pending pods waits for. None if no pod that needs a node came within the last `burstPause`, or one has
    waited for `burstLimit`. Pods from the future (another clock) do not show a burst."""
    asking = {line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP}
    if not asking:
        return None
    pods = world.pods
    created = [pods.created_seconds[index] for index in pods.pending() if pods.key(index) in asking]
    past = [instant for instant in created if instant <= now_seconds]
    if not past or now_seconds - max(past) >= rules.burst_pause_seconds or now_seconds - min(past) >= rules.burst_limit_seconds:
        return None
    until = instant_text(min(max(past) + rules.burst_pause_seconds, min(past) + rules.burst_limit_seconds))
    return Arriving(pause_seconds=rules.burst_pause_seconds, limit_seconds=rules.burst_limit_seconds, until=until)
