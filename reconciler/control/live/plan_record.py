"""The last plan, kept with the memory of the loop: it describes groups to those who do not ask the loop itself."""

from contextlib import suppress

import msgspec

from reconciler.control.live.live_memory_store import State
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.plan.approvals.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.plan import BufferLine, GroupLine, Plan, RequestLine
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, instant_text, parse_instant

PART = "plan"
MOST_ASKING = 100
"""Of more objects of a kind that ask for room, these are kept: a state object is small."""


class GroupRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group as the plan has it, with reasons where it is held or waits for an approval; `held_since`: empty unless held."""

    line: GroupLine
    held_since: str = ""


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A plan without pods and nodes. `at` is when its groups were first decided so, not when that was last confirmed. Of buffers
    and ProvisioningRequests there are at most `MOST_ASKING`."""

    at: str
    mode: str
    summary: str
    digest: str
    groups: tuple[GroupRecord, ...] = ()
    buffers: tuple[BufferLine, ...] = ()
    provisioning_requests: tuple[RequestLine, ...] = ()


class PlanRecorder:
    """Written best effort, by the leader, and only when it says something new: another turn tells it again."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._written: PlanRecord | None = None

    def turned(self, report: LoopReport) -> None:
        """Keep the plan of a turn. Never raises for what a server does."""
        if report.plan is None:
            return
        try:
            before = self._written or plan_in(self._state)
            record = _record(report.plan, before, instant_text(report.at_seconds))
            if before is not None and _essence(record) == _essence(before):
                self._written = before
                return
            # The version that is written under is that of the last read.
            self._state.load(PART)
            self._state.save(PART, msgspec.json.encode(record))
        except (StateUnavailableError, NotLeaderError):
            self._written = None
            return
        self._written = record

    def held_since(self) -> dict[str, int]:
        """Since when targets are held, as far as it was kept; Unix seconds."""
        instants = {}
        for group in self._written.groups if self._written is not None else ():
            with suppress(InstantError):  # empty where it is not held
                instants[group.line.target] = parse_instant(group.held_since)
        return instants

    def began(self) -> None:
        """Another instance may have written."""
        self._written = None


def plan_in(state: State) -> PlanRecord | None:
    """What was last kept; None when nothing was, or nothing that can be read. Raises `StateUnavailableError`."""
    content = state.load(PART)
    if content is None:
        return None
    try:
        return decode(content, PlanRecord)
    except msgspec.MsgspecError:
        return None


def _record(plan: Plan, before: PlanRecord | None, at: str) -> PlanRecord:
    since = {group.line.target: group.held_since for group in before.groups} if before is not None else {}
    groups = []
    for line in plan.groups:
        waits = tuple(reason for reason in line.reasons if reason.code == WAITS_FOR_APPROVAL)
        kept = line if line.held else msgspec.structs.replace(line, reasons=waits)
        groups.append(GroupRecord(line=kept, held_since=(since.get(line.target) or at) if line.held else ""))
    return PlanRecord(
        at=at,
        mode=plan.mode,
        summary=plan.summary,
        digest=plan.digest,
        groups=tuple(groups),
        buffers=plan.buffer_lines[:MOST_ASKING],
        provisioning_requests=plan.request_lines[:MOST_ASKING],
    )


def _essence(record: PlanRecord) -> object:
    """Without the instant, the digest and the numbers of reasons: those change while nothing else does."""
    lines = (msgspec.structs.replace(group.line, reasons=()) for group in record.groups)
    asking = (msgspec.structs.replace(line, reasons=()) for line in (*record.buffers, *record.provisioning_requests))
    return record.mode, record.summary, tuple(lines), tuple(asking)
