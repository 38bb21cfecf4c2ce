"""Pending pods for which kube-scheduler has already chosen a node, where pods of lower priority are being removed for them.

SOURCE: kube-scheduler's DefaultPreemption writes `status.nominatedNodeName`. From then on it tries that node first and keeps
its room from others. It preempts nobody else while a pod of lower priority terminates there. If the node no longer fits, it
nominates another. The Cluster Autoscaler puts such a pod on that node in its snapshot, whatever else is there, and adds no node
for it. Here, the pod must fit once the terminating pods are gone, and it waits for them no longer than that should take. Since
1.33, the scheduler may write the nomination before it deletes any pod. So just after its first refusal, all pods of lower
priority count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress

from reconciler.decisions.demand.pod_counts import LINGER_SECONDS
from reconciler.decisions.demand.queue import Demand, Lot, Queue, Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.pods import RoomAfterOthers, RoomBesideOthers, RoomOnNode
from reconciler.plan.plan import PodOutcome
from reconciler.values.instant import instant_text


def place_nominated(draft: Draft, demands: tuple[Demand, ...]) -> tuple[tuple[Demand, ...], tuple[Lot, ...]]:
    """Place pods on their nominated node if it has room, now or once others are gone. Returns the demands without them, and what
    became of them. The others wait like any pod."""
    column = draft.world.pods.nominated
    if column.count(-1) == len(column):
        return demands, ()
    nominated = [(demand.shape, pod, column[pod]) for demand in demands for pod in demand.pods if column[pod] >= 0]
    ending = _ending(draft)
    placed: dict[int, Lot] = {}
    for shape, pod, node in nominated:
        served = _place(draft, pod, node, ending.get(node, ()))
        if served is not None:
            placed[pod] = Lot(shape, (pod,), served)
    rest = ((demand.shape, tuple(pod for pod in demand.pods if pod not in placed)) for demand in demands)
    return tuple(Demand(shape=shape, pods=pods) for shape, pods in rest if pods), tuple(placed.values())


def _ending(draft: Draft) -> Mapping[int, list[int]]:
    """By node, the pods that hold room there and will be gone in a moment."""
    pods, latest = draft.world.pods, draft.now_seconds - LINGER_SECONDS
    ending: dict[int, list[int]] = {}
    for index in compress(range(len(pods)), pods.deletion_seconds):
        counted = draft.world.pod_shapes[pods.shape[index]].priority >= draft.cutoff and not pods.finished(index)
        if counted and pods.deletion_seconds[index] > latest:
            ending.setdefault(pods.node[index], []).append(index)
    return ending


def _place(draft: Draft, pod: int, node: int, ending: Iterable[int]) -> Served | None:
    state, pods, shapes = draft.state, draft.world.pods, draft.world.pod_shapes
    shape, name = pods.shape[pod], state.name(node)
    if not draft.work.spend(1):
        return None
    if state.place(shape, 1, [node]):
        return Served(outcome=PodOutcome.FITS_EXISTING, node=name, reasons=(RoomOnNode(node=name).reason(),))
    lower = [other for other in ending if shapes[pods.shape[other]].priority < shapes[shape].priority]
    giving_way = dict(Counter(pods.shape[other] for other in lower))
    due = max((pods.deletion_seconds[other] for other in lower), default=0)
    if pods.unschedulable_seconds[pod] > draft.now_seconds - LINGER_SECONDS:
        due = max(due, pods.unschedulable_seconds[pod] + LINGER_SECONDS)
        giving_way = {on: count for on, count in state.bound(node) if state.pod_shape(on).priority < shapes[shape].priority}
    mark = state.mark()
    for other, count in giving_way.items():
        state.unbind(other, node, count)
    fits = state.fits(shape, node)
    state.undo(mark)
    if not fits:
        return None
    # On top of those that end, so that nobody else is given what they leave.
    state.bind(shape, node)
    reason = RoomAfterOthers(node=name, ending=len(lower), until=instant_text(due)).reason()
    return Served(outcome=PodOutcome.FITS_EXISTING, node=name, reasons=(reason,))


def place_beside_nominated(draft: Draft, queue: Queue, nominated: Iterable[Lot]) -> None:
    """Pods that fit into the same freed room as the `nominated` ones. kube-scheduler nominates a pod for room that it frees, but
    not the next pod for the rest."""
    state, pods, shapes = draft.state, draft.world.pods, draft.world.pod_shapes
    makes_room = {pods.nominated[lot.pods[0]] for lot in nominated if lot.served.reasons[0].code == RoomAfterOthers.code}
    ending = _ending(draft) if makes_room else {}
    for shape, count in queue.waiting():
        left = count
        for node in sorted(makes_room):
            lower = [other for other in ending.get(node, ()) if shapes[pods.shape[other]].priority < shapes[shape].priority]
            if not left or not lower or not draft.shares.spend(shape, draft.namespace(shape), 1):
                continue
            mark = state.mark()
            for other in lower:
                state.unbind(pods.shape[other], node)
            placed = sum(placed for _, placed in state.place(shape, left, [node]))
            state.undo(mark)
            if placed:
                # On top of those that end, as the nominated ones.
                state.bind(shape, node, placed)
                until = instant_text(max(pods.deletion_seconds[other] for other in lower))
                reason = RoomBesideOthers(node=state.name(node), ending=len(lower), until=until).reason()
                queue.take(shape, placed, Served(outcome=PodOutcome.FITS_EXISTING, node=state.name(node), reasons=(reason,)))
                left -= placed
