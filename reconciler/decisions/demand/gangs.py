"""Gangs: pods that are useful only together, so a plan places all of them or adds nodes for none.

The policy says which pods are a gang (`pods.gangLabels`): by the label of a coscheduling plugin, a queue or a job.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import World
from reconciler.decisions.demand.pending import Demand, Queue, Served
from reconciler.decisions.demand.purchase import LINGER_SECONDS
from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.pods import GangIncomplete, NoGroupFits, RoomAfterOthers, RoomBesideOthers, RoomOnNode
from reconciler.plan.plan import PodOutcome
from reconciler.values.instant import instant_text

GangKey = tuple[str, str, str]
WITH_PLACE = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)
ONE_BY_ONE = 16
"""So many gangs are given up one after the other, since what one leaves may complete another; then all that are incomplete."""


class Gang(msgspec.Struct, frozen=True):
    """One gang: (namespace, label, value), and its pending pods by index in World order."""

    key: GangKey
    pods: tuple[int, ...]

    @property
    def name(self) -> str:
        """`namespace/value`."""
        return f"{self.key[0]}/{self.key[2]}"


def gang_of(shape: PodShape, labels: Sequence[str]) -> GangKey | None:
    """The gang that pods of a shape belong to, by the first of the labels that they carry."""
    if not labels:
        return None
    own = dict(shape.labels)
    return next(((shape.namespace, label, own[label]) for label in labels if label in own), None)


def gangs(world: World, labels: Sequence[str]) -> tuple[Gang, ...]:
    """The gangs of pending pods, by key."""
    if not labels:
        return ()
    keys = [gang_of(shape, labels) for shape in world.pod_shapes]
    by_gang: dict[GangKey, list[int]] = {}
    for index in world.pods.pending():
        key = keys[world.pods.shape[index]]
        if key is not None:
            by_gang.setdefault(key, []).append(index)
    return tuple(Gang(key, tuple(pods)) for key, pods in sorted(by_gang.items()))


def given_up(
    world: World, all_gangs: Sequence[Gang], served: Mapping[int, Served], before: Mapping[int, Served], rounds: int
) -> dict[int, Served]:
    """Pods of gangs that did not come out whole, with what to say of each: to be left out of the next try. Empty: all whole.

    The gang that would be served last goes first: lowest priority, then by key from the end.
    """
    broken = [
        gang
        for gang in all_gangs
        if gang.pods[0] not in before and any(served[pod].outcome not in WITH_PLACE for pod in gang.pods)
    ]
    if rounds < ONE_BY_ONE:
        broken = sorted(broken, key=lambda gang: (_priority(world, gang), _reversed(gang.key)))[:1]
    return {pod: entry for gang in broken for pod, entry in _outcomes(world, gang, served)}


def second_chances(world: World, all_gangs: Sequence[Gang], refused: Mapping[int, Served]) -> tuple[Gang, ...]:
    """Gangs that may fit now, because others were given up after them; the most important first. There are at most `ONE_BY_ONE`.
    A gang that was given up alone has had its try. A gang with a pod that fits no group does not get another."""
    lost = [gang for gang in all_gangs if gang.pods[0] in refused]
    if len(lost) < 2:
        return ()
    hopeful = [gang for gang in lost if not any(_fits_nowhere(refused[pod]) for pod in gang.pods)]
    return tuple(sorted(hopeful, key=lambda gang: (-_priority(world, gang), gang.key))[:ONE_BY_ONE])


def _fits_nowhere(entry: Served) -> bool:
    return any(reason.code == NoGroupFits.code for reason in entry.reasons)


def without(demands: tuple[Demand, ...], refused: Mapping[int, Served]) -> tuple[Demand, ...]:
    """The demands less pods whose gang was given up."""
    if not refused:
        return demands
    rest = [(demand.shape, tuple(pod for pod in demand.pods if pod not in refused)) for demand in demands]
    return tuple(Demand(shape=shape, pods=pods) for shape, pods in rest if pods)


def _priority(world: World, gang: Gang) -> int:
    return max(world.pod_shapes[world.pods.shape[pod]].priority for pod in gang.pods)


def _reversed(key: GangKey) -> tuple[tuple[int, ...], ...]:
    return tuple((*(-ord(char) for char in text), 1) for text in key)


def _outcomes(world: World, gang: Gang, served: Mapping[int, Served]) -> list[tuple[int, Served]]:
    lost = [pod for pod in gang.pods if served[pod].outcome not in WITH_PLACE]
    because = GangIncomplete(
        gang=gang.name, label=gang.key[1], pods=len(gang.pods), placed=len(gang.pods) - len(lost), first=world.pods.key(lost[0])
    ).reason()
    outcomes = []
    for pod in gang.pods:
        entry = served[pod]
        if entry.outcome in WITH_PLACE:
            outcomes.append((pod, Served(outcome=PodOutcome.UNPLACEABLE, reasons=(because,))))
        else:
            outcomes.append((pod, msgspec.structs.replace(entry, reasons=(because, *entry.reasons))))
    return outcomes


# Pending pods for which kube-scheduler has already chosen a node, where pods of lower priority are being removed for them.
#
# SOURCE: kube-scheduler's DefaultPreemption writes `status.nominatedNodeName`. From then on it tries that node first and keeps
# its room from others. It preempts nobody else while a pod of lower priority terminates there. If the node no longer fits, it
# nominates another. The Cluster Autoscaler puts such a pod on that node in its snapshot, whatever else is there, and adds no node
# for it. Here, the pod must fit once the terminating pods are gone, and it waits for them no longer than that should take. Since
# 1.33, the scheduler may write the nomination before it deletes any pod. So just after its first refusal, all pods of lower
# priority count.


def place_nominated(draft: Draft, demands: tuple[Demand, ...]) -> tuple[tuple[Demand, ...], dict[int, Served]]:
    """Place pods on their nominated node if it has room, now or once others are gone. Returns the demands without them, and their
    outcome by pod. The others wait like any pod."""
    column = draft.world.pods.nominated
    if column.count(-1) == len(column):
        return demands, {}
    nominated = {pod: column[pod] for demand in demands for pod in demand.pods if column[pod] >= 0}
    ending = _ending(draft)
    served: dict[int, Served] = {}
    for pod, node in nominated.items():
        outcome = _place(draft, pod, node, ending.get(node, ()))
        if outcome is not None:
            served[pod] = outcome
    return without(demands, served), served


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


def place_beside_nominated(draft: Draft, queue: Queue, nominated: Mapping[int, Served]) -> None:
    """Pods that fit into the same freed room as the `nominated` ones. kube-scheduler nominates a pod for room that it frees, but
    not the next pod for the rest."""
    state, pods, shapes = draft.state, draft.world.pods, draft.world.pod_shapes
    makes_room = {pods.nominated[pod] for pod, entry in nominated.items() if entry.reasons[0].code == RoomAfterOthers.code}
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
