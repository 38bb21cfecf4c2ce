"""Two plans whose settled columns end before a steady state: the preview says so, even if both say the same."""

import msgspec

from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import SETTLING_CUT_SHORT, Plan, PlanProblem
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.printers.html.preview import preview_html
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.printers.text.preview import preview_text

CUT = PlanProblem(code=SETTLING_CUT_SHORT, message="steady state not reached after 400 plans")


def _cut(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, problems=(CUT,))


def _preview(before: Plan, after: Plan) -> Preview:
    side = PreviewSide(source="x")
    return Preview(base=side, head=side, plan=after, comparison=compare_plans(before, after))


def test_a_plan_does_not_call_it_a_steady_state(mixed_plan: Plan):
    assert "steady state after 5 iterations" in plan_text(mixed_plan)
    text = plan_text(_cut(mixed_plan))
    assert "no steady state after 5 iterations" in text
    assert "In steady state" not in text
    assert CUT.message in text


def test_a_preview_says_it_of_both_sides(mixed_plan: Plan):
    plan = _cut(mixed_plan)
    shown = _preview(plan, plan)
    for text in (preview_text(shown), preview_html(shown)):
        assert CUT.message in text
        assert "Both sides are steady states" not in text
    assert "NewProblems" in [one.code for one in consequences(shown)]


def test_a_steady_state_has_no_such_problem(mixed_plan: Plan):
    plan = msgspec.structs.replace(mixed_plan, problems=())
    fewer = msgspec.structs.replace(plan, groups=plan.groups[1:])
    assert "cut short before its steady state" not in preview_text(_preview(plan, fewer))
