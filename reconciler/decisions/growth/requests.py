"""Requests for nodes that have not come: which are still waited for, which failed, and what is taken back.

Source: Cluster Autoscaler `clusterstate` (an instance without node is long unregistered after max-node-provision-time) and
`removeOldUnregisteredNodes`. There the size is lowered by whatever is missing, and incidents tell of healthy nodes that went
for it; here exactly the failed machine goes, the size falls by those alone, and a group at its minimum gets others.
"""

from collections import Counter

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Cancellation, Draft, GroupDraft
from reconciler.decisions.reasons.machines import AskedAnew, Replaced, RequestCancelled
from reconciler.decisions.reasons.sizes import Headroom, HeadroomShort
from reconciler.decisions.situation.backoff import REMOVAL, denied_now
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.plan.plan import NodeState
from reconciler.values.instant import instant_text

FOLLOWS_WITHIN_SECONDS = 60
"""A target has made the machines of a new size by then."""


def replacements(draft: Draft, group: GroupDraft) -> Replaced | None:
    """Machines that the target made although its size did not change: in place of nodes that somebody stopped or deleted."""
    size = draft.memory.sizes.get(str(group.group.target))
    if size is None or (group.group.facts is not None and group.group.facts.rolling_out):
        return None
    made = tuple(
        machine.name
        for machine in draft.members.machines[group.position]
        if not machine.node and not machine.deleting and machine.created_seconds > size.since_seconds + FOLLOWS_WITHIN_SECONDS
    )
    return Replaced(machines=made, replicas=size.replicas, since=instant_text(size.since_seconds)) if made else None


def cancel_requests(draft: Draft) -> None:
    """Take back, a group, what failed. Runs after growth: a group that grows in this plan keeps its requests for now.

    Not while a rollout replaces machines by itself, and never for a group that is held. At its minimum the group asks for
    others instead, and not before its back-off has ended, so that a target which always fails is not asked in a circle.
    """
    for group in draft.groups:
        situation = group.situation
        facts = group.group.facts
        if facts is None or facts.rolling_out or not facts.selectable or group.held_why or group.desired > situation.current:
            continue
        if denied_now(draft.memory, REMOVAL, str(group.group.target), draft.now_seconds) is not None:
            continue
        failed = situation.cancellable
        most = max(0, group.desired - group.group.min_size)
        requests = min(len(failed) + situation.unmade, most)
        if requests:
            # Requests without a machine first: nothing has to be deleted for them.
            machines = failed[: max(0, requests - situation.unmade)]
            group.cancelled = Cancellation(machines=machines, requests=requests, why=_cancelled(group, machines, requests))
            group.desired -= requests
        elif failed and draft.growth_stop(group) is None:
            group.cancelled = Cancellation(
                machines=failed, requests=0, why=AskedAnew(machines=failed, min=group.group.min_size, why=_why(situation, failed))
            )
        if group.cancelled is not None:
            group.reasons.append(group.cancelled.why.reason())


def _cancelled(group: GroupDraft, machines: tuple[str, ...], requests: int) -> RequestCancelled:
    situation = group.situation
    return RequestCancelled(
        machines=machines,
        without_machine=requests - len(machines),
        nodes=len(situation.nodes) - len(situation.leaving),
        why=_why(situation, machines) if machines else situation.failed[-1][1],
    )


def _why(situation: GroupSituation, machines: tuple[str, ...]) -> str:
    return next((message for name, message in situation.failed if name == machines[0]), "")


# Capacity kept free beyond pending demand: whole empty nodes, empty nodes in every zone, room for pods of one shape.


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
    for node, many in draft.state.place(shape, count, _nodes(draft, group)):
        placed[node] += many
    left = count - placed.total()
    template = group.group.template
    while left and template is not None and draft.room(group, template)[0] > 0:
        mark = draft.state.mark()
        trial = draft.state.add_node("headroom", template, group.daemons)
        many = sum(bound for _, bound in draft.state.place(shape, left, [trial]))
        draft.state.undo(mark)
        if not many:
            break
        grown = draft.grow(group, template, draft.step(group, template, 1))
        draft.state.bind(shape, grown[0], many)
        group.reasons.append(Headroom(wanted=count, free=count - left, nodes=len(grown), what="pods").reason())
        left -= many
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
