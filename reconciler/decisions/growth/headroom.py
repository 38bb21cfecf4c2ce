"""Capacity kept free beyond pending demand: whole empty nodes, empty nodes in every zone, room for pods of one shape."""

from collections import Counter

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.sizes import Headroom, HeadroomShort
from reconciler.plan.plan import NodeState


def keep_headroom(draft: Draft) -> frozenset[str]:
    """Grow every group whose headroom is not free, as far as its maximum and the limits allow; protect what is free. The names
    of the groups that grow.

    Runs after all pending pods have their places, so that headroom never takes the room of a pod that is there.
    """
    staying = draft.staying_shapes()
    grown: set[str] = set()
    for group in draft.groups:
        wanted = group.group.headroom
        if draft.growth_stop(group) is not None or group.group.facts is None:
            continue
        before = group.desired
        for pods in wanted.pods:
            shape = PodShape(
                namespace="",
                requests=Resources.of(dict(pods.requests)).plus(Resources(pods=1)),
                tolerations=(Toleration("", "Exists", "", ""),),
            )
            _room_for_pods(draft, group, draft.state.add_shape(shape), pods.count)
        if wanted.nodes:
            _empty_nodes(draft, group, staying, wanted.nodes, None)
        if wanted.nodes_per_zone:
            zones = {zone for node in _nodes(draft, group) if (zone := draft.state.shape_of(node).label(ZONE_LABEL))}
            template = group.group.template
            if template is not None and (own := template.label(ZONE_LABEL)):
                zones.add(own)
            for zone in sorted(zones):
                _empty_nodes(draft, group, staying, wanted.nodes_per_zone, zone)
        if group.desired > before:
            grown.add(group.group.name)
    return frozenset(grown)


def _nodes(draft: Draft, group: GroupDraft) -> list[int]:
    usable = [index for index in group.situation.nodes if draft.states[index] is NodeState.IN_USE]
    return [*usable, *group.upcoming_nodes, *group.new_nodes]


def _empty_nodes(draft: Draft, group: GroupDraft, staying: frozenset[int], wanted: int, zone: str | None) -> None:
    template = group.group.template
    if template is None:
        return
    free = [
        node
        for node in _nodes(draft, group)
        if (zone is None or draft.state.shape_of(node).label(ZONE_LABEL) == zone)
        and all(shape in staying or shape in group.daemons for shape, _ in draft.state.bound(node))
    ]
    draft.protected.update(free[:wanted])
    missing = wanted - len(free)
    if missing <= 0 or (zone is not None and template.label(ZONE_LABEL) != zone):
        return
    _grow(draft, group, missing, wanted, len(free))


def _room_for_pods(draft: Draft, group: GroupDraft, shape: int, count: int) -> None:
    """Bind placeholders where there is room in the group, then on new nodes; nodes that carry them are protected."""
    placed = Counter[int]()
    for node, pods in draft.state.place(shape, count, _nodes(draft, group)):
        placed[node] += pods
    left = count - placed.total()
    template = group.group.template
    while left and template is not None and draft.room(group, template)[0] > 0:
        mark = draft.state.mark()
        trial = draft.state.add_node("headroom", template, group.daemons)
        pods = sum(bound for _, bound in draft.state.place(shape, left, [trial]))
        draft.state.undo(mark)
        if not pods:
            break
        grown = draft.grow(group, template, draft.step(group, template, 1))
        draft.state.bind(shape, grown[0], pods)
        group.reasons.append(Headroom(wanted=count, free=count - left, nodes=len(grown), what="pods").reason())
        left -= pods
        for node in grown[1:]:
            left -= sum(bound for _, bound in draft.state.place(shape, left, [node]))
    if left:
        group.reasons.append(HeadroomShort(missing=left, what="pods").reason())
    draft.protected.update(placed)


def _grow(draft: Draft, group: GroupDraft, missing: int, wanted: int, free: int) -> None:
    template = group.group.template
    if template is None:
        return
    room, _ = draft.room(group, template)
    added = min(missing, room)
    if added > 0:
        added = draft.step(group, template, added)
        draft.grow(group, template, added)
        group.reasons.append(Headroom(wanted=wanted, free=free, nodes=added, what="nodes").reason())
    if added < missing:
        group.reasons.append(HeadroomShort(missing=missing - added, what="nodes").reason())
