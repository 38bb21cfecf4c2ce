"""What holds from one instant to the next, added up over time and told in a bounded number of equal steps."""

from collections import Counter
from collections.abc import Mapping

from reconciler.cluster.values.resources import Resources
from reconciler.plan.money import money, price_of_nodes
from reconciler.plan.replay import ReplaySeries, TargetNodes

MOST_STEPS = 240
MOST_TARGETS = 6
"""Told by name; the others are in the total alone."""


class _Step:
    """The most in one step, and the nodes of the instant with most of them."""

    __slots__ = (
        "by_target",
        "capacity_cpu",
        "capacity_memory",
        "cost",
        "demand_cpu",
        "demand_memory",
        "evicted",
        "nodes",
        "pending",
    )

    def __init__(self) -> None:
        self.demand_cpu = self.demand_memory = self.capacity_cpu = self.capacity_memory = 0
        self.pending = self.evicted = self.cost = 0
        self.nodes = -1
        self.by_target: Mapping[str, int] = {}


class SeriesSampler:
    """Is told in order what changes, with instants that never go back. What holds for no time at all counts for nothing but
    the number of nodes, as in their peak. `unplaced_pod_seconds` is the time of all pods without a node up to now, and
    `placed_pod_seconds` that of all others."""

    def __init__(self, start_seconds: int, end_seconds: int, prices_micros: Mapping[str, int]) -> None:
        """`prices_micros`: an hour of a node, by target."""
        whole = end_seconds - start_seconds
        self._step_seconds = max(1, -(-whole // MOST_STEPS))
        self._most_steps = max(1, -(-whole // self._step_seconds))
        self._step_end = start_seconds + self._step_seconds
        self._now = start_seconds
        self._prices = prices_micros
        self._demand_cpu = self._demand_memory = self._capacity_cpu = self._capacity_memory = 0
        self._pods = self._pending = self._nodes = 0
        self.unplaced_pod_seconds = self.placed_pod_seconds = 0
        self._before_now: Counter[str] = Counter()
        """By target: instants at which nodes went, less those at which they joined."""
        self._by_target: Counter[str] = Counter()
        self._steps = [_Step()]

    def pod_came(self, at_seconds: int, requests: Resources, *, waits: bool) -> None:
        """A pod is there, on a node or waiting for one."""
        self._pass(at_seconds)
        self._demand_cpu += requests.cpu_milli
        self._demand_memory += requests.memory_bytes
        self._pods += 1
        self._pending += waits

    def pod_bound(self, at_seconds: int) -> None:
        """A pod that waited has a node."""
        self._pass(at_seconds)
        self._pending -= 1

    def pod_evicted(self, at_seconds: int) -> None:
        """A pod has to leave its node; it is there until it went."""
        self._pass(at_seconds)
        self._steps[-1].evicted += 1

    def pod_went(self, at_seconds: int, requests: Resources, *, waited: bool) -> None:
        """A pod is no more."""
        self._pass(at_seconds)
        self._demand_cpu -= requests.cpu_milli
        self._demand_memory -= requests.memory_bytes
        self._pods -= 1
        self._pending -= waited

    def node_joined(self, at_seconds: int, target: str, allocatable: Resources) -> None:
        """One node more."""
        self._count_node(at_seconds, target, allocatable, 1)
        self._see_nodes()

    def node_went(self, at_seconds: int, target: str, allocatable: Resources) -> None:
        """One node less."""
        self._count_node(at_seconds, target, allocatable, -1)

    @property
    def node_seconds(self) -> Counter[str]:
        """Up to now, by target."""
        return Counter({target: nodes * self._now + self._before_now[target] for target, nodes in self._by_target.items()})

    def close(self, end_seconds: int) -> ReplaySeries:
        """The whole, up to the end; the targets with the most node seconds are told by name."""
        self._pass(end_seconds)
        self._see()
        node_seconds = self.node_seconds
        self._steps[-1].cost = price_of_nodes(node_seconds, self._prices)
        steps = self._steps
        there = {target for step in steps for target, nodes in step.by_target.items() if nodes}
        named = sorted(there, key=lambda target: (-node_seconds[target], target))[:MOST_TARGETS]
        return ReplaySeries(
            step_seconds=self._step_seconds,
            demand_cpu_milli=tuple(step.demand_cpu for step in steps),
            demand_memory_bytes=tuple(step.demand_memory for step in steps),
            capacity_cpu_milli=tuple(step.capacity_cpu for step in steps),
            capacity_memory_bytes=tuple(step.capacity_memory for step in steps),
            pending_pods=tuple(step.pending for step in steps),
            nodes=tuple(step.nodes for step in steps),
            targets=tuple(TargetNodes(target, tuple(step.by_target.get(target, 0) for step in steps)) for target in named),
            evictions=tuple(step.evicted for step in steps),
            cost=tuple(money(step.cost) for step in steps) if self._prices else None,
        )

    def _count_node(self, at_seconds: int, target: str, allocatable: Resources, more: int) -> None:
        self._pass(at_seconds)
        self._nodes += more
        self._by_target[target] += more
        self._capacity_cpu += more * allocatable.cpu_milli
        self._capacity_memory += more * allocatable.memory_bytes
        self._before_now[target] -= more * at_seconds

    def _pass(self, at_seconds: int) -> None:
        """What holds now held up to an instant. One at the very end belongs to the last step."""
        while at_seconds >= self._step_end and len(self._steps) < self._most_steps:
            self._hold(self._step_end)
            self._steps[-1].cost = price_of_nodes(self.node_seconds, self._prices)
            self._steps.append(_Step())
            self._step_end += self._step_seconds
        self._hold(at_seconds)

    def _hold(self, until_seconds: int) -> None:
        if until_seconds > self._now:
            self._see()
            lasted = until_seconds - self._now
            self.unplaced_pod_seconds += self._pending * lasted
            self.placed_pod_seconds += (self._pods - self._pending) * lasted
            self._now = until_seconds

    def _see(self) -> None:
        step = self._steps[-1]
        step.demand_cpu = max(step.demand_cpu, self._demand_cpu)
        step.demand_memory = max(step.demand_memory, self._demand_memory)
        step.capacity_cpu = max(step.capacity_cpu, self._capacity_cpu)
        step.capacity_memory = max(step.capacity_memory, self._capacity_memory)
        step.pending = max(step.pending, self._pending)
        self._see_nodes()

    def _see_nodes(self) -> None:
        step = self._steps[-1]
        if self._nodes > step.nodes:
            step.nodes = self._nodes
            step.by_target = dict(self._by_target)
