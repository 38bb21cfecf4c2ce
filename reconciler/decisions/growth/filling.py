"""What new nodes of one template would take of the pods that wait, where one node says nothing about others: whole passes."""

from array import array
from collections import Counter
from collections.abc import Iterable

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.zones import open_zones, place
from reconciler.scheduling.new_nodes import NO_SPREAD, Entries, Filled, HostSpread

# Topology domains that this plan could open: zones of groups that may grow but have no node there yet.


def open_domains(draft: Draft, groups: list[GroupDraft], shapes: list[int]) -> list[int]:
    """Add the domains of `groups` to the scheduling state, with a closed node without any room in each new one. Returns these
    nodes.

    kube-scheduler spreads over the existing domains. From zero there are none, so the first zone with a node could take all pods,
    and the required spread would be lost. Cluster Autoscaler does that: one node per loop, or all in one zone. Counting the zones
    that groups could open gives every zone its share in one plan. Later, `shut_domains` ends this for zones that get no node.
    """
    keys = spread_keys(draft, shapes)
    if not keys:
        return []
    # Labels of nodes are looked up among the keys, not the other way round: pods name as many keys as they like.
    staying = (node for node in range(draft.state.node_count) if not draft.state.leaving(node))
    known = {pair for node in staying for pair in draft.state.shape_of(node).labels if pair[0] in keys}
    opened = []
    for group in groups:
        template = group.group.template
        if template is None or draft.room(group, template)[0] <= 0:
            continue
        own = {pair for pair in template.labels if pair[0] in keys}
        if own <= known:
            continue
        known |= own
        opened.append(_open(draft, f"{group.group.name}-domain", template))
    return [*opened, *open_zones(draft, groups, keys, known)]


def shut_domains(draft: Draft, opened: Iterable[int]) -> None:
    """End the effect of `open_domains` after growth: kube-scheduler counts a domain only if it has a node.

    Domains with a new node stay, because that node counts. Where the platform chooses the zones of new nodes, all of its zones
    stay.
    """
    chosen = {zone for group in draft.groups if group.order is not None and group.new_nodes for _, zone in group.group.in_zones}
    kept = {pair for zone in chosen for pair in zone.labels}
    for node in opened:
        if kept.isdisjoint(draft.state.shape_of(node).labels):
            draft.state.leave(node)


def spread_keys(draft: Draft, shapes: Iterable[int]) -> frozenset[str]:
    """Topology keys of the spread of these pods. Only of the domains in which the number of nodes does not matter."""
    return frozenset(c.topology_key for shape in shapes for c in draft.state.pod_shape(shape).spread) - {HOSTNAME_LABEL}


def _open(draft: Draft, name: str, shape: NodeShape) -> int:
    empty = msgspec.structs.replace(shape, allocatable=Resources(), capacity=Resources())
    node = draft.state.add_node(name, empty)
    draft.state.close(node)
    return node


class Outrun(msgspec.Struct, frozen=True):
    """Shapes with a spread that the plan cannot keep once all of its nodes are there, and what opens `domains` by then."""

    shapes: frozenset[int] = frozenset()
    domains: tuple[NodeShape, ...] = ()


def outrun(draft: Draft) -> Outrun:
    """What nodes do to the spread of pods that were served before them: they are domains that took none of these pods.

    kube-scheduler sees all new nodes at once. So in a domain that got pods of a shape, the last of them must still fit. Otherwise
    all of them must fit in another way. On existing nodes, pods are bound before any node comes.
    """
    state, new = draft.state, frozenset(node for group in draft.groups for node in group.new_nodes)
    if not new:
        return Outrun()
    nodes, shapes, _ = state.bound_since(draft.begun)
    if not any(state.pod_shape(shape).spread for shape in set(shapes)):
        return Outrun()
    first: dict[int, int] = {}
    began: dict[int, int] = {}
    for turn, (node, shape) in enumerate(zip(nodes, shapes, strict=True)):
        if node in new:
            began.setdefault(node, turn)
        if state.pod_shape(shape).spread:
            first.setdefault(shape, turn)
    last = max(began.values(), default=-1)
    stated, unstated = _domains_of_new(draft, first)
    # The plan did not know a domain that no template states, in whatever order pods were served.
    risked = [shape for shape, turn in first.items() if turn < last or unstated]
    mark = state.mark()
    open_late(draft, unstated)
    outrun_shapes = frozenset(shape for shape in risked if not keeps_its_spread(draft, shape))
    state.undo(mark)
    return Outrun(outrun_shapes, (*stated, *unstated)) if outrun_shapes else Outrun()


def open_late(draft: Draft, domains: Iterable[NodeShape]) -> None:
    """As `open_domains`, where it is known what nodes open. None of them is a host more to spread over."""
    host = next((name for node in range(draft.state.node_count) if (name := _own_host(draft, node))), "")
    for number, shape in enumerate(domains):
        labels = dict(shape.labels) | ({HOSTNAME_LABEL: host} if host else {})
        _open(draft, f"domain-{number + 1}", msgspec.structs.replace(shape, labels=tuple(sorted(labels.items()))))


def _own_host(draft: Draft, node: int) -> str:
    return draft.state.name(node) if not draft.state.closed(node) and draft.state.own_host(node) else ""


def _domains_of_new(draft: Draft, shapes: Iterable[int]) -> tuple[tuple[NodeShape, ...], tuple[NodeShape, ...]]:
    """The domains of nodes that were added, apart from hosts, then the domains that nodes to come may be in. If a template does
    not state a label, a node may be like any node of its group. If the platform chooses its zone, it may be in each of them."""
    keys, stated = spread_keys(draft, shapes), set[NodeShape]()
    unstated = {zone for opened in draft.elsewhere().values() for way in opened.ways for zone in way} if keys else set()
    for group in draft.groups if keys else ():
        template = group.group.template
        if template is None or not draft.coming(group):
            continue
        stated.update(draft.state.shape_of(node) for node in group.new_nodes)
        lacking = keys - {key for key, _ in template.labels} if group.order is None else frozenset[str]()
        there = (draft.state.shape_of(node).labels for node in group.situation.nodes)
        for pairs in {tuple(pair for pair in labels if pair[0] in lacking) for labels in there} - {()}:
            unstated.add(msgspec.structs.replace(template, labels=tuple(sorted((*template.labels, *pairs)))))
    by_labels = (tuple(sorted(shapes, key=lambda shape: shape.labels)) for shapes in (stated, unstated))
    return next(by_labels), next(by_labels)


def keeps_its_spread(draft: Draft, shape: int) -> bool:
    """Whether the last pod of a shape still fits in each domain of nodes to come, or all of them fit there in another way."""
    state, keys, asked, fits = draft.state, sorted(spread_keys(draft, (shape,))), set[tuple[object, ...]](), True
    coming = [node for group in draft.groups for node in (*group.upcoming_nodes, *group.new_nodes)]
    loads = {node: pods for node in coming if (pods := dict(state.bound(node)).get(shape))}
    for node, pods in loads.items():
        labels = dict(state.shape_of(node).labels)
        domain = (pods, *(labels.get(key) for key in keys))
        if fits and domain not in asked:
            asked.add(domain)
            state.unbind(shape, node)
            fits = state.fits(shape, node)
            state.bind(shape, node)
    if fits:
        return True
    mark, wanted = state.mark(), sum(loads.values())
    for node, pods in loads.items():
        state.unbind(shape, node, pods)
    placed = sum(pods for _, pods in place(draft, shape, wanted, coming))
    state.undo(mark)
    return placed == wanted


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
        served = self._within_shares([pair for pair in waiting if enters[pair[0]]], room)
        if any(shape in self._spread for shape, _ in served):
            return None
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
