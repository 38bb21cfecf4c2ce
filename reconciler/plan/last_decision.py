"""When a loop last decided, told on its Lease with each renewal: not deciding must not look like having nothing to do."""

from collections.abc import Mapping

import msgspec

from reconciler.values.decoding import decode
from reconciler.values.instant import UnixSeconds, instant_text

ANNOTATION = "reconciler.dev/last-decision"
LATE_SECONDS = 60
"""So long after its period a loop may be late: a large plan, or a server that restarts."""
_LONGEST_WHY = 500


class LastDecision(msgspec.Struct, frozen=True, kw_only=True):
    """All times are by the clock of the instance that runs the loop. `at` is the last decision (0: none that is known), and
    `began` is when it was first told that there is none. `told` is when this was written. `period` is how often the loop decides
    at least. `why` is what it waits for (empty: nothing). `away`: the API server of the cluster does not answer."""

    told: UnixSeconds
    at: UnixSeconds = 0
    began: UnixSeconds = 0
    period: UnixSeconds = 0
    why: str = ""
    away: bool = False

    @property
    def since(self) -> str:
        """Since when nothing was decided, where that is too long ago; else empty."""
        last = self.at or self.began
        return instant_text(last) if last and self.told - last > self.period + LATE_SECONDS else ""

    def sentence(self) -> str:
        """What is wrong if nothing was decided for too long; else empty."""
        if not self.since:
            return ""
        since = f"not decided since {self.since}" if self.at else f"never decided, and not since {self.since}"
        head = f"does not answer, {since}" if self.away else since
        return f"{head}: {self.why}" if self.why else head


def last_decision(annotations: Mapping[str, str]) -> LastDecision | None:
    """What a Lease says; None: nothing, or nothing that can be read."""
    try:
        return decode(annotations.get(ANNOTATION, "").encode(), LastDecision)
    except msgspec.MsgspecError:
        return None


def told(
    before: LastDecision | None, *, now_seconds: int, at_seconds: int, period_seconds: float, why: str, away: bool
) -> Mapping[str, str]:
    """The annotation for a renewal now. `before` is that of the last one, of whichever instance: its decisions count as well."""
    at, began = at_seconds, now_seconds
    if before is not None:
        # Another clock may have been ahead.
        at, began = max(at, min(before.at, now_seconds)), min(before.began or now_seconds, now_seconds)
    record = LastDecision(
        told=now_seconds, at=at, began=0 if at else began, period=round(period_seconds), why=why[:_LONGEST_WHY], away=away
    )
    return {ANNOTATION: msgspec.json.encode(record).decode()}
