"""Findings about a live cluster before the loop runs on it."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    """Pass: as it should be. Warn: it runs, and something is not as wanted. Fail: it does not run."""

    PASS = "Pass"  # noqa: S105 - no password
    WARN = "Warn"
    FAIL = "Fail"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: a stable code, what was found, and what to do about it (empty: nothing)."""

    code: str
    state: State
    message: str
    advice: str = ""
