"""The printed document of a simulated run."""

from reconciler.control.simulated_run import SimulatedRun, Turn
from reconciler.control.turn.turn_report import ActionResult
from reconciler.rendering.documents.simulated_run import BrokenRule, RunAction, RunDocument, RunTurn
from reconciler.simulation.embedded.journal import Happened
from reconciler.values.instant import instant_text

_SHOWN_EVENTS = (
    Happened.SCENARIO,
    Happened.DEMAND_CHANGED,
    Happened.MACHINE_FAILED,
    Happened.REMOVAL_FAILED,
    Happened.WRITE_REFUSED,
)


def run_turn(turn: Turn, start_seconds: int) -> RunTurn | None:
    """The turn as a value to print; None when there is nothing to say. `at_seconds` counts from the start."""
    sentences = tuple(_sentence(event.kind, event.object, event.detail) for event in turn.events if event.kind in _SHOWN_EVENTS)
    joined = tuple(event.object for event in turn.events if event.kind is Happened.NODE_JOINED)
    gone = tuple(event.object for event in turn.events if event.kind is Happened.NODE_GONE)
    report = turn.report
    if not (report.results or sentences or joined or gone or report.unavailable or turn.violations):
        return None
    return RunTurn(
        at=instant_text(turn.at_seconds),
        at_seconds=turn.at_seconds - start_seconds,
        summary=report.plan.summary if report.plan is not None else "",
        actions=tuple(_action(result) for result in report.results),
        told=sentences,
        joined=joined,
        gone=gone,
        unavailable=report.unavailable,
        violations=tuple(f"{violation.rule} {violation.object}: {violation.message}" for violation in turn.violations),
    )


def run_document(run: SimulatedRun, name: str, turns: list[RunTurn], decisions: int) -> RunDocument:
    """The document of a run that has come to its end."""
    return RunDocument(
        scenario=name,
        turns=tuple(turns),
        decisions=decisions,
        actions=sum(1 for turn in turns for action in turn.actions if action.state == "Done"),
        summary=run.summary(),
        violations=tuple(
            BrokenRule(
                at=instant_text(broken.at_seconds),
                at_seconds=broken.at_seconds - run.start_seconds,
                rule=broken.rule,
                object=broken.object,
                message=broken.message,
            )
            for broken in run.rules.violations
        ),
        unmet=run.unmet(),
    )


def _action(result: ActionResult) -> RunAction:
    action = result.action
    return RunAction(
        kind=action.kind.value,
        group=action.group,
        from_=action.from_,
        to=action.to,
        nodes=action.nodes,
        reason=action.reason.code,
        message=action.reason.message,
        state=result.state.value,
        code=result.code,
        explanation=result.message,
    )


def _sentence(kind: Happened, subject: str, detail: str) -> str:
    match kind:
        case Happened.MACHINE_FAILED:
            return f"machine {subject} failed: {detail}"
        case Happened.REMOVAL_FAILED:
            return f"the removal of node {subject} was given up: {detail}"
        case Happened.WRITE_REFUSED:
            return f"a write to {subject} was refused: {detail}"
        case _:
            return detail
