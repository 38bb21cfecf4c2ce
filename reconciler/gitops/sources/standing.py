"""The state of a source, as values for conditions, events and counters.

SOURCE: kstatus (Ready, Stalled) and Flux's GitRepository: a failed fetch makes Ready False while the artifact stays.
"""

from collections.abc import Mapping

import msgspec

from reconciler.gitops.git.fault import GETTING, Fault, FaultCode
from reconciler.gitops.sources.acceptance import short_revision
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.words.plain import shortened

_MESSAGE_CHARACTERS = 1024
"""The longest text of an event and a condition (events.k8s.io: note, at most 1 KiB)."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; `status` is True or False as Kubernetes writes it."""

    type: str
    status: str
    reason: str
    message: str


class SourceEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A one-time event: `type` is Normal or Warning, `reason` a FaultCode, PolicyUpdated or SourceRecovered. `problems` has all
    those of a refused policy, for outputs with more room than a message."""

    type: str
    reason: str
    message: str
    problems: tuple[Problem, ...] = ()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`revision` is in force (empty: none is), `signer` signed it. `fault` is why nothing newer is (None: it is the newest).

    `since_seconds` is when that fault began. `success_seconds` is when a fetch last found the revision in force (0: never; both
    Unix time). `failures` counts consecutive failed fetches. Three counters only grow while the process runs: `fetches`,
    `updates`, and `faults` by code.
    """

    source: str
    revision: str = ""
    signer: str = ""
    fault: Fault | None = None
    since_seconds: int = 0
    success_seconds: int = 0
    failures: int = 0
    fetches: int = 0
    updates: int = 0
    faults: Mapping[str, int] = {}

    @property
    def getting_fails(self) -> bool:
        """The source cannot be reached; otherwise a fault is about its content."""
        return self.fault is not None and self.fault.code in GETTING

    def conditions(self) -> tuple[Condition, Condition]:
        """Ready and Stalled. Stalled: the content is refused, and only somebody who changes it can help."""
        if self.fault is None:
            message = f"{short_revision(self.revision)} of {self.source} is in force" if self.revision else "not read yet"
            ready = Condition(type="Ready", status=_written(self.revision != ""), reason="Current", message=message)
            return ready, Condition(type="Stalled", status="False", reason="Current", message=message)
        message = fault_words(self.fault, self.revision)
        reason = self.fault.code.value
        ready = Condition(type="Ready", status="False", reason=reason, message=message)
        stalled = not self.getting_fails and self.fault.code is not FaultCode.WAITS_FOR_WAVE
        return ready, Condition(type="Stalled", status=_written(stalled), reason=reason, message=message)


def succeeded(before: Standing, revision: str, signer: str, now_seconds: int) -> tuple[Standing, tuple[SourceEvent, ...]]:
    """The standing after a fetch whose tree is now in force, and its news."""
    events = []
    if revision != before.revision:
        by = f", signed by {signer}" if signer else ""
        was = f" instead of {short_revision(before.revision)}" if before.revision else ""
        message = f"{short_revision(revision)} of {before.source} is in force{was}{by}"
        events.append(SourceEvent(type="Normal", reason="PolicyUpdated", message=message))
    elif before.fault is not None:
        message = f"{before.source} is at {short_revision(revision)} again, which is in force"
        events.append(SourceEvent(type="Normal", reason="SourceRecovered", message=message))
    after = msgspec.structs.replace(
        before, revision=revision, signer=signer, fault=None, since_seconds=0, success_seconds=now_seconds, failures=0,
        fetches=before.fetches + 1, updates=before.updates + (revision != before.revision),
    )  # fmt: skip
    return after, tuple(events)


def refused(before: Standing, fault: Fault, now_seconds: int) -> tuple[Standing, tuple[SourceEvent, ...]]:
    """The standing after a fetch without a usable result, and its event: one per new fault, not one per fetch."""
    same = before.fault is not None and (before.fault.code, before.fault.revision) == (fault.code, fault.revision)
    counted = dict(before.faults) | {fault.code.value: before.faults.get(fault.code.value, 0) + 1}
    after = msgspec.structs.replace(
        before, fault=fault, since_seconds=before.since_seconds if same else now_seconds, faults=counted,
        failures=before.failures + 1 if fault.code in GETTING else 0, fetches=before.fetches + 1,
    )  # fmt: skip
    message = fault_words(fault, before.revision)
    return after, () if same else (
        SourceEvent(type="Warning", reason=fault.code.value, message=message, problems=fault.problems),
    )


def fault_words(fault: Fault, revision: str) -> str:
    """The fault, with file:line:column if there is one, and what the loop continues with."""
    kept = f"The policy of {short_revision(revision)} stays in force" if revision else "No policy is in force, so nothing is done"
    return f"{shortened(fault.sentence, _MESSAGE_CHARACTERS - len(kept) - 3)}. {kept}"


def _written(value: bool) -> str:  # noqa: FBT001 - a value to write, not a switch
    return "True" if value else "False"
