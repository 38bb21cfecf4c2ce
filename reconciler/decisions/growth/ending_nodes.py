"""Room for the pods of nodes that leave soon: groups grow before. The platform ends them, such as those of a Capacity Block, or
they are broken.

These pods run now. They are placed on nodes that stay, as if their own nodes were drained. Groups grow for those that find no
place. Nodes that are to take them stay until then. Pods that no controller makes again need no room.

This comes after all pending pods and all headroom: headroom may take the pods, and is made again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from reconciler.decisions.demand.pending import never_placed, serving_order
from reconciler.decisions.demand.queue import Demand, Queue
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.scale_up import fill_existing, grow_for
from reconciler.decisions.reasons.sizes import PendingPods, RoomBeforeEnd, RoomForRepair
from reconciler.plan.plan import NodeState, PodOutcome
from reconciler.plan.reason import Because
from reconciler.values.instant import instant_text


def make_room_before_ends(draft: Draft) -> frozenset[str]:
    """Grow for pods of nodes that end soon or are broken. Returns the names of the groups that grow."""
    moving = _moving(draft) if draft.endings or draft.repairs.due else {}
    if not moving:
        return frozenset()
    numbers = _numbers(moving)
    before = [(group.desired, len(group.reasons)) for group in draft.groups]
    queue = Queue(tuple(Demand(shape=shape, pods=numbers[shape]) for shape in serving_order(draft.world, numbers)))
    draft.share_among(draft.namespace(shape) for shape in numbers)
    for node, load in moving.items():
        draft.state.leave(node)
        for shape, count in load.items():
            draft.state.unbind(shape, node, count)
    fill_existing(draft, queue)
    grow_for(draft, queue)
    places = {node.name: index for index, node in enumerate(draft.world.nodes)}
    asked = Counter[str | None]()
    for lot in queue.lots():
        served, pods = lot.served, len(lot.pods)
        if served.outcome is PodOutcome.FITS_EXISTING and served.node in places:
            # The place is only tried here. The drain takes it.
            draft.promised.add(places[served.node])
            draft.state.unbind(lot.shape, places[served.node], pods)
        elif served.outcome is PodOutcome.TRIGGERS_SCALE_UP:
            asked[served.group] += pods
    for node, load in moving.items():
        for shape, count in load.items():
            draft.state.bind(shape, node, count)
    grown = set()
    for group, (size, told) in zip(draft.groups, before, strict=True):
        if group.desired > size:
            grown.add(group.group.name)
            pods, nodes = asked[group.group.name], group.desired - size
            because = _because(draft, moving, pods, nodes)
            others = [reason for reason in group.reasons[told:] if reason.code != PendingPods.code]
            group.reasons[told:] = [because.reason(), *others]
    return frozenset(grown)


def _because(draft: Draft, moving: Iterable[int], pods: int, nodes: int) -> Because:
    ends = [draft.endings[node] for node in moving if node in draft.endings]
    if ends:
        end = min(ends, key=lambda one: (one.at_seconds, one.what))
        return RoomBeforeEnd(pods=pods, nodes=nodes, what=end.what, at=instant_text(end.at_seconds))
    first = min(draft.repairs.due[node] for node in moving)
    return RoomForRepair(pods=pods, nodes=nodes, condition=first.condition, status=first.status)


def _moving(draft: Draft) -> Mapping[int, Counter[int]]:
    """The pods that come back when their node ends, by node and shape."""
    world, staying = draft.world, draft.staying_shapes()
    pods, found = world.pods, dict[int, Counter[int]]()
    for index in pods.running():
        node, shape = pods.node[index], pods.shape[index]
        if node < 0 or not draft.empties(node) or draft.states[node] is NodeState.LEAVING or pods.deletion_seconds[index]:
            continue
        if shape in staying or world.pod_traits[pods.traits[index]].controller is None:
            continue
        if never_placed(draft.state, draft.policy.pods, shape) is None:
            found.setdefault(node, Counter())[shape] += 1
    return found


def _numbers(moving: Mapping[int, Counter[int]]) -> Mapping[int, list[int]]:
    """A number for each of these pods, by shape."""
    numbers, last = defaultdict[int, list[int]](list), 0
    for load in moving.values():
        for shape, count in load.items():
            numbers[shape].extend(range(last, last + count))
            last += count
    return numbers
