"""Room for the pods of ProvisioningRequests: for all pods of one at once, or no node is added for any of them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from zlib import crc32

import msgspec

from reconciler.cluster.world import PodsOfSet
from reconciler.decisions.demand.gangs import WITH_PLACE
from reconciler.decisions.demand.pending import Demand, Queue, Served, never_placed, rejections, serving_order
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.buffers import busy_nodes, fill_busy
from reconciler.decisions.growth.cost.rearrange import Growth
from reconciler.decisions.growth.scale_up import explain_rest, fill_existing, grow_for
from reconciler.decisions.provisioning import Asked, ended, valid_until_seconds
from reconciler.decisions.reasons.pods import GroupRejects, NoGroupFits, ResourceNotOffered
from reconciler.decisions.reasons.provisioning import (
    GrownForRequest,
    RequestFits,
    RequestFitsNoGroup,
    RequestGrows,
    RequestNoRoom,
    RequestNotRepeated,
    RequestNotTried,
    RequestShort,
    RequestTooOld,
    RequestUpcoming,
)
from reconciler.decisions.reasons.sizes import PendingPods
from reconciler.plan.plan import PodOutcome
from reconciler.plan.reason import Because, Reason
from reconciler.values.instant import instant_text

OLDEST_TRIED, TRIED_IN_TURN = 4, 4
"""If no node helps so many of the oldest requests, growth is tried for only so many others in one plan. The time of the plan says
for which, so that all have their turn."""


class RequestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan means for one request. `served` are its pods by outcome. `ended` says why its room is not kept any longer,
    `failed` why it is given up for good."""

    asked: Asked
    served: Mapping[PodOutcome, int] = {}
    reasons: tuple[Reason, ...] = ()
    ended: Because | None = None
    failed: Because | None = None

    @property
    def key(self) -> str:
        """Namespace and name of the request."""
        return self.asked.request.key

    @property
    def there(self) -> bool:
        """Whether all pods that do not exist yet would run now."""
        return self.ended is None and self.failed is None and self.served.get(PodOutcome.FITS_EXISTING, 0) == self.asked.pods


class KeptRequests(msgspec.Struct, frozen=True):
    """The outcomes of all requests, and the names of the groups that grow for them."""

    outcomes: tuple[RequestOutcome, ...] = ()
    grown: frozenset[str] = frozenset()


class _Tries:
    """How requests of one plan fared. `grown` are the groups that grow for them, `vain` counts requests that no growth helped.

    `busy` are the nodes that stay anyway, the fullest first. `lost`: what became of the pods of requests that no growth helped.
    Both hold until one gets room. Equal requests would fare the same.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._turn: frozenset[str] | None = None
        self.grown: set[str] = set()
        self.vain = 0
        self.got_room()

    def got_room(self) -> None:
        """A request got room, so that what was found before does not hold any more."""
        self.busy = busy_nodes(self._draft)
        self.lost: dict[tuple[PodsOfSet, ...], Queue] = {}

    def open(self, asked: Asked) -> bool:
        """Whether groups may grow for the request."""
        if self.vain < OLDEST_TRIED:
            return True
        if self._turn is None:
            self._turn = self._in_turn(asked)
        return asked.request.key in self._turn

    def _in_turn(self, first: Asked) -> frozenset[str]:
        requests = self._draft.requests
        rest = [one.request.key for one in requests[requests.index(first) :] if one.grows]
        start = crc32(str(self._draft.now_seconds).encode()) % len(rest)
        return frozenset((*rest[start:], *rest[:start])[:TRIED_IN_TURN])


def keep_requests(draft: Draft) -> KeptRequests:
    """Bind placeholders for the pods of each request where there is room. Grow groups for the others if that completes it, and if
    its class allows it. Protect the nodes that carry them.

    Runs after all pending pods have their places, so no request takes the room of a pod that is there. A request that does not
    come out whole leaves no trace in the draft.
    """
    draft.share_among({one.request.namespace for one in draft.requests})
    tries = _Tries(draft)
    outcomes = tuple([_keep(draft, asked, tries) for asked in draft.requests])
    return KeptRequests(outcomes, frozenset(tries.grown))


def _keep(draft: Draft, asked: Asked, tries: _Tries) -> RequestOutcome:
    if (over := ended(asked, draft.now_seconds)) is not None:
        return RequestOutcome(asked=asked, ended=over)
    if asked.grows and (lost := tries.lost.get(asked.left)) is not None:
        return _without_room(draft, asked, lost)
    queue = _queue(draft, asked)
    for shape, count in queue.waiting():
        if (apart := never_placed(draft.state, draft.policy.pods, shape)) is not None:
            queue.take(shape, count, Served(outcome=apart[0], reasons=(apart[1],)))
    if queue.served:
        return _without_room(draft, asked, queue)
    mark = draft.state.mark()
    fill_busy(draft, queue, tries.busy)
    fill_existing(draft, queue)
    late = valid_until_seconds(asked.request) <= draft.now_seconds
    if (late and _later(queue)) or (queue.waiting() and not asked.grows):
        outcome = _without_room(draft, asked, queue)
        draft.state.undo(mark)
        return outcome
    if queue.waiting():
        if not tries.open(asked):
            outcome = _without_room(draft, asked, queue, not_tried=tries.vain)
            draft.state.undo(mark)
            return outcome
        growth, before = Growth(draft), [(group.desired, len(group.reasons)) for group in draft.groups]
        grow_for(draft, queue)
        explain_rest(draft, queue)
        if any(entry.outcome not in WITH_PLACE for entry in queue.served.values()):
            growth.take_back()
            for group, (_, told) in zip(draft.groups, before, strict=True):
                del group.reasons[told:]
            draft.state.undo(mark)
            tries.vain += 1
            tries.lost[asked.left] = queue
            return _without_room(draft, asked, queue)
        _tell_groups(draft, asked, queue, before, tries.grown)
    _protect(draft, asked, queue)
    tries.got_room()
    return RequestOutcome(asked=asked, served=_counts(queue), reasons=_reasons(queue))


def _later(queue: Queue) -> bool:
    """Whether some pod would not run now."""
    return bool(queue.waiting()) or any(entry.outcome is not PodOutcome.FITS_EXISTING for entry in queue.served.values())


def _queue(draft: Draft, asked: Asked) -> Queue:
    """Placeholders for the pods of a request that do not exist yet, as pods that wait."""
    numbers: dict[int, list[int]] = defaultdict(list)
    first = 0
    for one in asked.left:
        numbers[one.shape].extend(range(first, first + one.count))
        first += one.count
    return Queue(tuple(Demand(shape=shape, pods=tuple(numbers[shape])) for shape in serving_order(draft.world, numbers)))


def _counts(queue: Queue) -> Counter[PodOutcome]:
    return Counter(entry.outcome for entry in queue.served.values())


def _reasons(queue: Queue) -> tuple[Reason, ...]:
    counts = _counts(queue)
    groups: dict[PodOutcome, list[str]] = defaultdict(list)
    for _, entry in sorted(queue.served.items()):
        if entry.group and entry.group not in groups[entry.outcome]:
            groups[entry.outcome].append(entry.group)
    reasons: list[Reason] = []
    if pods := counts[PodOutcome.FITS_EXISTING]:
        reasons.append(RequestFits(pods=pods).reason())
    if pods := counts[PodOutcome.FITS_UPCOMING]:
        reasons.append(RequestUpcoming(pods=pods, groups=tuple(groups[PodOutcome.FITS_UPCOMING])).reason())
    if pods := counts[PodOutcome.TRIGGERS_SCALE_UP]:
        reasons.append(RequestGrows(pods=pods, groups=tuple(groups[PodOutcome.TRIGGERS_SCALE_UP])).reason())
    return tuple(reasons)


def _without_room(draft: Draft, asked: Asked, queue: Queue, not_tried: int = 0) -> RequestOutcome:
    """Not all pods of a request get room, so none does. `not_tried`: so many others were given up, and it was not tried."""
    counts, pods = _counts(queue), asked.pods
    placed = sum(counts[outcome] for outcome in WITH_PLACE)
    # Pods that were refused together share one entry.
    entries = {id(entry): entry for _, entry in sorted(queue.served.items())}
    lost = [entry for entry in entries.values() if entry.outcome not in WITH_PLACE]
    details = [reason for entry in lost for reason in entry.reasons]
    if asked.grows:
        first: Because = RequestNotTried(others=not_tried) if not_tried else RequestShort(pods=pods, placed=placed)
    else:
        shape = next((shape for shape, _ in queue.waiting()), None)
        nodes = range(len(draft.world.nodes))
        looked = shape is not None and draft.shares.spend(shape, draft.namespace(shape), len(nodes))
        why = rejections(draft, shape, nodes) if shape is not None and looked else ()
        first = RequestNoRoom(pods=pods, placed=placed, rejections=why)
    return RequestOutcome(asked=asked, reasons=(first.reason(), *details), failed=_failed(draft, asked, lost))


def _failed(draft: Draft, asked: Asked, lost: Sequence[Served]) -> Because | None:
    """Why the request is given up for good; None while it waits."""
    if (until := valid_until_seconds(asked.request)) <= draft.now_seconds:
        return RequestTooOld(until=instant_text(until))
    if not asked.grows and not asked.request.retries:
        return RequestNotRepeated()
    if draft.groups and not draft.world.not_captured and any(map(_fits_no_group, lost)):
        return RequestFitsNoGroup(groups=len(draft.groups))
    return None


def _fits_no_group(entry: Served) -> bool:
    """Whether a new node of every group is known, and none would run the pod."""
    first, *others = entry.reasons or (None,)
    if first is None or first.code != NoGroupFits.code:
        return False
    return all(reason.code in (GroupRejects.code, ResourceNotOffered.code) for reason in others)


def _tell_groups(draft: Draft, asked: Asked, queue: Queue, before: Sequence[tuple[int, int]], grown: set[str]) -> None:
    """Groups that grew say for which request, in place of pending pods."""
    for group, (size, told) in zip(draft.groups, before, strict=True):
        if group.desired == size:
            continue
        name = group.group.name
        grown.add(name)
        new = PodOutcome.TRIGGERS_SCALE_UP
        pods = sum(entry.outcome is new and entry.group == name for entry in queue.served.values())
        because = GrownForRequest(request=asked.request.key, pods=pods, nodes=group.desired - size)
        others = [reason for reason in group.reasons[told:] if reason.code != PendingPods.code]
        group.reasons[told:] = [because.reason(), *others]


def _protect(draft: Draft, asked: Asked, queue: Queue) -> None:
    places = {node.name: index for index, node in enumerate(draft.world.nodes)}
    for entry in queue.served.values():
        if entry.outcome is PodOutcome.FITS_EXISTING and entry.node in places:
            draft.protected.add(places[entry.node])
            draft.booked_for.setdefault(places[entry.node], asked.request.key)
