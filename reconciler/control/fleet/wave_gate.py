"""The gate of one loop: it keeps what the loop decides by on its Lease, and takes a tree once earlier waves have proven it."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.gitops.sources.gated_source import tree_content
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.leading.lease import LeaderLease
from reconciler.plan.waves import ANNOTATION, Wait, WaveRecord, decided, health, wave_record

Closed = Callable[[str, bool], Wait | None]
"""Given the content of a tree, and whether a policy is in force: why the loop does not take it."""
_KEPT = 4


class Contents:
    """Names of trees by their revision, worked out once for all loops."""

    def __init__(self) -> None:
        self._known: tuple[tuple[Fetched, str], ...] = ()

    def of(self, fetched: Fetched) -> str:
        """See `tree_content`."""
        known = next((content for one, content in self._known if one is fetched), None)
        if known is None:
            known = tree_content(fetched)
            self._known = ((fetched, known), *self._known[: _KEPT - 1])
        return known


class WaveGate:
    """Of one loop, whose thread calls `turned`; the thread of its source calls `fault`. `lease` is that of the loop. `former` is
    what the loop of another policy left in this cluster."""

    def __init__(
        self, lease: LeaderLease, contents: Contents, closed: Closed, soak_seconds: int, former: WaveRecord | None = None
    ) -> None:
        self._lease = lease
        self._contents = contents
        self._closed = closed
        self._soak_seconds = soak_seconds
        self._record = wave_record(lease.annotations) or former
        self._read: Mapping[str, str] = {}
        self._wait: Wait | None = None

    def fault(self, fetched: Fetched, in_force: str | None) -> Fault | None:
        """A `Gate`."""
        content = self._contents.of(fetched)
        record = self._record
        # What is in force already, or says the same, needs no proof.
        taken = fetched.revision == in_force or (in_force is not None and record is not None and record.content == content)
        wait = None if taken else self._closed(content, in_force is not None)
        self._wait = wait
        if wait is None:
            self._read = {fetched.revision: content, **dict(list(self._read.items())[: _KEPT - 1])}
            return None
        code = FaultCode.ROLLOUT_STOPPED if wait.stopped else FaultCode.WAITS_FOR_WAVE
        return Fault(
            code=code,
            message=f"revision {fetched.revision[:12]} is not taken: {wait.why}",
            hint=wait.how,
            revision=fetched.revision,
        )

    def turned(self, report: LoopReport) -> None:
        """Keep what this turn was decided by, and how the cluster does."""
        if report.plan is None or report.decided is None:
            return
        policy, memory = report.decided.policy, report.settled or report.decided.memory
        revision, known = policy.revision or "", self._record
        content = self._read.get(revision, known.content if known is not None and known.revision == revision else "")
        record = decided(
            known, content=content, revision=revision, digest=policy.digest, found=health(report.plan, len(memory.backoffs)),
            at_seconds=report.at_seconds, soak_seconds=self._soak_seconds,
        )  # fmt: skip
        wait = self._wait
        if wait is not None:
            record = msgspec.structs.replace(record, waiting=wait.why, stopped=wait.stopped)
        self._record = record
        self._lease.annotate({ANNOTATION: msgspec.json.encode(record).decode()})
