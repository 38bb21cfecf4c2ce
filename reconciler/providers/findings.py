"""Findings about a live cluster before the loop starts."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    """Pass: as it should be. Warn: it runs, but something is not as desired. Fail: it does not run."""

    PASS = "Pass"  # noqa: S105 - not a password
    WARN = "Warn"
    FAIL = "Fail"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check: a stable code, the finding, and what to do about it (empty: nothing)."""

    code: str
    state: State
    message: str
    advice: str = ""
