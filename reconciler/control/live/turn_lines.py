"""Log lines for the actions of one iteration. Equal actions of one group are one line with all names."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from reconciler.control.log import Field, LogLevel
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.reasons.pods import Arriving
from reconciler.plan.one_write import DEFERRED
from reconciler.plan.plan import ActionKind
from reconciler.providers.contract import RemovalProgress, RemovalState, WriteCode
from reconciler.rendering.words.failed_writes import aftermath
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.values.plural import count_text
from reconciler.values.two_sentences import two_sentences

SECONDS = re.compile(r"\b[0-9]+ s\b")
"""How long something has lasted or will last, in a message: that it continues is not news."""
_IN_THE_PLAN = ("Observe", "Held", DEFERRED, Arriving.code)
_T = TypeVar("_T")


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line, but for its time."""

    level: LogLevel
    code: str
    message: str
    fields: dict[str, Field]


def action_code(kind: ActionKind, state: ResultState) -> str:
    """The code of the line for an action: the action itself where it was done, `ResizeRefused` and the like where it was not."""
    return str(kind) if state is ResultState.DONE else f"{kind}{state}"


def result_lines(report: LoopReport, period_seconds: int = 10) -> Iterator[LogLine]:
    """Actions that were tried, then removals that ended. The plan reports what was not tried because of the plan. For a refused
    or failed action, the line says what the loop does next; it decides again every `period_seconds`. A platform that is not
    available reports by itself when it is asked again."""
    tried = [r for r in report.results if not (r.state is ResultState.SKIPPED and r.code in _IN_THE_PLAN)]
    for results in _lots(tried, lambda one: (one.action.kind, one.action.target, one.state, one.code, one.action.reason.code)):
        yield _action(results, report, period_seconds)
    ended = [progress for progress in report.removals if progress.state is not RemovalState.DRAINING]
    for removals in _lots(ended, lambda one: (one.target, one.state, one.code)):
        yield _removal(removals, period_seconds)


class NewLines:
    """Lines without those that say again what the turn before said: that targets do not answer, or that a cloud throttles. What
    waits for one cause is one line, however many targets it is."""

    def __init__(self) -> None:
        self._before: frozenset[tuple[str, str]] = frozenset()

    def of(self, lines: Sequence[LogLine]) -> list[LogLine]:
        """Those of one turn that are to be written."""
        waiting: dict[tuple[str, str], list[LogLine]] = {}
        for line in lines:
            if _waits(line):
                waiting.setdefault((line.code, _cause(line)), []).append(line)
        new_lines = [line for line in lines if not _waits(line)]
        new_lines += [_waiting(alike) for cause, alike in waiting.items() if cause not in self._before]
        self._before = frozenset(waiting)
        return new_lines


def _waits(line: LogLine) -> bool:
    return line.fields.get("resultCode") == WriteCode.UNAVAILABLE


def _cause(line: LogLine) -> str:
    """What a line says but for the name of its target and for how long it is still to be waited."""
    return SECONDS.sub("", line.message.removeprefix(str(line.fields["target"])))


def _waiting(lines: Sequence[LogLine]) -> LogLine:
    """One line for targets that wait for the same; the first one's words and fields stand for all."""
    first = lines[0]
    if len(lines) == 1:
        return first
    targets = tuple(str(line.fields["target"]) for line in lines)
    message = f"{count_text(len(lines), 'target')} wait, for example: {first.message}"
    return msgspec.structs.replace(first, message=message, fields={**first.fields, "targets": targets})


def _lots(entries: Iterable[_T], key: Callable[[_T], Hashable]) -> Iterable[Sequence[_T]]:
    lots: dict[Hashable, list[_T]] = {}
    for entry in entries:
        lots.setdefault(key(entry), []).append(entry)
    return lots.values()


def _action(results: Sequence[ActionResult], report: LoopReport, period_seconds: int) -> LogLine:
    first = results[0]
    action = first.action
    nodes = tuple(name for one in results for name in one.action.nodes)
    level = LogLevel.INFO if first.state in (ResultState.DONE, ResultState.SKIPPED) else LogLevel.WARNING
    fields: dict[str, Field] = {
        "group": action.group,
        "target": action.target,
        "result": str(first.state),
        "resultCode": first.code,
        "reason": action.reason.code,
        "fromReplicas": max(one.action.from_ for one in results) if nodes else action.from_,
        "toReplicas": min(one.action.to for one in results) if nodes else action.to,
        "nodes": nodes,
    }
    message = _one([one.message or one.action.reason.message for one in results], nodes)
    if level is LogLevel.WARNING and first.code != WriteCode.UNAVAILABLE:
        message = two_sentences(message, aftermath(action.kind, first.code, period_seconds, report.retry_seconds(action)).loop)
    return LogLine(level=level, code=action_code(action.kind, first.state), message=message, fields=fields)


def _removal(removals: Sequence[RemovalProgress], period_seconds: int) -> LogLine:
    first = removals[0]
    nodes = tuple(one.node for one in removals)
    level = LogLevel.INFO if first.state is RemovalState.FINISHED else LogLevel.WARNING
    fields: dict[str, Field] = {
        "target": "" if first.target is None else str(first.target),
        "nodes": nodes,
        "resultCode": first.code,
    }
    message = _one([one.message or _finished(one) for one in removals], nodes)
    if level is LogLevel.WARNING:
        message = two_sentences(message, aftermath(ActionKind.REMOVE_NODE, first.code, period_seconds).loop)
    return LogLine(level=level, code=f"Removal{first.state}", message=message, fields=fields)


def _finished(removal: RemovalProgress) -> str:
    """What is known then: finalizers may keep the Machine, and the Node with it, for minutes more."""
    return f"the machine of {removal.node} is being deleted, and {removal.target} does not count it any more"


def _one(messages: Sequence[str], nodes: Sequence[str]) -> str:
    if len(messages) == 1:
        return messages[0]
    sentence = one_sentence(messages, nodes if len(nodes) == len(messages) else ()) or f"for example {messages[0]}"
    return f"{count_text(len(messages), 'node')}: {sentence}"
