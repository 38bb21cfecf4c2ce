"""Why a source has no usable policy: a stable code, a sentence, and what to do."""

from enum import StrEnum

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.values.two_sentences import two_sentences


class FaultCode(StrEnum):
    """Stable: conditions, events, metrics and scripts name them.

    The first group is about reaching the source: nothing is known about newer policy. The second is about the fetched content:
    it is known and refused. The third is about other clusters of a fleet: content may be good, but is not taken yet.
    """

    UNREACHABLE = "SourceUnreachable"
    TIMED_OUT = "SourceTimedOut"
    TOO_LARGE = "SourceTooLarge"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    REF_NOT_FOUND = "RefNotFound"
    DAMAGED = "SourceDamaged"
    NOT_SAVED = "LastGoodNotSaved"

    UNSIGNED = "CommitUnsigned"
    SIGNATURE_REFUSED = "SignatureRefused"
    NOT_FAST_FORWARD = "NotFastForward"
    PATH_NOT_FOUND = "PathNotFound"
    INVALID_POLICY = "InvalidPolicy"
    TOO_COSTLY = "PolicyTooCostly"
    NO_POLICY = "NoPolicy"
    NO_GROUPS = "NoGroups"

    WAITS_FOR_WAVE = "WaitsForWave"
    ROLLOUT_STOPPED = "RolloutStopped"


GETTING = frozenset(
    {
        FaultCode.UNREACHABLE, FaultCode.TIMED_OUT, FaultCode.TOO_LARGE, FaultCode.AUTHENTICATION_FAILED,
        FaultCode.REF_NOT_FOUND, FaultCode.DAMAGED, FaultCode.NOT_SAVED,
    }
)  # fmt: skip
"""Faults that may end by themselves, so that another attempt may help."""

AWAITED = frozenset({FaultCode.REF_NOT_FOUND, FaultCode.PATH_NOT_FOUND, FaultCode.NO_POLICY, FaultCode.WAITS_FOR_WAVE})
"""Faults of a source that was reached and holds no policy yet. A loop that never had one waits for it, and is ready."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """`revision` is the refused one, empty if none was fetched. `problems` are those of an invalid policy, with places relative
    to the top of the source."""

    code: FaultCode
    message: str
    hint: str = ""
    revision: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def place(self) -> Place | None:
        """The place of the first problem."""
        return self.problems[0].place if self.problems else None

    @property
    def sentence(self) -> str:
        """One line with everything: `clusters/prod/a.yaml:4:3: unknown key … (and 2 more)`."""
        sentence = self.message
        if self.problems:
            first, more = self.problems[0], len(self.problems) - 1
            sentence = f"{sentence}: {first.place}: {first.message}" + (f" (and {more} more)" if more else "")
        return two_sentences(sentence, self.hint)


class SourceError(Exception):
    """A fetch without a usable result; `fault` states why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


def failed(code: FaultCode, message: str, hint: str = "", revision: str = "") -> SourceError:
    """The error of a fault without problems."""
    return SourceError(Fault(code=code, message=message, hint=hint, revision=revision))
