"""What the live loop has done and seen, counted: the one place that metrics, readiness and the status page read."""

import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec

from reconciler.control.turn.loop import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.situation.lead_times import LearnedLeadTime, learned
from reconciler.plan.decided import Decision, Fate
from reconciler.plan.plan import ActionKind, Plan
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.rendering.printers.html.recent import MOST as MOST_SAMPLES
from reconciler.rendering.printers.html.recent import STEP_SECONDS, Sample

# The last decisions of this process and what became of them: written turn by turn, kept in memory alone.

MOST = 500
"""Actions that are remembered. One plan may have more; the page folds what is alike and shows twenty."""
_FATES = {
    ResultState.DONE: Fate.DONE,
    ResultState.SKIPPED: Fate.SKIPPED,
    ResultState.REFUSED: Fate.REFUSED,
    ResultState.FAILED: Fate.FAILED,
}
_GROWS = (ActionKind.RESIZE, ActionKind.REPLACE)
_FOLLOWS_WITHIN_SECONDS = 60
"""A view shows what was written by then."""


class History:
    """Oldest first. An action that is decided again with the same end is counted, not shown twice. Growth is under way until its
    nodes are there, a removal until its node is gone or stays."""

    def __init__(self) -> None:
        self._kept: deque[Decision] = deque(maxlen=MOST)
        self._turned = 0

    def entries(self) -> tuple[Decision, ...]:
        """All that are kept."""
        return tuple(self._kept)

    def turned(self, report: LoopReport) -> None:
        """One turn ended."""
        for progress in report.removals:
            self._removal(progress, report.at_seconds)
        if report.plan is None:
            return
        self._grown(report.plan, report.at_seconds)
        standing = {_key(entry): at for at, entry in enumerate(self._kept) if entry.last_seconds == self._turned}
        fresh = []
        for made in (_decision(result, report) for result in report.results):
            at = standing.get(_key(made))
            if at is None or made.fate is Fate.UNDER_WAY:
                fresh.append(made)
            else:
                known = self._kept[at]
                self._kept[at] = msgspec.structs.replace(
                    known, last_seconds=made.at_seconds, times=known.times + 1, words=made.words,
                    retry_seconds=made.retry_seconds,
                )  # fmt: skip
        self._kept.extend(fresh)  # last: where it is full, positions move
        self._turned = report.at_seconds

    def _under_way(self) -> Iterator[tuple[int, Decision]]:
        yield from [(at, entry) for at, entry in enumerate(self._kept) if entry.fate is Fate.UNDER_WAY]

    def _removal(self, progress: RemovalProgress, at_seconds: int) -> None:
        if progress.state is RemovalState.DRAINING:
            fate, words = Fate.UNDER_WAY, progress.message or "being drained"
        elif progress.state is RemovalState.FINISHED:
            fate, words = Fate.DONE, "drained, and its machine is being deleted"
        else:
            fate, words = Fate.FAILED, f"stays: {progress.message}"
        for at, entry in self._under_way():
            if entry.kind is ActionKind.REMOVE_NODE and progress.node in entry.nodes:
                since = entry.fate_seconds if fate is entry.fate else at_seconds
                self._kept[at] = msgspec.structs.replace(
                    entry, fate=fate, words=words, code=progress.code, fate_seconds=since, last_seconds=at_seconds
                )
                return
        if fate is not Fate.UNDER_WAY:
            self._kept.append(
                Decision(
                    at_seconds=at_seconds, kind=ActionKind.REMOVE_NODE, group="", target=str(progress.target),
                    from_=progress.replicas + (fate is Fate.DONE), to=progress.replicas, nodes=(progress.node,),
                    reason="begun by an earlier leader", fate=fate, code=progress.code, words=words, fate_seconds=at_seconds,
                    last_seconds=at_seconds,
                )
            )  # fmt: skip

    def _grown(self, plan: Plan, at_seconds: int) -> None:
        """Growth is judged by what the plan sees: nodes of the group, and the size of its target."""
        for at, entry in self._under_way():
            if entry.kind not in _GROWS:
                continue
            line = next((line for line in plan.groups if line.target == entry.target), None)
            there = sum(1 for node in plan.nodes if line is not None and node.group == line.name)
            missing = entry.to - there
            if line is None:
                fate, words = Fate.DONE, "the group is not decided any more"
            elif missing <= 0:
                fate, words = Fate.DONE, "all of them have joined"
            elif line.current < entry.to and at_seconds - entry.at_seconds > _FOLLOWS_WITHIN_SECONDS:
                fate, words = Fate.FAILED, f"{line.current} replicas are asked for now, {there} are nodes"
            else:
                fate, words = Fate.UNDER_WAY, f"{missing} of them still to join"
            since = entry.fate_seconds if fate is entry.fate else at_seconds
            self._kept[at] = msgspec.structs.replace(entry, fate=fate, words=words, fate_seconds=since)


def _decision(result: ActionResult, report: LoopReport) -> Decision:
    action, at_seconds = result.action, report.at_seconds
    fate = _FATES[result.state]
    words = result.message
    if fate is Fate.DONE and action.to > action.from_ and action.kind in _GROWS:
        fate, words = Fate.UNDER_WAY, words or f"{action.to - action.from_} of them still to join"
    elif fate is Fate.DONE and action.kind is ActionKind.REMOVE_NODE:
        fate, words = Fate.UNDER_WAY, words or "being drained"
    return Decision(
        at_seconds=at_seconds, kind=action.kind, group=action.group, target=action.target, from_=action.from_, to=action.to,
        nodes=action.nodes, machines=action.machines, reason_code=action.reason.code, reason=action.reason.message, fate=fate,
        code=result.code, words=words, fate_seconds=at_seconds, last_seconds=at_seconds,
        retry_seconds=report.retry_seconds(action),
    )  # fmt: skip


def _key(entry: Decision) -> tuple[object, ...]:
    return entry.kind, entry.target, entry.from_, entry.to, entry.nodes, entry.machines, entry.fate, entry.code


# The last six hours, step by step: written turn by turn, kept in memory alone.


class Recent:
    """One sample per step, the highest of each figure, at most `MOST` of them."""

    def __init__(self) -> None:
        self._kept: deque[Sample] = deque(maxlen=MOST_SAMPLES)

    def entries(self) -> tuple[Sample, ...]:
        """All that are kept, oldest first."""
        return tuple(self._kept)

    def decided(self, plan: Plan, at_seconds: int) -> None:
        """One plan was decided."""
        cost = plan.cost.current_per_hour
        made = Sample(
            at_seconds=at_seconds // STEP_SECONDS * STEP_SECONDS,
            nodes=sum(group.current for group in plan.groups),
            pending=len(plan.pods),
            cost_micros=None if cost is None else int(Decimal(cost) * 1_000_000),
        )
        if self._kept and self._kept[-1].at_seconds == made.at_seconds:
            made = _highest(self._kept.pop(), made)
        self._kept.append(made)


def _highest(one: Sample, other: Sample) -> Sample:
    costs = [sample.cost_micros for sample in (one, other) if sample.cost_micros is not None]
    return Sample(
        at_seconds=one.at_seconds,
        nodes=max(one.nodes, other.nodes),
        pending=max(one.pending, other.pending),
        cost_micros=max(costs, default=None),
    )


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The state after the last iteration. Times are Unix seconds, 0: never. `plan` is the last one that was decided, whenever
    that was. `unavailable` states why the last iteration decided nothing, `policy_awaited` which first policy is not there yet.
    `decisions` are the last ones of this process, oldest first, `samples` its last six hours. `held_since` says, by target, since
    when it has seen a group held. `lead_times` are those that were learned, by group. `policy_waits` says for which wave of a
    fleet a newer policy waits."""

    plan: Plan | None = None
    plan_seconds: int = 0
    turned_seconds: int = 0
    unavailable: str = ""
    leader: bool = False
    view_age_seconds: float = 0.0
    policy_revision: str = ""
    policy_problem: str = ""
    policy_awaited: str = ""
    policy_waits: str = ""
    turns: tuple[tuple[str, int], ...] = ()
    actions: tuple[tuple[str, str, int], ...] = ()
    added_nodes: int = 0
    removed_nodes: int = 0
    failed_removals: int = 0
    failed_pages: tuple[tuple[str, int], ...] = ()
    turn_seconds_sum: float = 0.0
    turn_seconds: tuple[tuple[float, int], ...] = ()
    decisions: tuple[Decision, ...] = ()
    samples: tuple[Sample, ...] = ()
    held_since: Mapping[str, int] = {}
    lead_times: tuple[tuple[str, LearnedLeadTime], ...] = ()


def _lead_times(plan: Plan, decided: Decided) -> tuple[tuple[str, LearnedLeadTime], ...]:
    known = ((line.name, learned(decided.memory.lead_times.get(line.target))) for line in plan.groups)
    return tuple((name, times) for name, times in known if times is not None)


BUCKETS_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Figures:
    """Written by the loop's thread, read by those of the HTTP server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = Seen()
        self._turns: Counter[str] = Counter()
        self._actions: Counter[tuple[str, str]] = Counter()
        self._durations: Counter[float] = Counter()
        self._failed_pages: Counter[str] = Counter()
        self._history = History()
        self._recent = Recent()

    def seen(self) -> Seen:
        """The state now: one value, never half of a turn."""
        with self._lock:
            return self._seen

    def leads(self, *, leader: bool) -> None:
        """Whether this process may write."""
        with self._lock:
            held = self._seen.held_since if leader else {}
            self._seen = msgspec.structs.replace(self._seen, leader=leader, held_since=held)

    def policy(self, revision: str, problem: str = "", *, awaited: str = "", waits: str = "") -> None:
        """The revision in force, and what is wrong with a newer one. `awaited`: none ever was, and nothing is wrong but that.
        `waits`: other clusters of the fleet take the newer one first."""
        with self._lock:
            self._seen = msgspec.structs.replace(
                self._seen,
                policy_revision=revision,
                policy_problem="" if awaited else problem,
                policy_awaited=awaited,
                policy_waits=waits,
            )

    def page_failed(self, path: str) -> None:
        """A page of this path could not be made."""
        with self._lock:
            self._failed_pages[path] += 1
            self._seen = msgspec.structs.replace(self._seen, failed_pages=tuple(sorted(self._failed_pages.items())))

    def turned(self, report: LoopReport, took_seconds: float, view_age_seconds: float) -> None:
        """One turn ended."""
        with self._lock:
            before = self._seen
            self._turns["Unavailable" if report.unavailable else "Decided"] += 1
            for bound in BUCKETS_SECONDS:
                self._durations[bound] += took_seconds <= bound
            added = 0
            for result in report.results:
                word = str(result.state) if not result.code else f"{result.state}/{result.code}"
                self._actions[str(result.action.kind), word] += 1
                if result.state is ResultState.DONE and result.action.kind is ActionKind.RESIZE:
                    added += max(0, result.action.to - result.action.from_)
            self._history.turned(report)
            held = before.held_since
            if report.plan is not None:
                self._recent.decided(report.plan, report.at_seconds)
                held = {line.target: held.get(line.target, report.at_seconds) for line in report.plan.groups if line.held}
            times = (
                before.lead_times if report.plan is None or report.decided is None else _lead_times(report.plan, report.decided)
            )
            ended = Counter(removal.state for removal in report.removals)
            self._seen = msgspec.structs.replace(
                before,
                plan=report.plan or before.plan,
                lead_times=times,
                plan_seconds=report.at_seconds if report.plan is not None else before.plan_seconds,
                turned_seconds=report.at_seconds,
                unavailable=report.unavailable,
                view_age_seconds=view_age_seconds,
                turns=tuple(sorted(self._turns.items())),
                actions=tuple(sorted((kind, word, count) for (kind, word), count in self._actions.items())),
                added_nodes=before.added_nodes + added,
                removed_nodes=before.removed_nodes + ended[RemovalState.FINISHED],
                failed_removals=before.failed_removals + ended[RemovalState.FAILED],
                turn_seconds_sum=before.turn_seconds_sum + took_seconds,
                turn_seconds=tuple((bound, self._durations[bound]) for bound in BUCKETS_SECONDS),
                decisions=self._history.entries(),
                samples=self._recent.entries(),
                held_since=held,
            )
