"""The lines of a plan about ProvisioningRequests, and what is remembered of them."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.cluster.workloads.provisioning_request import REQUEST
from reconciler.cluster.world import RequestPods
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.provisioning import RequestOutcome
from reconciler.decisions.provisioning import BOOKING_SECONDS, booking_key, not_answered, valid_until_seconds
from reconciler.decisions.reasons.provisioning import (
    RequestAnswered,
    RequestArrived,
    RequestBooked,
    RequestRefused,
    RequestTooOld,
)
from reconciler.plan.plan import PlanProblem, PodOutcome, RequestLine, RequestState
from reconciler.plan.reason import Because
from reconciler.values.instant import instant_text


def request_lines(draft: Draft, outcomes: Sequence[RequestOutcome]) -> tuple[RequestLine, ...] | msgspec.UnsetType:
    """What becomes of every ProvisioningRequest that wants something, by name; unset if the policy reads none."""
    if not draft.policy.requests_from.reads_requests:
        return msgspec.UNSET
    by_key = {one.key: one for one in outcomes}
    requests = (one for one in draft.world.provisioning_requests if not one.over)
    return tuple(line for one in requests if (line := _line(draft, one, by_key.get(one.key))) is not None)


def _line(draft: Draft, request: RequestPods, outcome: RequestOutcome | None) -> RequestLine | None:
    if (why := not_answered(request, draft.policy)) is not None:
        state, ends = RequestState.IGNORED, valid_until_seconds(request)
        if isinstance(why, RequestRefused) and ends <= draft.now_seconds:
            state, why = RequestState.FAILED, RequestTooOld(until=instant_text(ends))
        return RequestLine(request=request.key, class_name=request.class_name, state=state, reasons=(why.reason(),))
    if outcome is None:
        return None
    asked, until = outcome.asked, _until(draft, outcome)
    fits, upcoming, requested = rooms(outcome.served)
    state, because = _state(outcome, None if until is None else RequestBooked(until=instant_text(until)))
    first = (because.reason(),) if because is not None else ()
    arrived = (RequestArrived(pods=asked.came).reason(),) if asked.came and outcome.ended is None else ()
    return RequestLine(
        request=request.key,
        class_name=request.class_name,
        state=state,
        pods=request.count,
        came=asked.came,
        fits=fits,
        upcoming=upcoming,
        requested=requested,
        until=None if until is None else instant_text(until),
        reasons=(*first, *arrived, *outcome.reasons),
    )


def rooms(served: Mapping[PodOutcome, int]) -> tuple[int, int, int]:
    """How many pods find room on nodes that are there, on upcoming nodes, and on nodes that this plan requests."""
    there, upcoming, requested = PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP
    return served.get(there, 0), served.get(upcoming, 0), served.get(requested, 0)


def _state(outcome: RequestOutcome, booked: Because | None) -> tuple[RequestState, Because | None]:
    if outcome.ended is not None:
        return RequestState.EXPIRED, outcome.ended
    if outcome.failed is not None:
        return RequestState.FAILED, outcome.failed
    if outcome.there:
        return RequestState.PROVISIONED, booked
    return (RequestState.WAITING if outcome.served else RequestState.SHORT), None


def _until(draft: Draft, outcome: RequestOutcome) -> int | None:
    """Until when the room of a request is kept; None if it is not there. A booking that ended untold begins again."""
    until = outcome.asked.until_seconds
    if outcome.ended is not None:
        return until
    if not outcome.there:
        return None
    latest = draft.now_seconds + BOOKING_SECONDS
    return min(until, latest) if until is not None and until > draft.now_seconds else latest


def bookings(draft: Draft, outcomes: Sequence[RequestOutcome]) -> Mapping[str, int]:
    """What to remember: until when the room of each request is kept."""
    ends = {booking_key(one.asked.request): _until(draft, one) for one in outcomes}
    return {key: until for key, until in sorted(ends.items()) if until is not None}


def request_problems(draft: Draft) -> Iterator[PlanProblem]:
    """Requests that wait for nobody here, and why."""
    for request in draft.world.provisioning_requests:
        why = None if request.over else not_answered(request, draft.policy)
        if why is not None and not isinstance(why, RequestAnswered):
            yield PlanProblem(code=why.code, object=f"{REQUEST} {request.key}", message=why.sentence())
