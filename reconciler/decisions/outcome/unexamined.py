"""What was not examined, because the work budget ran out."""

from collections.abc import Iterator, Mapping

from reconciler.decisions.draft import Draft
from reconciler.decisions.work_shares import Shares
from reconciler.plan.plan import PlanProblem
from reconciler.values.plural import count_text


def unexamined(draft: Draft) -> Iterator[PlanProblem]:
    """The whole plan, and namespaces whose pods used more than their share of the work."""
    if draft.work.exhausted:
        message = (
            f"the work budget of {draft.work.budget} steps ran out{_most(draft.shares.spent)}. Reasons name the parts left out"
        )
        yield PlanProblem(code="WorkBudgetExhausted", message=message)
    for namespace in draft.shares.over | draft.shares.delayed.keys():
        yield PlanProblem(code="NamespaceDelayed", object=f"Namespace {namespace}", message=_delayed(draft.shares, namespace))


def _most(spent: Mapping[str, int]) -> str:
    """Whose pods took most of the steps."""
    if not spent:
        return ""
    steps, namespace = max((steps, namespace) for namespace, steps in spent.items())
    return f", {steps} of them for pods of namespace {namespace}"


def _delayed(shares: Shares, namespace: str) -> str:
    pods = shares.delayed.get(namespace, 0)
    waiting = f"{count_text(pods, 'pod')} of it were" if pods else "nodes that its pods run on were"
    return (
        f"its pods used {shares.spent.get(namespace, 0)} steps, more than its share of the work of a plan ({shares.each} and "
        f"the rest that nobody else needs). {waiting[:1].upper()}{waiting[1:]} not examined. Those of other namespaces were"
    )
