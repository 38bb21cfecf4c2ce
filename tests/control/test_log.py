"""The log: JSON for machines, text for people, folded in both."""

import io
import json

import pytest

from reconciler.control.live.turn_lines import action_code, result_lines
from reconciler.control.log import Field, Log, LogForm, LogLevel
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.plan import Action, ActionKind, Bound
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import machine_deployment

BOUND = Bound(resource_version="1", replicas=9, owner_digest="", policy_digest="")
AT = 1795262400  # 2026-11-21T12:00:00Z


def removal(group: str, number: int, total: int) -> ActionResult:
    action = Action(
        kind=ActionKind.REMOVE_NODE, group=group, target=f"MachineDeployment prod/{group}", from_=total - number,
        to=total - number - 1, nodes=(f"{group}-{number}",), bound=BOUND,
        reason=Reason("Empty", f"{group}-{number} runs no pod that has to move", {}),
    )  # fmt: skip
    return ActionResult(action=action, state=ResultState.DONE)


def logged(report: LoopReport, form: LogForm = LogForm.JSON, least: LogLevel = LogLevel.INFO) -> list[str]:
    stream = io.StringIO()
    log = Log(stream, lambda: AT, form, least)
    for line in result_lines(report):
        log.line(line.level, line.code, line.message, line.fields)
    return stream.getvalue().splitlines()


def test_removals_of_one_group_and_reason_are_one_line():
    """436 of them in two groups: two lines, with every name in JSON and three of them in text."""
    results = [*(removal("a", number, 400) for number in range(400)), *(removal("b", number, 36) for number in range(36))]
    report = LoopReport(at_seconds=AT, results=tuple(results))
    first, second = (json.loads(line) for line in logged(report))
    assert (len(first["nodes"]), len(second["nodes"])) == (400, 36)
    assert (first["fromReplicas"], first["toReplicas"]) == (400, 0)
    text, _ = logged(report, LogForm.TEXT)
    assert text == (
        "2026-11-21T12:00:00Z info    RemoveNode a 400 -> 0: 400 nodes: each runs no pod that has to move "
        "(nodes a-0, a-1, a-2 and 397 more)"
    )


def test_removals_that_ended_are_folded_too():
    """By group and by what became of them; one alone says its own sentence."""
    target = machine_deployment("a")
    gone = tuple(RemovalProgress(target=target, node=f"a-{number}", state=RemovalState.FINISHED) for number in range(40))
    stays = RemovalProgress(target=target, node="a-99", state=RemovalState.FAILED, code="Blocked", message="a pod came")
    lines = [json.loads(line) for line in logged(LoopReport(at_seconds=AT, removals=(*gone, stays)))]
    assert [(line["code"], line["level"], len(line["nodes"])) for line in lines] == [
        ("RemovalFinished", "info", 40),
        ("RemovalFailed", "warning", 1),
    ]
    assert lines[1]["message"] == "a pod came. The node takes pods again. Its unneeded time starts again"


def test_lines_of_less_weight_are_left_out():
    """Info goes with `warning`, warnings go with `error`."""
    stays = RemovalProgress(target=machine_deployment("a"), node="n", state=RemovalState.FAILED, message="a pod came")
    report = LoopReport(at_seconds=AT, results=(removal("a", 0, 2),), removals=(stays,))
    assert [len(logged(report, least=least)) for least in LogLevel] == [2, 1, 0]


def test_text_of_others_steers_no_terminal():
    """An escape sequence in a message is written out, and a line end does not end the line."""
    stream = io.StringIO()
    Log(stream, lambda: AT, LogForm.TEXT).warning("Code", "one\ntwo \x1b[31m", path="::stop::", nodes=())
    assert stream.getvalue() == "2026-11-21T12:00:00Z warning Code: one two \\x1b[31m (path \\x3a:stop::)\n"


def _line(form: LogForm, level: LogLevel = LogLevel.INFO, least: LogLevel = LogLevel.INFO, **fields: Field) -> str:
    stream = io.StringIO()
    Log(stream, lambda: AT, form, least).line(level, "Code", "it was done", fields)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("fields", "head", "told"),
    [
        ({}, "", ""),
        ({"group": "a", "nodes": ()}, " a", ""),
        ({"group": "", "path": None, "count": 0}, "", " (count 0)"),
        ({"fromReplicas": 2, "toReplicas": 5}, " 2 -> 5", ""),
        ({"fromReplicas": 2, "toReplicas": 2}, "", ""),
        ({"nodes": ("n1", "n2", "n3")}, "", " (nodes n1, n2, n3)"),
        ({"nodes": ("n1", "n2", "n3", "n4", "n5")}, "", " (nodes n1, n2, n3 and 2 more)"),
        ({"group": "a", "target": "t", "fromReplicas": 2, "toReplicas": 5, "mode": "Enforce"}, " a 2 -> 5", " (mode Enforce)"),
        ({"resultCode": "Conflict", "reason": "Empty", "target": "t", "result": "Refused"}, " t", ""),
    ],
)
def test_a_line_for_people(fields: dict[str, Field], head: str, told: str):
    """Time, level, code, group or target, sizes, words; then what the words do not say, without what is empty."""
    assert _line(LogForm.TEXT, **fields) == f"2026-11-21T12:00:00Z info    Code{head}: it was done{told}\n"


def test_a_message_does_not_repeat_its_code():
    """A plan's summary begins with the word that is its code; for machines it stays as it is."""
    for form, told in ((LogForm.TEXT, "info    Plan: 1 group up."), (LogForm.JSON, '"message": "Plan: 1 group up."')):
        stream = io.StringIO()
        Log(stream, lambda: AT, form).info("Plan", "Plan: 1 group up.")
        assert told in stream.getvalue()


@pytest.mark.parametrize(
    ("state", "code", "settled", "told"),
    [
        (
            ResultState.REFUSED, "Conflict", Memory(),
            'warning ResizeRefused a 2 -> 5: conflict with "kubectl". Retry in 15 s. '
            "The group is held while that manager owns spec.replicas",
        ),
        (
            ResultState.FAILED, "Failed",
            Memory(backoffs={"a": BackoffState(failures=1, failed_seconds=AT, until_seconds=AT + 300)}),
            'warning ResizeFailed a 2 -> 5: conflict with "kubectl". The group backs off. Retry at 2026-11-21T12:05:00Z',
        ),
        (ResultState.SKIPPED, "Stale", Memory(), 'info    ResizeSkipped a 2 -> 5: conflict with "kubectl"'),
        (ResultState.DONE, "", Memory(), 'info    Resize a 2 -> 5: conflict with "kubectl"'),
    ],
)  # fmt: skip
def test_each_outcome_has_its_code_and_says_what_follows(state: ResultState, code: str, settled: Memory, told: str):
    """What became of what, why, and what the loop does next, in one line."""
    action = Action(
        kind=ActionKind.RESIZE, group="a", target="MachineDeployment prod/a", from_=2, to=5, bound=BOUND,
        reason=Reason("Why", "why"),
    )  # fmt: skip
    result = ActionResult(action=action, state=state, code=code, message='conflict with "kubectl"')
    (line,) = result_lines(LoopReport(at_seconds=AT, results=(result,), settled=settled), 15)
    stream = io.StringIO()
    Log(stream, lambda: AT, LogForm.TEXT).line(line.level, line.code, line.message, line.fields)
    assert stream.getvalue() == f"2026-11-21T12:00:00Z {told}\n"


def test_every_outcome_of_every_action_has_a_code_of_its_own():
    codes = [action_code(kind, state) for kind in ActionKind for state in ResultState]
    assert len(set(codes)) == len(codes) == 24


def test_a_line_for_machines():
    """All fields, whatever they hold."""
    found = json.loads(_line(LogForm.JSON, LogLevel.ERROR, fromReplicas=2, toReplicas=2, nodes=("n1",), path=None))
    assert found == {
        "time": "2026-11-21T12:00:00Z", "level": "error", "code": "Code", "message": "it was done", "fromReplicas": 2,
        "toReplicas": 2, "nodes": ["n1"], "path": None,
    }  # fmt: skip


def test_a_line_for_machines_is_plain_ascii():
    """Whatever it is read by takes it, and nothing in it is hidden."""
    line = _line(LogForm.JSON, LogLevel.ERROR, path="\u00fcber/\u202e.yaml")
    assert line.isascii()
    assert json.loads(line)["path"] == "\u00fcber/\u202e.yaml"


@pytest.mark.parametrize("least", list(LogLevel))
def test_lines_below_a_level_are_left_out(least: LogLevel):
    order = [LogLevel.INFO, LogLevel.WARNING, LogLevel.ERROR]
    written = [level for level in order if _line(LogForm.JSON, level, least)]
    assert written == order[order.index(least) :]
