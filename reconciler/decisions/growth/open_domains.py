"""Topology domains that this plan could open: zones where a group may grow but has no node."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.zones import open_zones, place


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
