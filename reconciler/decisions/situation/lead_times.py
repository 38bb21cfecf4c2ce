"""How long the nodes of a group take: what is kept of its requests, what follows from them, and when they are given up.

A lead time lasts from the request for a node until pods can use the node. Then the node has joined, is Ready, and has no startup
taint left. Every number here is an integer and depends on the requests alone, so the same history gives the same bytes.
"""

from collections.abc import Sequence

import msgspec

from reconciler.decisions.memory import LeadTime, LeadTimes
from reconciler.decisions.reasons.machines import lead_time_words
from reconciler.decisions.situation.changed_lead_times import since_change
from reconciler.values.duration import duration_text

KEPT_REQUESTS = 60
"""Of each group. Of 59 requests, the slowest is above the 95th percentile with 95 % confidence (0.95^59 < 0.05). Fewer say little
of that percentile, and more are older."""
EXPECTS_FROM = 5
"""With fewer requests, no instant is given by which a node is expected."""
DECIDES_FROM = 20
"""With fewer requests, the policy's own value decides what is overdue. The next of 21 is the slowest once in 21 times, so less
than one in 20 exceeds the slowest of 20 at all."""
LEAST_OVERDUE_SECONDS = 300
"""No request is overdue before this because of what was learned. A failure keeps a group from growing for five minutes (the
built-in back-off), so giving up earlier than that gains nothing."""


class LearnedLeadTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the last `requests` requests of a group say. `late` of them took longer than they may, or failed. A percentile is the
    nearest rank, in seconds, where all that are late come last; it is null if a late one has that rank."""

    requests: int
    late: int
    median_seconds: int | None
    p95_seconds: int | None

    def sentence(self) -> str:
        """Both percentiles, and of how many requests they are."""
        return lead_time_words(self.requests, self.late, self.median_seconds, self.p95_seconds)


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """A new node is expected `within_seconds` of its request, as `came` of `requests` earlier ones did."""

    within_seconds: int
    came: int
    requests: int


def learned(times: LeadTimes | None) -> LearnedLeadTime | None:
    """What the kept requests say; None without any."""
    if times is None or not times.requests:
        return None
    took = sorted(one.usable_seconds for one in times.requests if one.usable_seconds > 0)
    count = len(times.requests)
    return LearnedLeadTime(
        requests=count,
        late=count - len(took),
        median_seconds=_ranked(took, count, 50),
        p95_seconds=_ranked(took, count, 95),
    )


def expectation(times: LeadTimes | None) -> Expectation | None:
    """The 95th percentile; where that is not known, the slowest that came in time. None with too few requests, or if none did."""
    if times is None or len(times.requests) < EXPECTS_FROM:
        return None
    took = sorted(one.usable_seconds for one in times.requests if one.usable_seconds > 0)
    if not took:
        return None
    within = _ranked(took, len(times.requests), 95) or took[-1]
    return Expectation(within_seconds=within, came=sum(one <= within for one in took), requests=len(times.requests))


def overdue_after_seconds(times: LeadTimes | None, most_seconds: int) -> int:
    """How old a request without a node is when it counts as failed; never more than `most_seconds` (`maxNodeProvisionTime`).

    That is 1.5 times as long as the slowest in time took to join, but no less than `LEAST_OVERDUE_SECONDS`. It is `most_seconds`
    with fewer than `DECIDES_FROM` requests, and if more than one in 20 did not join in time.
    """
    if times is None or len(times.requests) < DECIDES_FROM:
        return most_seconds
    joined = sorted(one.joined_seconds for one in times.requests if one.joined_seconds > 0)
    if _ranked(joined, len(times.requests), 95) is None:
        return most_seconds
    return min(most_seconds, max(LEAST_OVERDUE_SECONDS, (joined[-1] * 3 + 1) // 2))


def patience_text(times: LeadTimes | None, most_seconds: int) -> str:
    """How long a request may take, and where that comes from if it is learned."""
    after = overdue_after_seconds(times, most_seconds)
    if times is None or after == most_seconds:
        return duration_text(most_seconds)
    return f"{duration_text(after)}, learned from {len(times.requests)} requests. The policy allows {duration_text(most_seconds)}"


def _ranked(took: Sequence[int], count: int, percent: int) -> int | None:
    """The nearest rank among `count` requests, of which those in `took` (ascending) came in time."""
    rank = -(-count * percent // 100)
    return took[rank - 1] if rank <= len(took) else None


def with_requests(times: LeadTimes, ended: Sequence[LeadTime]) -> LeadTimes:
    """The same with requests that have ended since, one after the other. What was before a lasting change is given up."""
    kept = times.requests
    for one in ended:
        kept = tuple(since_change((*kept, one)[-KEPT_REQUESTS:]))
    return msgspec.structs.replace(times, requests=kept)
