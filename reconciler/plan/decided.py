"""An action of a plan and its outcome."""

from enum import StrEnum

import msgspec

from reconciler.plan.plan import ActionKind


class Fate(StrEnum):
    """Done: complete. UnderWay: written, but nodes have yet to join or leave. Skipped: not tried. Refused: tried and refused,
    which is not a failure. Failed: tried, and something broke."""

    DONE = "Done"
    UNDER_WAY = "UnderWay"
    SKIPPED = "Skipped"
    REFUSED = "Refused"
    FAILED = "Failed"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One action as it was first decided at `at_seconds`; the same was decided `times` times in a row, last at `last_seconds`.
    `reason` is why, with its code. `words` describes the outcome since `fate_seconds`; it is empty if `fate` says everything.
    The action is not tried again until `retry_seconds`; 0 means that nothing delays it."""

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
