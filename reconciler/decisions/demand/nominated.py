"""Pending pods that kube-scheduler has already chosen a node for, where pods of lower priority are ending for them.

SOURCE: kube-scheduler's DefaultPreemption writes `status.nominatedNodeName`, tries that node first from then on, keeps its room
from others and takes nobody else away while a pod of lower priority terminates there; it nominates anew once the node will not
do. The Cluster Autoscaler puts such a pod on that node in its snapshot whatever else is there, and buys nothing for it. Here it
has to fit there once those that end are gone, and they are waited for no longer than that should take. Since 1.33 the scheduler
may write the nomination before it deletes anybody, so that just after its first refusal any pods of lower priority count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress

from reconciler.decisions.demand.gangs import without
from reconciler.decisions.demand.pending import Demand, Served
from reconciler.decisions.demand.purchase import LINGER_SECONDS
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.pods import RoomAfterOthers, RoomOnNode
from reconciler.plan.plan import PodOutcome
from reconciler.values.instant import instant_text


def place_nominated(draft: Draft, demands: tuple[Demand, ...]) -> tuple[tuple[Demand, ...], dict[int, Served]]:
    """Pods that their nominated node has room for, now or once others are gone, take it; the demands without them, and what
    became of them by pod. The others wait like any pod."""
    column = draft.world.pods.nominated
    if column.count(-1) == len(column):
        return demands, {}
    nominated = {pod: column[pod] for demand in demands for pod in demand.pods if column[pod] >= 0}
    ending = _ending(draft)
    served: dict[int, Served] = {}
    for pod, node in nominated.items():
        found = _place(draft, pod, node, ending.get(node, ()))
        if found is not None:
            served[pod] = found
    return without(demands, served), served


def _ending(draft: Draft) -> Mapping[int, list[int]]:
    """By node, the pods that hold room there and will be gone in a moment."""
    pods, latest = draft.world.pods, draft.now_seconds - LINGER_SECONDS
    found: dict[int, list[int]] = {}
    for index in compress(range(len(pods)), pods.deletion_seconds):
        counted = draft.world.pod_shapes[pods.shape[index]].priority >= draft.cutoff and not pods.finished(index)
        if counted and pods.deletion_seconds[index] > latest:
            found.setdefault(pods.node[index], []).append(index)
    return found


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
