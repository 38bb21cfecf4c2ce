"""What runs on each node: how much of it, what a drain would move, and which pods keep the node."""

from collections import Counter, defaultdict

import msgspec

from reconciler.cluster.node import NodeShape
from reconciler.cluster.resources import Resources
from reconciler.decisions.disruption import DisruptionLedger
from reconciler.decisions.draft import Draft
from reconciler.decisions.drain import DrainJudge, Fate, Verdict
from reconciler.plan.plan import Blocker


class NodeLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One node. `requested` sums what runs and counts; `moving` are pods by shape that need another place, `evicted` those
    that a drain would evict (expendable ones too); `blockers` come from pods and their disruption budgets."""

    pods: tuple[int, ...] = ()
    requested: Resources = Resources()
    moving: dict[int, int] = {}
    evicted: dict[int, int] = {}
    blockers: tuple[Blocker, ...] = ()


_NOTHING = NodeLoad()


class NodeLoads:
    """Loads of the nodes of one World. Equal pods (same shape, same traits) are judged once and counted."""

    def __init__(self, draft: Draft, ledger: DisruptionLedger) -> None:
        self._draft = draft
        self._ledger = ledger
        self._judge = DrainJudge(draft.world, draft.policy.drain, ledger, draft.now_seconds)
        pods = draft.world.pods
        many = len(draft.world.pod_traits)
        self._classes = [shape * many + trait for shape, trait in zip(pods.shape, pods.traits, strict=True)]
        aged = draft.policy.drain.system_pod_timeout_seconds is not None
        # Pods that have ended or are ending, and pods whose age counts, are judged one by one.
        self._single = frozenset(
            index
            for index, deleted in enumerate(pods.deletion_seconds)
            if deleted or pods.finished(index) or (aged and pods.namespace[index] == "kube-system")
        )
        self._on_node: dict[int, list[int]] = defaultdict(list)
        for index, node in enumerate(pods.node):
            if node >= 0:
                self._on_node[node].append(index)

    def of(self, node: int, shape: NodeShape) -> NodeLoad:
        """The load of one node of the World."""
        on_node = self._on_node.get(node)
        if on_node is None:
            return _NOTHING
        single = [index for index in on_node if index in self._single] if self._single else []
        ordinary = [index for index in on_node if index not in self._single] if single else on_node
        groups: list[tuple[int, int, bool]] = [(index, 1, self._draft.world.pods.finished(index)) for index in single]
        if ordinary:
            first = {self._classes[index]: index for index in reversed(ordinary)}
            counts = Counter([self._classes[index] for index in ordinary])
            groups.extend((first[kind], count, False) for kind, count in counts.items())
        return self._sum(on_node, groups, shape)

    def _sum(self, on_node: list[int], groups: list[tuple[int, int, bool]], node: NodeShape) -> NodeLoad:
        """`groups` are (a pod, how many are like it, whether they have ended)."""
        world, cutoff = self._draft.world, self._draft.cutoff
        shapes, pods = world.pod_shapes, world.pods
        running: dict[int, int] = {}
        moving: dict[int, int] = {}
        evicted: dict[int, int] = {}
        blockers: list[Blocker] = []
        for index, count, finished in groups:
            number = pods.shape[index]
            # A pod below the cut-off needs no other place and fills no node, but its eviction asks its budget all the same.
            expendable = shapes[number].priority < cutoff
            if not finished and not expendable:
                running[number] = running.get(number, 0) + count
            verdict = self._judge.judge(index)
            if verdict.fate is Fate.STAYS:
                continue
            if not finished:
                evicted[number] = evicted.get(number, 0) + count
            if expendable:
                continue
            if verdict.rules:
                blockers.extend(self._named(on_node, index, count, verdict))
            if not finished:
                moving[number] = moving.get(number, 0) + count
        blockers.extend(self._unmodelled(on_node, moving))
        blockers.extend(self._budgets(on_node, evicted))
        return NodeLoad(
            pods=tuple(on_node),
            requested=self._requested(running, node),
            moving=moving,
            evicted=evicted,
            blockers=tuple(sorted(blockers)),
        )

    def _named(self, on_node: list[int], index: int, count: int, verdict: Verdict) -> list[Blocker]:
        kind, pods = self._classes[index], self._draft.world.pods
        alike = [index] if count == 1 else [i for i in on_node if self._classes[i] == kind and i not in self._single]
        return [Blocker(code=code, pod=pods.key(i), message=message) for i in alike for code, message in verdict.rules]

    def _requested(self, running: dict[int, int], node: NodeShape) -> Resources:
        """Cpu and memory; the rest only where the node has devices, since nothing else is asked of a load."""
        shapes = self._draft.world.pod_shapes
        if node.capacity.extended or node.allocatable.extended:
            total = Resources()
            for number, count in running.items():
                total = total.plus(shapes[number].requests, count)
            return total
        cpu = memory = 0
        for number, count in running.items():
            requests = shapes[number].requests
            cpu += requests.cpu_milli * count
            memory += requests.memory_bytes * count
        return Resources(cpu_milli=cpu, memory_bytes=memory)

    def _unmodelled(self, on_node: list[int], moving: dict[int, int]) -> list[Blocker]:
        found = []
        pods = self._draft.world.pods
        for number in moving:
            feature = self._draft.state.modelled(number)
            if feature:
                key = next(pods.key(index) for index in on_node if pods.shape[index] == number)
                message = f"it uses {feature}, which is not modelled, so no other place is known for it"
                found.append(Blocker(code="NotModelled", pod=key, message=message))
        return found

    def _budgets(self, on_node: list[int], evicted: dict[int, int]) -> list[Blocker]:
        covered = {number: over for number in evicted if (over := self._ledger.budgets_of(number))}
        if not covered:
            return []
        pods = self._draft.world.pods
        found = []
        for number, over in covered.items():
            if len(over) > 1:
                # Measured on kube-apiserver 1.36: the eviction of such a pod is answered with an error, whatever is left.
                key = next(pods.key(index) for index in on_node if pods.shape[index] == number)
                names = ", ".join(self._ledger.budgets[index].name for index in over)
                message = f"several PodDisruptionBudgets cover it ({names}), which the eviction API refuses"
                found.append(Blocker(code="SeveralPdbs", pod=key, message=message))
        for index in self._ledger.short({number: evicted[number] for number in covered}):
            budget = self._ledger.budgets[index]
            needed = sum(evicted[number] for number, over in covered.items() if index in over)
            key = next(pods.key(i) for i in on_node if index in covered.get(pods.shape[i], ()))
            allowed = max(0, self._ledger.left[index])
            message = f"PodDisruptionBudget {budget.namespace}/{budget.name} allows {allowed} evictions, {needed} are needed"
            found.append(Blocker(code="NotEnoughPdb", pod=key, message=message))
        return found
