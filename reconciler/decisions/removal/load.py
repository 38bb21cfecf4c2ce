"""What runs on each node: how much of it, what a drain would move, and which pods keep the node."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.drain_rules import NotEnoughPdb, PodNotModelled, SeveralPdbs
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain import DrainJudge, Fate, Verdict
from reconciler.plan.reason import Blocker, KeepsNode
from reconciler.scheduling.kernels import loops


class NodeLoad(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One node. `pods` are rows of the World. `requested` is the sum of the running pods that count. `moving` are pods that need
    another place, by shape. `evicted` are those whose eviction counts against disruption budgets and gangs, if any cover them
    (expendable ones too). It is the same mapping if they are equal. `blockers` come from pods and their disruption budgets.
    `awaited` come from pods, too, and end without anybody's doing, the last of them at `until_seconds` (None: nobody knows when).
    Loads with the same `kind` differ only in `pods` (None: no other load is known to be like it)."""

    pods: Sequence[int] = ()
    requested: Resources = Resources()
    moving: Mapping[int, int] = {}
    evicted: Mapping[int, int] = {}
    blockers: tuple[Blocker, ...] = ()
    awaited: tuple[Blocker, ...] = ()
    until_seconds: int | None = None
    kind: int | None = None


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What equal pods have in common. `special`: their shape is not modelled. `covered`: some disruption budget or gang covers
    them."""

    shape: int
    expendable: bool
    finished: bool
    verdict: Verdict
    special: bool
    covered: bool


class _PlainLoad(msgspec.Struct, frozen=True, gc=False):
    """What nodes with the same plain pods have in common. Plain pods run, and no rule keeps them. Each moves with a drain or
    stays. `covered`: some disruption budget or gang covers a pod that moves."""

    kind: int
    requested: Resources
    moving: Mapping[int, int]
    covered: bool


_NOTHING = NodeLoad(kind=-1)
_STAYS = -1
_IN_PLAN = attrgetter("code", "pod", "message")


class NodeLoads:
    """Loads of the nodes of one World. Equal pods (same shape, same traits) are judged once and counted."""

    def __init__(self, draft: Draft, ledger: DisruptionLedger) -> None:
        self._draft = draft
        self._ledger = ledger
        self._judge = DrainJudge(draft.world, draft.policy.drain, ledger, draft.now_seconds)
        pods = draft.world.pods
        aged = self._judge.aged
        # Pods that have ended or are ending, and pods whose age counts, are judged one by one.
        rows = array("i", bytes(4 * len(pods)))
        ending = rows[: loops.ending_pods(pods.deletion_seconds, pods.phase, *FINISHED_PHASES, rows)]
        by_age = [index for index, number in enumerate(pods.traits) if number in aged] if aged else []
        self._single = frozenset((*ending, *by_age))
        self._single_nodes = frozenset(pods.node[index] for index in self._single)
        self._kinds: dict[int, _Kind] = {}
        self._plain: dict[int, int | None] = {}
        """The shape of the plain pods of a class, or `_STAYS`. None: its pods are not plain."""
        self._covered = set[int]()
        """Shapes of plain pods that some disruption budget or gang covers."""
        self._plain_loads: dict[bytes, _PlainLoad | None] = {}
        """By the classes of the pods on a node, in order; None: some of them are not plain."""
        self._starts = array("i", bytes(4 * (len(draft.world.nodes) + 2)))
        self._order = array("i", bytes(4 * len(pods)))
        seated = loops.by_node(pods.node, self._starts, self._order)
        self._traits = len(draft.world.pod_traits)
        self._classes = array("q", bytes(8 * seated))
        loops.kinds_of(self._order, seated, pods.shape, pods.traits, self._traits, self._classes)
        self._class_bytes = self._classes.tobytes()
        self._sums = self._summed(seated)

    def _summed(self, seated: int) -> "array[int]":
        """Cpu and memory that all pods of a node request, below zero: two places per node."""
        world = self._draft.world
        requests = array("q", [n for one in world.pod_shapes for n in (one.requests.cpu_milli, one.requests.memory_bytes)])
        sums, head = array("q", bytes(16 * len(world.nodes))), array("i", bytes(4 * len(world.nodes)))
        # Nobody reads which pods are on a node: these columns may be one.
        cells = array("i", bytes(4 * seated))
        loops.bind_each(
            self._order, seated, world.pods.node, world.pods.shape, requests, sums, 2, head, cells, cells, cells, cells, 0
        )
        return sums

    def of(self, node: int, shape: NodeShape) -> NodeLoad:
        """The load of one node of the World."""
        first, end = self._starts[node], self._starts[node + 1]
        if first == end:
            return _NOTHING
        rows = self._order[first:end]
        if node not in self._single_nodes and not shape.allocatable.extended:
            load = self._plain_load(node, rows, first, end)
            if load is not None:
                return load
        on_node, classes = rows.tolist(), self._classes[first:end].tolist()
        single = [index for index in on_node if index in self._single] if node in self._single_nodes else []
        ordinary = on_node
        if single:
            ordinary = [index for index in on_node if index not in self._single]
            classes = [self._class_of(index) for index in ordinary]
        groups = [(self._looked_at(index), index, 1) for index in single]
        # A Counter is slower to make than so few are to count.
        counts: dict[int, int] = {}
        for kind in classes:
            counts[kind] = counts.get(kind, 0) + 1
        for kind, count in counts.items():
            known = self._kinds.get(kind)
            if known is None:
                known = self._kinds[kind] = self._looked_at(ordinary[classes.index(kind)])
            named = ordinary[classes.index(kind)] if known.verdict.keeps else -1
            groups.append((known, named, count))
        return self._sum(on_node, groups, shape)

    def _class_of(self, index: int) -> int:
        """What `kinds_of` writes for one pod."""
        pods = self._draft.world.pods
        return pods.shape[index] * self._traits + pods.traits[index]

    def _plain_load(self, node: int, rows: "array[int]", first: int, end: int) -> NodeLoad | None:
        """The load of a node with nothing but plain pods, which most nodes are; None: it has others, to be judged in full."""
        key = self._class_bytes[8 * first : 8 * end]
        if key not in self._plain_loads:
            self._plain_loads[key] = self._plain_sum(node, rows, self._classes[first:end])
        known = self._plain_loads[key]
        if known is None:
            return None
        if not known.covered:
            same = known.moving
            return NodeLoad(pods=rows, requested=known.requested, moving=same, evicted=same, kind=known.kind)
        on_node = rows.tolist()
        evicted = self._asking(on_node, known.moving)
        return NodeLoad(
            pods=rows,
            requested=known.requested,
            moving=known.moving,
            evicted=evicted,
            blockers=tuple(sorted(self._budgets(on_node, known.moving, evicted), key=_IN_PLAN)),
        )

    def _plain_sum(self, node: int, rows: "array[int]", classes: "array[int]") -> _PlainLoad | None:
        plain = self._plain
        try:
            numbers = [plain[kind] for kind in classes]
        except KeyError:
            for index, kind in zip(rows, classes, strict=True):
                if (plain[kind] if kind in plain else self._as_plain(kind, index)) is None:
                    return None
            numbers = [plain[kind] for kind in classes]
        moving: dict[int, int] = {}
        for number in numbers:
            if number is None:
                return None
            moving[number] = moving.get(number, 0) + 1
        moving.pop(_STAYS, None)
        requested = Resources(cpu_milli=-self._sums[2 * node], memory_bytes=-self._sums[2 * node + 1])
        return _PlainLoad(len(self._plain_loads), requested, moving, not self._covered.isdisjoint(moving))

    def _as_plain(self, kind: int, index: int) -> int | None:
        """`index` is a pod of that kind, which neither ends nor has ended."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = self._looked_at(index)
        plain: int | None = None
        if not known.expendable:
            if known.verdict.fate is Fate.STAYS:
                plain = _STAYS
            elif not (known.verdict.keeps or known.special):
                plain = known.shape
                if known.covered:
                    self._covered.add(plain)
        self._plain[kind] = plain
        return plain

    def _looked_at(self, index: int) -> _Kind:
        pods, shapes = self._draft.world.pods, self._draft.world.pod_shapes
        number = pods.shape[index]
        self._draft.state.read(number, self._draft.world.pod_traits[pods.traits[index]])
        return _Kind(
            shape=number,
            # A pod below the cut-off needs no other place and fills no node, but its eviction asks its budget all the same.
            expendable=shapes[number].priority < self._draft.cutoff,
            finished=pods.finished(index),
            verdict=self._judge.judge(index),
            special=bool(self._feature(number)),
            covered=bool(self._ledger.budgets_of(number)) or self._ledger.gangs.covers(number),
        )

    def _sum(self, on_node: list[int], groups: list[tuple[_Kind, int, int]], node: NodeShape) -> NodeLoad:
        """`groups` are (kind, one pod of it, how many)."""
        running: dict[int, int] = {}
        moving: dict[int, int] = {}
        evicted: dict[int, int] = {}
        blockers: list[Blocker] = []
        awaited: list[Blocker] = []
        ends: list[int | None] = []
        special = covered = False
        for kind, index, count in groups:
            number = kind.shape
            if not kind.finished and not kind.expendable:
                running[number] = running.get(number, 0) + count
            if kind.verdict.fate is Fate.STAYS:
                continue
            evicts = not kind.finished and (kind.expendable or kind.verdict.fate is Fate.MOVES)
            if evicts:
                evicted[number] = evicted.get(number, 0) + count
                covered = covered or kind.covered
            if kind.expendable:
                continue
            if kind.verdict.keeps:
                blockers.extend(self._named(on_node, index, count, kind.verdict.rules))
                awaited.extend(self._named(on_node, index, count, kind.verdict.waits))
            if kind.verdict.waits:
                ends.append(kind.verdict.until_seconds)
            if evicts:
                moving[number] = moving.get(number, 0) + count
                special = special or kind.special
        if special:
            blockers.extend(self._unmodelled(on_node, moving))
        asking: Mapping[int, int] = evicted
        if covered:
            asking = self._asking(on_node, evicted)
            blockers.extend(self._budgets(on_node, evicted, asking))
        return NodeLoad(
            pods=tuple(on_node),
            requested=self._requested(running, node),
            moving=moving,
            evicted=asking,
            blockers=tuple(sorted(blockers, key=_IN_PLAN)),
            awaited=tuple(sorted(awaited, key=_IN_PLAN)),
            until_seconds=last_end(ends),
        )

    def _named(self, on_node: list[int], index: int, count: int, rules: tuple[KeepsNode, ...]) -> list[Blocker]:
        kind, pods = self._class_of(index), self._draft.world.pods
        alike = [index] if count == 1 else [i for i in on_node if self._class_of(i) == kind and i not in self._single]
        blockers = [rule.blocker() for rule in rules]
        return [msgspec.structs.replace(blocker, pod=pods.key(i)) for blocker in blockers for i in alike]

    def _requested(self, running: dict[int, int], node: NodeShape) -> Resources:
        """Cpu and memory; the rest only where the node has devices, since nothing else is asked of a load."""
        shapes = self._draft.world.pod_shapes
        if node.allocatable.extended:
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
        blockers = []
        pods = self._draft.world.pods
        for number in moving:
            if feature := self._feature(number):
                key = next(pods.key(index) for index in on_node if pods.shape[index] == number)
                blockers.append(PodNotModelled(feature=feature).blocker(key))
        return blockers

    def _feature(self, shape: int) -> str:
        """Why nobody knows where pods of the shape may run (empty: somebody does)."""
        return self._draft.state.modelled(shape) or self._ledger.gangs.unclear.get(shape, "")

    def _asking(self, on_node: list[int], evicted: Mapping[int, int]) -> Mapping[int, int]:
        """Of these pods by shape those whose eviction asks their budgets or their gang; the same mapping where all do."""
        pods, asking = self._draft.world.pods, dict[int, int]()
        for row in on_node:
            shape = pods.shape[row]
            charged = shape in evicted and (self._ledger.budgets_of(shape) or self._ledger.gangs.covers(shape))
            if charged and not pods.finished(row) and self._ledger.exempt(row):
                asking = asking or dict(evicted)
                asking[shape] = max(0, asking[shape] - 1)
        return asking or evicted

    def _budgets(self, on_node: list[int], evicted: Mapping[int, int], asking: Mapping[int, int]) -> list[Blocker]:
        """`asking` are those of the `evicted` pods that ask their budgets."""
        pods = self._draft.world.pods
        blockers = self._gangs(on_node, asking)
        covered = {number: over for number in evicted if (over := self._ledger.budgets_of(number))}
        if not covered:
            return blockers
        for number, over in covered.items():
            if len(over) > 1:
                # Measured on kube-apiserver 1.36: the eviction of such a pod is answered with an error, whatever is left.
                key = next(pods.key(index) for index in on_node if pods.shape[index] == number)
                names = tuple(self._ledger.budgets[index].name for index in over)
                blockers.append(SeveralPdbs(budgets=names).blocker(key))
        short = self._ledger.short({number: asking[number] for number in covered})
        if not short:
            return blockers
        # By pods and not by budgets: a tenant may have thousands of budgets over one pod.
        needed, first = dict[int, int](), dict[int, int]()
        rows = {pods.shape[row]: row for row in reversed(on_node) if pods.shape[row] in covered}
        for number in dict.fromkeys(pods.shape[row] for row in on_node if pods.shape[row] in covered):
            for index in covered[number]:
                needed[index] = needed.get(index, 0) + asking[number]
                first.setdefault(index, rows[number])
        for index in short:
            budget = self._ledger.budgets[index]
            allowed = max(0, self._ledger.left[index])
            reason = NotEnoughPdb(budget=f"{budget.namespace}/{budget.name}", allowed=allowed, needed=needed[index])
            blockers.append(reason.blocker(pods.key(first[index])))
        return blockers

    def _gangs(self, on_node: list[int], asking: Mapping[int, int]) -> list[Blocker]:
        gangs, pods = self._ledger.gangs, self._draft.world.pods
        short = gangs.short(asking)
        if short is None:
            return []
        first = next(row for row in on_node if asking.get(pods.shape[row]) and gangs.name_of(pods.shape[row]) == short.group)
        return [short.blocker(pods.key(first))]


def last_end(ends: Iterable[int | None]) -> int | None:
    """The last of these instants; None if there is none, or one of them is unknown."""
    known = list(ends)
    return None if None in known else max((end for end in known if end is not None), default=None)
