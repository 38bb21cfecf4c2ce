"""The last decisions of this process and their results, in memory only."""

from collections import deque
from collections.abc import Iterator

import msgspec

from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.plan.decided import Decision, Fate
from reconciler.plan.plan import ActionKind, Plan
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.values.plural import count_text

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
                fate, words = Fate.FAILED, f"{count_text(line.current, 'desired replica')} now, and {count_text(there, 'node')}"
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
