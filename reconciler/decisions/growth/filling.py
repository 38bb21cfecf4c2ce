"""What new nodes of one template would take of the pods that wait, where one node says nothing about others: whole passes."""

from array import array
from collections import Counter

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.scheduling.filled_nodes import NOTHING_FILLED, Filled, HostSpread
from reconciler.scheduling.new_nodes import NO_SPREAD, Entries
from reconciler.scheduling.packing import template_class

Waiting = list[tuple[int, int]]


class _Kept(msgspec.Struct, frozen=True, gc=False):
    waiting: tuple[tuple[int, int], ...]
    room: int
    spreads: tuple[HostSpread, ...]
    filled: Filled


class Filling:
    """Fillings of one tier, kept while the pods that they are about wait in the same numbers."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._rivals: dict[int, frozenset[int] | None] = {}
        self._spread: dict[int, frozenset[int]] = {}
        self._over_hosts: set[int] = set()
        self._rooms: dict[object, dict[int, int]] = {}
        self._enters: dict[object, dict[int, bool]] = {}
        self._kept: dict[object, _Kept] = {}
        self._last: tuple[tuple[int, ...], tuple[bytearray, list[list[int]]]] = ((), (bytearray(), []))
        self._kinds: dict[int, tuple[int, int]] = {}
        self._numbers: dict[object, int] = {}
        self._kept_off: dict[object, set[int]] = {}

    def kind(self, group: GroupDraft, template: NodeShape, keys: frozenset[str]) -> tuple[int, int]:
        """Two numbers that stand for new nodes of a group, since to compare templates takes long. The first is that of what
        constraints of pods can see of the template by `keys`, the second that of all that matters about it."""
        kind = self._kinds.get(group.position)
        if kind is None:
            visible, numbers = template_class(template, keys), self._numbers
            seen = numbers.setdefault(visible, len(numbers))
            kind = seen, numbers.setdefault((visible, template.allocatable, group.daemons), len(numbers))
            self._kinds[group.position] = kind
        return kind

    def kept_off(self, kind: tuple[int, int], own: int | None) -> set[int]:
        """Shapes that labels and taints of such nodes keep off. Whoever sees one adds it. `own` is the position of a group whose
        nodes come in several zones."""
        return self._kept_off.setdefault((kind, own), set())

    def covers(self, waiting: Waiting) -> bool:
        """Does nothing concern the pods that wait but their node and who else is on it, and spread that counts no other pods that
        wait?"""
        known, state = self._rivals, self._draft.state
        together: frozenset[int] | None = None
        self._rooms.clear()
        for shape, _ in waiting:
            if shape not in known:
                known[shape] = state.host_rivals(shape)
                if known[shape] is not None and (counted := state.spread_with(shape)):
                    self._spread[shape] = counted
                    if any(rule.topology_key == HOSTNAME_LABEL for rule in state.pod_shape(shape).spread):
                        self._over_hosts.add(shape)
            if known[shape] is None:
                return False
            if shape in self._spread:
                together = together or frozenset(other for other, _ in waiting)
                if self._spread[shape] & together - {shape}:
                    # A pod of one shape would change what the other meets.
                    return False
        return True

    def spreads(self, shape: int) -> bool:
        """Has a shape that was asked about a spread?"""
        return shape in self._spread

    def again(self, alike: object, waiting: Waiting, room: int) -> Filled | None:
        """The last result for such nodes, if these pods certainly give the same one. None if only placing them tells."""
        kept, enters = self._kept.get(alike), self._enters.get(alike, {})
        if kept is None or not _holds(kept, room) or not all(shape in enters for shape, _ in waiting):
            return None
        entering = [pair for pair in waiting if enters[pair[0]]]
        if any(shape in self._spread for shape, _ in entering):
            return None
        served = self._within_shares(entering, room)
        return kept.filled if _leaves_the_same(kept, served) else None

    def fill(self, alike: tuple[object, ...], probe: int, waiting: Waiting, room: int, daemons: tuple[int, ...]) -> Filled | None:
        """How at most `room` nodes like `probe`, with its `daemons`, would fill. None if such nodes are not separate hosts.
        `alike` represents everything that matters about the template; its first part, what constraints of pods can see of it."""
        state = self._draft.state
        if not state.own_host(probe):
            return None
        rooms = self._rooms.setdefault(alike[0], {})
        enters = self._enters.setdefault(alike, {})
        served = []
        for shape, count in waiting:
            may = enters.get(shape)
            if may is None:
                rivals = self._rivals[shape] or frozenset()
                may = enters[shape] = rivals.isdisjoint(daemons) and state.enters(shape, probe)
            if not may:
                continue
            if (counted := self._spread.get(shape)) is not None:
                if not counted.isdisjoint(daemons):
                    return None
                if shape not in rooms:
                    rooms[shape] = state.domain_room(shape, probe)
                served.append((shape, min(count, rooms[shape])))
            else:
                served.append((shape, count))
        served = self._within_shares([entry for entry in served if entry[1]], room)
        if not served:
            # What was kept of other numbers of pods holds when these come back.
            return NOTHING_FILLED
        spreads = self._spreads(served, probe)
        if spreads is None:
            return None
        kept = self._kept.get(alike)
        if kept is not None and kept.waiting == tuple(served) and kept.spreads == spreads and _holds(kept, room):
            # The last choice took none of these pods.
            return kept.filled
        shapes = array("i", [shape for shape, _ in served])
        alone, before, steps = self._apart(tuple(shapes))
        asked = Entries(shapes, array("i", [count for _, count in served]), before, alone, spreads)
        filled, looked = state.fill_new(probe, asked, room)
        self._draft.shares.spend_together(Counter(map(self._draft.namespace, shapes)), looked + 1 + steps)
        self._kept[alike] = _Kept(tuple(served), room, spreads, filled)
        return filled

    def _spreads(self, served: Waiting, probe: int) -> tuple[HostSpread, ...] | None:
        """By entry how new nodes like the probe meet its spread over hosts; None where they do not count."""
        spreads = [NO_SPREAD] * len(served)
        for entry, (shape, _) in enumerate(served):
            if shape in self._over_hosts:
                spread = self._draft.state.host_spread(shape, probe)
                if spread is None:
                    return None
                spreads[entry] = spread
        return tuple(spreads)

    def _apart(self, shapes: tuple[int, ...]) -> tuple[bytearray, list[list[int]], int]:
        """By entry: whether one pod of it fills a node, and which earlier entries cannot share a node with it. Also the steps
        spent: none for the shapes of the last call, because most templates get the same shapes."""
        if shapes == self._last[0]:
            return *self._last[1], 0
        place = {shape: entry for entry, shape in enumerate(shapes)}
        everybody = frozenset(place)
        alone = bytearray(len(shapes))
        before: list[list[int]] = []
        for entry, shape in enumerate(shapes):
            rivals = self._rivals[shape]
            if not rivals:
                before.append([])
                continue
            alone[entry] = shape in rivals
            few = rivals if len(rivals) < len(place) else everybody & rivals
            before.append(sorted(place[other] for other in few if place.get(other, entry) < entry))
        self._last = shapes, (alone, before)
        return alone, before, sum(map(len, before))

    def _within_shares(self, served: Waiting, room: int) -> Waiting:
        """Without shapes of a namespace that one pass may take far beyond its share. Their turn comes when the use of the others
        is known."""
        nodes = min(room, sum(count for _, count in served))
        shares = self._draft.shares
        if len(served) * nodes <= shares.common:
            return served
        namespaces = [self._draft.namespace(shape) for shape, _ in served]
        several = len(set(namespaces))
        most = {name: max(1, shares.part(name, several) // max(1, nodes)) for name in namespaces}
        entries = []
        for entry, name in zip(served, namespaces, strict=True):
            if most[name]:
                most[name] -= 1
                entries.append(entry)
        return entries


def _leaves_the_same(kept: _Kept, served: Waiting) -> bool:
    """Whether nodes take the same pods of these numbers as of those before. Then of each shape there are as many, or there were
    and still are more than the nodes take."""
    if len(kept.waiting) != len(served):
        return False
    taken = dict(kept.filled.served)
    return all(
        before == now or (before[0] == now[0] and min(before[1], now[1]) > taken.get(now[0], 0))
        for before, now in zip(kept.waiting, served, strict=True)
    )


def _holds(kept: _Kept, room: int) -> bool:
    """Whether what was found for one room is what would be found for another: an answer that filled all of it might go on."""
    return room == kept.room or (kept.filled.opened < kept.room and kept.filled.opened <= room)
