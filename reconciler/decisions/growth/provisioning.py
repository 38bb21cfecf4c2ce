"""Room for the pods of ProvisioningRequests: for all pods of one at once, or no node is added for any of them."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from zlib import crc32

import msgspec

from reconciler.cluster.world import PodsOfSet
from reconciler.decisions.demand.pending import never_placed
from reconciler.decisions.demand.queue import Queue, Served
from reconciler.decisions.demand.rejections import rejections
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.buffers import busy_nodes, fill_busy
from reconciler.decisions.growth.cost.tier_growth import Growth
from reconciler.decisions.growth.placeholders import Placeholders
from reconciler.decisions.growth.scale_up import explain_rest, fill_existing, grow_for
from reconciler.decisions.provisioning import Allowance, Asked, ended, valid_until_seconds
from reconciler.decisions.reasons.pods import GroupRejects, NoGroupFits, ResourceNotOffered
from reconciler.decisions.reasons.provisioning import (
    GrownForRequest,
    RequestFits,
    RequestFitsNoGroup,
    RequestGrows,
    RequestLimited,
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
from reconciler.scheduling.filters import NOT_MODELLED
from reconciler.scheduling.predicates.dynamic_resources import PLUGIN as DYNAMIC_RESOURCES
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


class _Short(msgspec.Struct, frozen=True):
    """How many pods have room on nodes that are there or on their way. `why` these do not take the first of the others (None:
    nobody asked)."""

    placed: int
    why: tuple[str, ...] | None


class _Tries:
    """How requests of one plan fared. `grown` are the groups that grow for them, `vain` counts requests that no growth helped.

    `busy` are the nodes that stay anyway, the fullest first. `short`: of which requests the nodes that are there or on their way
    do not take all pods. `lost`: what became of the pods of requests that no growth helped. All three hold until one gets room.
    Equal requests would fare the same.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._turn: frozenset[str] | None = None
        self.grown: set[str] = set()
        self.vain = 0
        self.got_room()

    def got_room(self) -> None:
        """A request got room, so that what was found before does not hold any more."""
        self._busy: array[int] | None = None
        self.short: dict[tuple[PodsOfSet, ...], _Short] = {}
        self.lost: dict[tuple[PodsOfSet, ...], Placeholders] = {}

    @property
    def busy(self) -> "array[int]":
        """Nodes that stay anyway, the fullest first."""
        if self._busy is None:
            self._busy = busy_nodes(self._draft)
        return self._busy

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
    allowance = Allowance(draft.world.pod_shapes, draft.requests)
    outcomes = tuple([_within(draft, asked, tries, allowance) for asked in draft.requests])
    return KeptRequests(outcomes, frozenset(tries.grown))


def _within(draft: Draft, asked: Asked, tries: _Tries, allowance: Allowance) -> RequestOutcome:
    limit = allowance.take(asked) if ended(asked, draft.now_seconds) is None else ""
    if not limit:
        return _keep(draft, asked, tries)
    because = RequestLimited(pods=asked.pods, limit=limit)
    return RequestOutcome(asked=asked, reasons=(because.reason(),), failed=_failed(draft, asked, ()))


def _keep(draft: Draft, asked: Asked, tries: _Tries) -> RequestOutcome:
    if (over := ended(asked, draft.now_seconds)) is not None:
        return RequestOutcome(asked=asked, ended=over)
    if asked.grows and (lost := tries.lost.get(asked.left)) is not None:
        return _grown_in_vain(draft, asked, lost)
    late = valid_until_seconds(asked.request) <= draft.now_seconds
    if (short := tries.short.get(asked.left)) is not None and (
        refused := _refused(draft, asked, tries, short, late=late)
    ) is not None:
        return refused
    queue = Placeholders(draft.world, asked.left)
    for shape, count in queue.waiting():
        if (apart := never_placed(draft.state, draft.policy.pods, shape)) is not None:
            queue.take(shape, count, Served(outcome=apart[0], reasons=(apart[1],)))
    if queue.lost:
        return _without_room(draft, asked, _Short(0, None if asked.grows else _why(draft, queue)), queue.lost)
    mark = draft.state.mark()
    fill_busy(draft, queue, tries.busy)
    fill_existing(draft, queue)
    if queue.waiting():
        short = tries.short[asked.left] = _Short(queue.placed, None if asked.grows else _why(draft, queue))
        if (refused := _refused(draft, asked, tries, short, late=late)) is not None:
            draft.state.undo(mark)
            return refused
        growth, before = Growth(draft), [(group.desired, len(group.reasons)) for group in draft.groups]
        grow_for(draft, queue)
        explain_rest(draft, queue)
        if queue.lost:
            growth.take_back()
            for group, (_, told) in zip(draft.groups, before, strict=True):
                del group.reasons[told:]
            draft.state.undo(mark)
            tries.vain += 1
            tries.lost[asked.left] = queue
            return _grown_in_vain(draft, asked, queue)
        _tell_groups(draft, asked, queue, before, tries.grown)
    elif late and any(lot.served.outcome is not PodOutcome.FITS_EXISTING for lot in queue.lots()):
        draft.state.undo(mark)
        return _without_room(draft, asked, _Short(queue.placed, None if asked.grows else ()))
    _protect(draft, asked, queue)
    tries.got_room()
    return RequestOutcome(asked=asked, served=_counts(queue), reasons=_reasons(queue))


def _refused(draft: Draft, asked: Asked, tries: _Tries, short: _Short, *, late: bool) -> RequestOutcome | None:
    """The outcome of a request that the nodes do not take whole. None if groups may grow for it. None also if it only checks and
    nobody has asked yet why it does not fit."""
    if not asked.grows:
        return None if short.why is None else _without_room(draft, asked, short)
    if late:
        return _without_room(draft, asked, short)
    return None if tries.open(asked) else _without_room(draft, asked, short, not_tried=tries.vain)


def _why(draft: Draft, queue: Queue) -> tuple[str, ...]:
    """Why the nodes that are there do not take the first pod that waits."""
    nodes = range(len(draft.world.nodes))
    for shape, _ in queue.waiting()[:1]:
        if draft.shares.spend(shape, draft.namespace(shape), len(nodes)):
            return rejections(draft, shape, nodes)
    return ()


def _counts(queue: Queue) -> Counter[PodOutcome]:
    counts = Counter[PodOutcome]()
    for lot in queue.lots():
        counts[lot.served.outcome] += len(lot.pods)
    return counts


def _reasons(queue: Queue) -> tuple[Reason, ...]:
    counts = _counts(queue)
    groups: dict[PodOutcome, list[str]] = defaultdict(list)
    for entry in (lot.served for lot in sorted(queue.lots(), key=lambda lot: lot.pods[0])):
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


def _grown_in_vain(draft: Draft, asked: Asked, queue: Placeholders) -> RequestOutcome:
    return _without_room(draft, asked, _Short(queue.placed, None), queue.lost)


def _without_room(
    draft: Draft, asked: Asked, short: _Short, lost: Sequence[Served] = (), *, not_tried: int = 0
) -> RequestOutcome:
    """Not all pods of a request get room, so none does. `lost`: what became of the others. `not_tried`: so many other requests
    were given up, and growth was not tried for this one."""
    pods = asked.pods
    first: Because
    if not asked.grows:
        first = RequestNoRoom(pods=pods, placed=short.placed, rejections=short.why or ())
    elif not_tried:
        first = RequestNotTried(others=not_tried)
    else:
        first = RequestShort(pods=pods, placed=short.placed)
    details = [reason for entry in lost for reason in entry.reasons]
    return RequestOutcome(asked=asked, reasons=(first.reason(), *details), failed=_failed(draft, asked, lost))


def _failed(draft: Draft, asked: Asked, lost: Sequence[Served]) -> Because | None:
    """Why the request is given up for good; None while it waits."""
    if (until := valid_until_seconds(asked.request)) <= draft.now_seconds:
        return RequestTooOld(until=instant_text(until))
    if not asked.grows and not asked.request.retries:
        return RequestNotRepeated()
    if draft.groups and not draft.world.not_captured and any(_fits_no_group(draft, entry) for entry in lost):
        return RequestFitsNoGroup(groups=len(draft.groups))
    return None


def _fits_no_group(draft: Draft, entry: Served) -> bool:
    """Whether a new node of every group is known, and none would run the pod."""
    first, *others = entry.reasons or (None,)
    if first is None or first.code != NoGroupFits.code:
        return False
    declared = frozenset(group.group.name for group in draft.groups if group.group.devices_declared)
    return all(_is_certain(draft, declared, reason) for reason in others)


def _is_certain(draft: Draft, declared: frozenset[str], reason: Reason) -> bool:
    """Whether it says that no new node of a group runs the pod. What is not modelled might run it. So might devices that the
    policy does not declare: nodes that are there may lack slices for a while, or hide devices in use."""
    if reason.code == ResourceNotOffered.code:
        return not draft.state.is_served(str(reason.data["resource"])) or len(declared) == len(draft.groups)
    if reason.code != GroupRejects.code:
        return False
    plugins = reason.data["plugins"]
    rejecting = frozenset(plugins) if isinstance(plugins, tuple) else frozenset()
    if not rejecting or NOT_MODELLED in rejecting:
        return False
    return rejecting != {DYNAMIC_RESOURCES} or reason.data["group"] in declared


def _tell_groups(draft: Draft, asked: Asked, queue: Queue, before: Sequence[tuple[int, int]], grown: set[str]) -> None:
    """Groups that grew say for which request, in place of pending pods."""
    for group, (size, told) in zip(draft.groups, before, strict=True):
        if group.desired == size:
            continue
        name = group.group.name
        grown.add(name)
        new = PodOutcome.TRIGGERS_SCALE_UP
        pods = sum(len(lot.pods) for lot in queue.lots() if lot.served.outcome is new and lot.served.group == name)
        because = GrownForRequest(request=asked.request.key, pods=pods, nodes=group.desired - size)
        others = [reason for reason in group.reasons[told:] if reason.code != PendingPods.code]
        group.reasons[told:] = [because.reason(), *others]


def _protect(draft: Draft, asked: Asked, queue: Queue) -> None:
    places = {node.name: index for index, node in enumerate(draft.world.nodes)}
    for entry in (lot.served for lot in queue.lots()):
        if entry.outcome is PodOutcome.FITS_EXISTING and entry.node in places:
            draft.protected.add(places[entry.node])
            draft.booked_for.setdefault(places[entry.node], asked.request.key)
