"""Gangs: pods that are useful only together, so a plan places all of them or adds nodes for none.

A PodGroup says how many of its pods have to run together. For other pods, the policy says which are a gang (`pods.gangLabels`):
by the label of a coscheduling plugin, a queue or a job. Such a gang needs all its pods.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import World
from reconciler.decisions.demand.queue import Lot, Served
from reconciler.decisions.reasons.pods import GangIncomplete, GangPreempts, NoGroupFits
from reconciler.decisions.situation.pod_groups import grouped_pods
from reconciler.decisions.situation.waiting_pods import WaitingPods
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Reason

GangKey = tuple[str, str, str]
WITH_PLACE = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)
ONE_BY_ONE = 16
"""So many gangs are given up one after the other, since what one leaves may complete another; then all that are incomplete."""


class Gang(msgspec.Struct, frozen=True):
    """One gang: (namespace, label, value), the shapes of its pending pods, how many these are, and how many of them it needs. The
    label of a PodGroup is empty, and its value is its name."""

    key: GangKey
    shapes: tuple[int, ...]
    pod_count: int
    needed: int

    @property
    def name(self) -> str:
        """`namespace/value`."""
        return f"{self.key[0]}/{self.key[2]}"


Refused = Mapping[int, tuple[Lot, ...]]
"""Pods of gangs that are given up, by shape, with what to say of each."""


def gang_of(shape: PodShape, labels: Sequence[str]) -> GangKey | None:
    """The gang that pods of a shape belong to, by the first of the labels that they carry. A PodGroup precedes labels."""
    if not labels or shape.pod_group:
        return None
    own = dict(shape.labels)
    return next(((shape.namespace, label, own[label]) for label in labels if label in own), None)


def gangs(world: World, waiting: WaitingPods, labels: Sequence[str]) -> tuple[Gang, ...]:
    """The gangs of pending pods, by key."""
    by_gang: dict[GangKey, list[int]] = {}
    for shape in waiting if labels else ():
        if (key := gang_of(world.pod_shapes[shape], labels)) is not None:
            by_gang.setdefault(key, []).append(shape)
    counts = {key: sum(len(waiting[shape]) for shape in own) for key, own in by_gang.items()}
    by_label = [Gang(key, tuple(own), counts[key], counts[key]) for key, own in by_gang.items()]
    by_object = [
        Gang((one.key[0], "", one.key[1]), one.shapes, one.waiting, one.needed)
        for one in grouped_pods(world, waiting)
        if one.held is None and one.needed > 1
    ]
    return tuple(sorted((*by_label, *by_object), key=lambda gang: gang.key))


def incomplete(all_gangs: Sequence[Gang], lots: Iterable[Lot], refused: Refused) -> tuple[Gang, ...]:
    """Gangs that are not refused and did not come out whole. `lots` are pods that got an outcome. Those for which kube-scheduler
    makes room wait for that."""
    placed, preempting = Counter[int](), set[int]()
    for lot in lots:
        if lot.served.reasons and lot.served.reasons[0].code == GangPreempts.code:
            preempting.add(lot.shape)
        placed[lot.shape] += len(lot.pods) if lot.served.outcome in WITH_PLACE else 0
    return tuple(
        gang
        for gang in all_gangs
        if gang.shapes[0] not in refused
        and preempting.isdisjoint(gang.shapes)
        and sum(placed[shape] for shape in gang.shapes) < gang.needed
    )


def given_up(world: World, broken: Sequence[Gang], lots: Iterable[Lot], rounds: int) -> Refused:
    """Those of the `broken` gangs that are left out of the next try: after `ONE_BY_ONE` rounds all of them. Before, the one that
    would be served last: that of the lowest priority, then the last by key. Of many, only the first `ONE_BY_ONE` stay."""
    if rounds < ONE_BY_ONE:
        last_first = sorted(broken, key=lambda gang: (_priority(world, gang), _reversed(gang.key)))
        broken = last_first[: max(1, len(broken) - ONE_BY_ONE)]
    by_shape: dict[int, list[Lot]] = {}
    for lot in lots:
        by_shape.setdefault(lot.shape, []).append(lot)
    refused: dict[int, tuple[Lot, ...]] = {}
    for gang in broken:
        because = _incomplete(world, gang, [lot for shape in gang.shapes for lot in by_shape[shape]])
        refused |= {shape: tuple(_refused(lot, because) for lot in by_shape[shape]) for shape in gang.shapes}
    return refused


def second_chances(world: World, all_gangs: Sequence[Gang], refused: Refused) -> tuple[Gang, ...]:
    """Gangs that may fit now, because others were given up after them; the most important first. There are at most `ONE_BY_ONE`.
    A gang that was given up alone has had its try. A gang with a pod that fits no group does not get another."""
    lost = [gang for gang in all_gangs if gang.shapes[0] in refused]
    if len(lost) < 2:
        return ()
    hopeful = [gang for gang in lost if not any(_fits_nowhere(lot.served) for shape in gang.shapes for lot in refused[shape])]
    return tuple(sorted(hopeful, key=lambda gang: (-_priority(world, gang), gang.key))[:ONE_BY_ONE])


def _fits_nowhere(entry: Served) -> bool:
    return any(reason.code == NoGroupFits.code for reason in entry.reasons)


def _priority(world: World, gang: Gang) -> int:
    return max(world.pod_shapes[shape].priority for shape in gang.shapes)


def _reversed(key: GangKey) -> tuple[tuple[int, ...], ...]:
    return tuple((*(-ord(char) for char in text), 1) for text in key)


def _incomplete(world: World, gang: Gang, lots: Sequence[Lot]) -> Reason:
    lost = [lot for lot in lots if lot.served.outcome not in WITH_PLACE]
    placed, first = gang.pod_count - sum(len(lot.pods) for lot in lost), min(lot.pods[0] for lot in lost)
    return GangIncomplete(
        gang=gang.name,
        label=gang.key[1],
        pods=gang.pod_count,
        needed=gang.needed,
        placed=placed,
        first=world.pods.key(first),
    ).reason()


def _refused(lot: Lot, because: Reason) -> Lot:
    if lot.served.outcome in WITH_PLACE:
        served = Served(outcome=PodOutcome.UNPLACEABLE, reasons=(because,))
    else:
        served = msgspec.structs.replace(lot.served, reasons=(because, *lot.served.reasons))
    return Lot(lot.shape, lot.pods, served)
