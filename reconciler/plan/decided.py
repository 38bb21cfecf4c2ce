"""An action of some plan and what became of it."""

from enum import StrEnum

import msgspec

from reconciler.plan.plan import ActionKind


class Fate(StrEnum):
    """Done: nothing more is to come of it. UnderWay: written, and nodes are still to come or to go. Skipped: not tried. Refused:
    tried and refused, which is no fault. Failed: tried, and something broke."""

    DONE = "Done"
    UNDER_WAY = "UnderWay"
    SKIPPED = "Skipped"
    REFUSED = "Refused"
    FAILED = "Failed"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One action as it was first decided at `at_seconds`; the same was decided `times` times in a row, last at `last_seconds`.
    `reason` is why, by code and sentence; `words` is what became of it since `fate_seconds`, empty where `fate` says it all.
    Until `retry_seconds` it is not tried again; 0: nothing keeps it from being tried."""

    at_seconds: int
    kind: ActionKind
    group: str
    target: str
    from_: int
    to: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    reason_code: str = ""
    reason: str = ""
    fate: Fate
    code: str = ""
    words: str = ""
    fate_seconds: int
    last_seconds: int
    times: int = 1
    retry_seconds: int = 0
