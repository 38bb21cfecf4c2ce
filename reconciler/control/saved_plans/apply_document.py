"""The printed document of a plan that was carried out."""

import msgspec

from reconciler.control.saved_plans.apply import Applied
from reconciler.control.turn.turn_report import ActionResult, ResultState
from reconciler.plan.plan import Action, Plan
from reconciler.plan.saved_intersection import Refusal, action_key
from reconciler.rendering.documents.apply import AppliedAction, ApplyDocument, WhyNot
from reconciler.values.instant import instant_text


def apply_document(saved: Plan, applied: Applied, now_seconds: int, happened: tuple[str, ...] = ()) -> ApplyDocument:
    """Every action of the saved plan in its order; one that nothing is known of was not reached."""
    results = {action_key(result.action): result for result in applied.results}
    refusals = {action_key(refusal.action): refusal for refusal in applied.refusals}
    actions = []
    for action in saved.actions:
        key = action_key(action)
        if key in results:
            actions.append(msgspec.structs.replace(_result(action, results[key]), later=key in applied.later))
        elif key in refusals:
            actions.append(_refusal(action, refusals[key]))
        else:
            why = WhyNot(code="NotReached", message="it was not reached")
            actions.append(_entry(action, action, ResultState.SKIPPED.value, (why,)))
    return ApplyDocument(
        plan=saved.digest,
        decision=applied.fresh.digest if applied.fresh is not None else "",
        planned_at=saved.now,
        now=instant_text(now_seconds),
        cluster=saved.cluster,
        policy=saved.policy,
        complete=applied.complete,
        actions=tuple(actions),
        happened=happened,
        unavailable=applied.unavailable,
    )


def _result(planned: Action, result: ActionResult) -> AppliedAction:
    done = result.state is ResultState.DONE
    reasons = () if done else (WhyNot(code=result.code or result.state.value, message=result.message),)
    return _entry(planned, result.action, result.state.value, reasons)


def _refusal(planned: Action, refusal: Refusal) -> AppliedAction:
    reasons = tuple(WhyNot(code=reason.code, message=reason.message) for reason in refusal.reasons)
    return _entry(planned, refusal.action, ResultState.REFUSED.value, reasons)


def _entry(planned: Action, action: Action, state: str, reasons: tuple[WhyNot, ...]) -> AppliedAction:
    return AppliedAction(
        kind=action.kind.value,
        group=action.group,
        target=action.target,
        from_=action.from_,
        to=action.to,
        planned_to=planned.to,
        nodes=action.nodes,
        machines=action.machines,
        state=state,
        reasons=reasons,
    )
