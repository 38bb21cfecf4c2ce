"""The figures of a simulated run or a replay, from what happened in it."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.values.resources import Resources
from reconciler.plan.money import money, price_of_nodes
from reconciler.plan.replay import GroupFigures, ReplaySeries
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.simulation.figures.sampled_series import SeriesSampler

_NOTHING = Resources()


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What the events add up to. `waits` maps seconds to the pods that waited so long. Money is in millionths of the currency
    times seconds an hour. `unpriced` are targets with node time and without a price."""

    waits: Counter[int]
    never_placed: int
    unplaced_pod_seconds: int
    placed_pod_seconds: int
    lost_pod_seconds: int
    lost_micros: int
    counts: Counter[Happened]
    start_nodes: int
    node_seconds: int
    targets: tuple[GroupFigures, ...]
    unpriced: tuple[str, ...]
    cost_micros: int
    series: ReplaySeries


class Ledger:
    """Reads events in order, beginning at one instant. `nodes` maps the nodes of that instant to their target (empty: no target).
    `placed` and `waiting` have the time since when pods run or wait. `sizes` maps a node to its resources, and a pod to its
    requests."""

    def __init__(
        self,
        start_seconds: int,
        end_seconds: int,
        nodes: Mapping[str, str],
        placed: Mapping[str, tuple[int, str]],
        waiting: Mapping[str, int],
        sizes: Mapping[str, Resources],
        prices_micros: Mapping[str, int],
    ) -> None:
        """`placed`: pod -> (bound since, node); `prices_micros`: an hour of a node, by target."""
        self._prices = prices_micros
        self._target_of = dict(nodes)
        self._alive = set(nodes)
        self._running = dict(placed)
        self._waiting = {pod: max(since, start_seconds) for pod, since in waiting.items()}
        self._waits: Counter[int] = Counter()
        self._lost = self._lost_micros = 0
        self._counts: Counter[Happened] = Counter()
        self._never = 0
        self._first = len(nodes)
        self._per_target: dict[str, list[int]] = {}
        for target in nodes.values():
            self._target(target)[0] += 1
        for numbers in self._per_target.values():
            numbers[1] = numbers[0]
        self._sizes = dict(sizes)
        self._series = SeriesSampler(start_seconds, end_seconds, prices_micros)
        for node, target in nodes.items():
            self._series.node_joined(start_seconds, target, self._size(node))
        for pod in placed:
            self._series.pod_came(start_seconds, self._size(pod), waits=False)
        for pod in waiting:
            self._series.pod_came(start_seconds, self._size(pod), waits=True)

    def _size(self, subject: str) -> Resources:
        return self._sizes.get(subject, _NOTHING)

    def _target(self, target: str) -> list[int]:
        """Nodes now, most nodes, grown, removed."""
        return self._per_target.setdefault(target, [0, 0, 0, 0])

    def read(self, event: Event, share_permille: int = 0, size: Resources | None = None) -> None:
        """One event; `share_permille` is how much of its node an evicted pod takes, `size` what a node that joined offers or a
        created pod requests."""
        at, subject = event.at_seconds, event.object
        if size is not None:
            self._sizes[subject] = size
        self._counts[event.kind] += 1
        match event.kind:
            case Happened.POD_CREATED:
                self._waiting[subject] = at
                self._series.pod_came(at, self._size(subject), waits=True)
            case Happened.POD_BOUND:
                if subject in self._waiting:
                    self._series.pod_bound(at)
                else:
                    self._series.pod_came(at, self._size(subject), waits=False)
                since = self._waiting.pop(subject, at)
                self._waits[at - since] += 1
                self._running[subject] = (at, event.detail)
            case Happened.POD_EVICTED | Happened.POD_PREEMPTED:
                since, node = self._running.get(subject, (at, ""))
                self._lost += at - since
                self._series.pod_evicted(at)
                price = self._prices.get(self._target_of.get(node, ""), 0)
                self._lost_micros += (at - since) * price * share_permille // 1000
            case Happened.POD_GONE:
                if subject in self._waiting or subject in self._running:
                    self._series.pod_went(at, self._size(subject), waited=subject in self._waiting)
                if self._waiting.pop(subject, None) is not None:
                    self._never += 1
                else:
                    self._running.pop(subject, None)
            case Happened.NODE_JOINED:
                self._alive.add(subject)
                self._target_of[subject] = event.target
                numbers = self._target(event.target)
                numbers[0] += 1
                numbers[1] = max(numbers[:2])
                numbers[2] += 1
                self._series.node_joined(at, event.target, self._size(subject))
            case Happened.NODE_GONE if subject in self._alive:
                target = self._target_of[subject]
                self._alive.remove(subject)
                numbers = self._target(target)
                numbers[0] -= 1
                numbers[3] += 1
                self._series.node_went(at, target, self._size(subject))
            case _:
                pass

    def close(self, end_seconds: int) -> Totals:
        """The totals at the end."""
        series = self._series.close(end_seconds)
        seconds = self._series.node_seconds
        return Totals(
            waits=self._waits,
            never_placed=self._never + len(self._waiting),
            unplaced_pod_seconds=self._series.unplaced_pod_seconds,
            placed_pod_seconds=self._series.placed_pod_seconds,
            lost_pod_seconds=self._lost,
            lost_micros=self._lost_micros,
            counts=self._counts,
            start_nodes=self._first,
            node_seconds=sum(seconds.values()),
            targets=tuple(
                GroupFigures(
                    target=target,
                    node_seconds=seconds[target],
                    peak_nodes=numbers[1],
                    grown_nodes=numbers[2],
                    removed_nodes=numbers[3],
                    cost=money(seconds[target] * self._prices[target]) if target in self._prices else None,
                )
                for target, numbers in sorted(self._per_target.items())
            ),
            unpriced=tuple(sorted(target for target in seconds if target and seconds[target] and target not in self._prices)),
            cost_micros=price_of_nodes(seconds, self._prices),
            series=series,
        )


def share_permille(pod: PodShape, node: NodeShape) -> int:
    """How much of a node a pod takes: the larger of its shares of cpu and memory."""
    pairs = (
        (pod.requests.cpu_milli, node.allocatable.cpu_milli),
        (pod.requests.memory_bytes, node.allocatable.memory_bytes),
    )
    return min(1000, max((1000 * wanted // offered for wanted, offered in pairs if offered), default=0))
