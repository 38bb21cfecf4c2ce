"""Growth from the pending pods to the sizes of all groups, stage by stage.

A try serves all pending pods once, in an `Order`. Whoever is served first may take the place of others, and that shows only
afterwards. So each stage looks at what came of a try, and may ask for another try in a better order. A stage takes an order and
returns what counts, as a try does. Each contains the one before it:

1. `in_turns`: pods whose spread is broken by nodes for others are served after those others.
2. `scarce_first`: pods that few groups can run are served before pods that took the nodes of these groups.
3. `whole_gangs`: incomplete gangs are left out, so that no node is added for them.
4. `with_room`: room is kept for requests, buffers and headroom. All pods that are left get their reasons.
5. `as_promised`: pods take the nodes that were promised to them before others look for room.

If no stage asks again, there is one try. `docs/explanation/growth.md` has a picture of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.demand.gangs import Refused, gangs, given_up, incomplete, second_chances
from reconciler.decisions.demand.nominated import place_beside_nominated, place_nominated
from reconciler.decisions.demand.pending import DemandResult, pending_demand
from reconciler.decisions.demand.queue import Queue
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.buffers import KeptRoom, keep_buffers
from reconciler.decisions.growth.crowding import crowded_out, outnumbered, with_first
from reconciler.decisions.growth.ending_nodes import make_room_before_ends
from reconciler.decisions.growth.headroom import keep_headroom
from reconciler.decisions.growth.open_domains import Outrun, open_late, outrun
from reconciler.decisions.growth.probes import probe
from reconciler.decisions.growth.promises import Keeping, leave_to_others, promised_again
from reconciler.decisions.growth.provisioning import KeptRequests, keep_requests
from reconciler.decisions.growth.requests import cancel_requests
from reconciler.decisions.growth.scale_up import explain_rest, fill_existing, grow_for, heal_minimums
from reconciler.decisions.ownership.other_policies import promises_by_shape
from reconciler.decisions.view import View
from reconciler.plan.plan import PodOutcome

_MOST_TURNS = 3
_FEW_NODES = 100
"""Beyond so many new nodes, tries that seldom leave fewer pods take more time than they are worth."""


class Order(msgspec.Struct, frozen=True):
    """In which order pods are served. Those of `refused` gangs are not served at all. `keeping`: how pods take nodes that were
    promised to them. Shapes of `first` come before others of the same priority, those with the smallest number first. Shapes of
    `turns` come after all others, those of one turn after those of the turns before it, when `domains` are open."""

    refused: Refused = {}
    keeping: Keeping = Keeping.NOT
    first: Mapping[int, int] = {}
    turns: tuple[frozenset[int], ...] = ()
    domains: Sequence[NodeShape] = ()


class Grown(msgspec.Struct, frozen=True):
    """A draft in which pods were served in an order. `queue` has what became of them, and those that wait still. `outrun` are
    pods whose spread the draft cannot keep, and `crowded_out` shapes for which others could have made room. `for_headroom` are
    the names of groups that grow to keep room free, or to learn a label. From `with_room` on, `kept` is the room for
    CapacityBuffers, and `requests` that for ProvisioningRequests."""

    order: Order
    draft: Draft
    queue: Queue
    outrun: Outrun
    crowded_out: Mapping[int, int]
    for_headroom: frozenset[str]
    kept: tuple[KeptRoom, ...] = ()
    requests: KeptRequests = KeptRequests()

    @property
    def cut_short(self) -> bool:
        """Whether the work budget ended before all was examined."""
        return self.draft.work.exhausted


Grow = Callable[[Order], Grown]


def grown(view: View, *, lift_holds: bool) -> Grown:
    """Growth through all stages; with `lift_holds` as if no group were held."""
    grow: Grow = _Tries(view, lift_holds=lift_holds).grow
    for stage in (in_turns, scarce_first, whole_gangs, with_room, as_promised):
        grow = partial(stage, grow)
    return grow(Order())


class _Tries:
    """The tries of one view, each on a fresh draft."""

    def __init__(self, view: View, *, lift_holds: bool) -> None:
        self._view = view
        self._first = view.draft(lift_holds=lift_holds)
        self._draft: Draft | None = self._first
        self._lift_holds = lift_holds

    @cached_property
    def _demand(self) -> DemandResult:
        view = self._view
        return pending_demand(view.world, view.waiting, self._first.state, view.policy.policy.pods, view.now_seconds)

    def grow(self, order: Order) -> Grown:
        """Heal minimums, place the pending pods, grow for the rest."""
        draft, self._draft = self._draft or self._view.draft(lift_holds=self._lift_holds), None
        refused = order.refused
        demands = tuple(one for one in self._demand.demands if one.shape not in refused)
        waiting, nominated = place_nominated(draft, demands)
        draft.share_among(draft.namespace(one.shape) for one in waiting)
        apart = (lot for lot in self._demand.apart if lot.shape not in refused)
        lost = (lot for lots in refused.values() for lot in lots)
        queue = Queue(with_first(draft, waiting, order.first) if order.first else waiting, (*nominated, *apart, *lost))
        draft.replace_leaving()
        heal_minimums(draft)
        promised_elsewhere = promises_by_shape(draft.world.claims)
        for turn in range(len(order.turns) + 1):
            queue.later = frozenset().union(*order.turns[turn:])
            if turn:
                open_late(draft, order.domains)
            fill_existing(draft, queue, order.keeping)
            if not turn:
                place_beside_nominated(draft, queue, nominated)
            leave_to_others(draft, queue, promised_elsewhere)
            grow_for(draft, queue)
        crowded = crowded_out(draft, queue.waiting())
        # A probe opens a domain as any node does.
        probes = probe(draft, queue)
        return Grown(order, draft, queue, outrun(draft), crowded, probes)


def in_turns(grow: Grow, order: Order) -> Grown:
    """Grow. If nodes for some pods break the spread of others that were served before, those have their turn after them."""
    tried = grow(order)
    for _ in range(_MOST_TURNS):
        last = _with_lower(tried)
        if not last or last in tried.order.turns[-1:]:
            break
        turns = (*(rest for turn in tried.order.turns if (rest := turn - last)), last)
        again = grow(msgspec.structs.replace(order, turns=turns, domains=tried.outrun.domains))
        if again.cut_short:
            break
        tried = again
    return tried


def _with_lower(tried: Grown) -> frozenset[int]:
    """What is outrun, with all that waits and is of lower priority: nobody gets a node before those who come first."""
    shapes, draft = tried.outrun.shapes, tried.draft
    if not shapes:
        return shapes
    highest = max(draft.state.pod_shape(shape).priority for shape in shapes)
    return shapes | {shape for shape in draft.waiting if draft.state.pod_shape(shape).priority < highest}


def scarce_first(grow: Grow, order: Order) -> Grown:
    """Grow. If pods are left because others took scarce nodes, grow again with those pods first. If few nodes are added, do so
    for pods that are smaller than others with a node. It counts if fewer pods are left, and none of a higher priority more."""
    best = tried = grow(order)
    for _ in range(_MOST_TURNS):
        if tried.crowded_out.keys() <= order.first.keys():
            break
        order = msgspec.structs.replace(order, first={**order.first, **tried.crowded_out})
        tried = grow(order)
        better = _leaves_fewer(tried, best)
        # Where as many are left, others may have been crowded out instead.
        if tried.cut_short or not (better or (best.draft.added <= _FEW_NODES and not _leaves_fewer(best, tried))):
            break
        best = tried if better else best
    smaller = outnumbered(best.draft, best.queue.waiting()) if best.draft.added <= _FEW_NODES else {}
    if smaller.keys() <= best.order.first.keys():
        return best
    tried = grow(msgspec.structs.replace(order, first={**best.order.first, **smaller}))
    return tried if not tried.cut_short and _leaves_fewer(tried, best) else best


def _leaves_fewer(one: Grown, other: Grown) -> bool:
    """Whether the first leaves fewer pods of the highest priority of which they leave different numbers."""
    ours, theirs = _left_by_priority(one), _left_by_priority(other)
    priorities = sorted(ours.keys() | theirs.keys(), reverse=True)
    return [ours[priority] for priority in priorities] < [theirs[priority] for priority in priorities]


def _left_by_priority(tried: Grown) -> Counter[int]:
    pods = Counter[int]()
    for shape, count in tried.queue.waiting():
        pods[tried.draft.state.pod_shape(shape).priority] += count
    return pods


def whole_gangs(grow: Grow, order: Order) -> Grown:
    """Grow, then again without the incomplete gangs. Then retry each of these that gangs given up later may have left room
    for."""
    tried = grow(order)
    world, labels = tried.draft.world, tried.draft.policy.pods.gang_labels
    all_gangs = gangs(world, tried.draft.waiting, labels)
    rounds = 0
    while broken := incomplete(all_gangs, tried.queue.lots(), order.refused):
        explained = _with_room(tried, with_requests=False).queue.lots()
        order = msgspec.structs.replace(order, refused={**order.refused, **given_up(world, broken, explained, rounds)})
        tried = grow(order)
        rounds += 1
    for gang in second_chances(world, all_gangs, order.refused):
        refused = {shape: lots for shape, lots in order.refused.items() if shape not in gang.shapes}
        again = grow(msgspec.structs.replace(order, refused=refused))
        if not again.cut_short and not incomplete(all_gangs, again.queue.lots(), refused):
            tried, order = again, msgspec.structs.replace(order, refused=refused)
    return tried


def with_room(grow: Grow, order: Order) -> Grown:
    """Grow, then keep room free, and say why pods are left."""
    return _with_room(grow(order), with_requests=True)


def _with_room(tried: Grown, *, with_requests: bool) -> Grown:
    draft = tried.draft
    requests = keep_requests(draft) if with_requests and draft.requests else KeptRequests()
    kept, for_buffers = keep_buffers(draft)
    for_headroom = tried.for_headroom | requests.grown | for_buffers | keep_headroom(draft) | make_room_before_ends(draft)
    explain_rest(draft, tried.queue)
    cancel_requests(draft)
    return msgspec.structs.replace(tried, for_headroom=for_headroom, kept=kept, requests=requests)


def as_promised(grow: Grow, order: Order) -> Grown:
    """Grow. If that adds nodes again for pods that wait for a node added before, grow with these on it. That counts if it adds
    fewer nodes, or as many for others alone."""
    tried = grow(order)
    if not promised_again(tried.draft, tried.queue.lots()):
        return tried
    for keeping in (Keeping.FIRST_FIT, Keeping.EMPTIEST):
        kept = grow(msgspec.structs.replace(order, keeping=keeping))
        if kept.cut_short:
            break
        again = promised_again(kept.draft, kept.queue.lots())
        # If nothing is added for such pods, others that are left have to wait, as they had to when the nodes were added. As many
        # nodes as before may be added for others.
        saved, none_left = tried.draft.added - kept.draft.added, _unplaced(kept) <= _unplaced(tried)
        if (saved > 0 and (not again or none_left)) or (saved == 0 and not again and none_left):
            tried = kept
        if not again:
            break
    return tried


def _unplaced(tried: Grown) -> int:
    return sum(len(lot.pods) for lot in tried.queue.lots() if lot.served.outcome is PodOutcome.UNPLACEABLE)
