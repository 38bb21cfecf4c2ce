"""Two policies and their two plans side by side."""

import msgspec
import pytest

from reconciler.plan.comparison import PlanComparison, compare_plans
from reconciler.plan.plan import Cost, Plan, PlanProblem, PodLine, PodOutcome
from reconciler.policy.comparison import PolicyChange
from reconciler.policy.yaml_nodes import Place
from reconciler.rendering.markdown.preview import comparison_markdown
from reconciler.rendering.text.preview import comparison_text

PLACE = Place("big.yaml", 9, 14)
CHANGES = (
    PolicyChange(kind="NodeGroup", name="big", path="size.max", before="40", after="60", place_before=PLACE, place_after=PLACE),
    PolicyChange(kind="NodeGroup", name="fresh", after="fresh", place_after=Place("fresh.yaml", 1, 1)),
    PolicyChange(kind="NodeGroup", name="gone", before="gone", place_before=Place("gone.yaml", 1, 1)),
)


@pytest.fixture
def later_plan(mixed_plan: Plan) -> Plan:
    """The mixed plan as it would be with another policy."""
    held, grown, shrunk, quiet = mixed_plan.groups
    resize = mixed_plan.actions[0]
    pods = tuple(
        PodLine(pod=pod.pod, outcome=PodOutcome.TRIGGERS_SCALE_UP, group="general-a") if number < 3 else pod
        for number, pod in enumerate(mixed_plan.pods)
    )
    return msgspec.structs.replace(
        mixed_plan,
        summary="Plan: 1 group up (+6 nodes), 37 pods cannot be placed, 1 held; +$4.608/h.",
        groups=(
            held,
            msgspec.structs.replace(grown, desired=10, settled=9, max=60),
            msgspec.structs.replace(shrunk, desired=3, settled=None, reasons=()),
            msgspec.structs.replace(quiet, name="fresh"),
        ),
        actions=(msgspec.structs.replace(resize, to=10),),
        pods=pods,
        nodes=tuple(
            msgspec.structs.replace(node, removable=False) if node.node == "spot-b-x2" else node for node in mixed_plan.nodes
        ),
        cost=msgspec.structs.replace(mixed_plan.cost, desired_per_hour="8.31", settled_per_hour="5.028"),
        problems=(),
    )


TEXT = """\
Policy: 3
  ! NodeGroup big: size.max 40 -> 60 (big.yaml:9:14 -> big.yaml:9:14)
  + NodeGroup fresh: added (fresh.yaml:1:1)
  - NodeGroup gone: removed, its target keeps its size (was gone.yaml:1:1)

Groups: 4
  + general-a: desired 7 -> 10, settled 6 -> 9, range 2..40 -> 2..60: 9 pending pods on 3 new nodes;
    LeastWaste over general-b
  + spot-b: desired 2 -> 3, settled 2 -> unknown: without what was done before (spot-b-x2 runs
    nothing that has to move, unneeded since 2026-11-21T17:50:00Z)
  + fresh: a group now, 0 -> 0
  - quiet: no group of this policy any more

Cost: 1
  + desired: +$2.514 per hour, +$1,835.22 per month (730 h)

Actions: 2
  ! general-a: resize 4 -> 10: 9 pending pods on 3 new nodes; LeastWaste over general-b (before:
    general-a: resize 4 -> 7)
  ! no longer: spot-b: remove node spot-b-x2 (3 -> 2): spot-b-x2 runs nothing that has to move,
    unneeded since 2026-11-21T17:50:00Z

Pending pods: 1
  ! batch/giant-*: 3 pods, cannot be placed -> a new node will take it (general-a)

Nodes: 1
  ! spot-b: 1 node, empty, removable -> empty, stays: spot-b-x2

Problems: 1
  - QuantityUnreadable: Pod shop/odd: requests.cpu '1x' is no quantity

before: Plan: 1 group up (+3 nodes), 1 group down (-1 node), 40 pods cannot be placed, 1 held;
  +$2.094/h.
after:  Plan: 1 group up (+6 nodes), 37 pods cannot be placed, 1 held; +$4.608/h.
"""


def test_text(mixed_plan: Plan, later_plan: Plan):
    """Everything that differs and nothing else, read by a person and kept. 8.31 - 5.796 = 2.514, times 730 h 1,835.22."""
    assert comparison_text(CHANGES, compare_plans(mixed_plan, later_plan)) == TEXT


def test_no_difference(mixed_plan: Plan):
    """Two equal sides are said to be equal."""
    text = comparison_text((), compare_plans(mixed_plan, mixed_plan))
    assert text.startswith("The policy does not differ.\n\nThe decision does not differ.\n\nbefore: Plan: ")


def test_markdown(mixed_plan: Plan, later_plan: Plan):
    """Policy, groups and cost stand open, the rest is folded; marks are in column 0 of diff blocks."""
    text = comparison_markdown(CHANGES, compare_plans(mixed_plan, later_plan))
    opened, folds = text.split("<details>", 1)
    assert "### Policy (3)\n\n```diff\n! NodeGroup big: size.max 40 -> 60" in opened
    assert "### Groups (4)\n\n```diff\n+ general-a: desired 7 -> 10" in opened
    assert "### Cost (1)" in opened
    assert "<summary>Pending pods (1)</summary>" in folds
    assert f"after: **`{later_plan.summary}`**" in opened


@pytest.mark.parametrize("limit", [65_536, 4_000, 1_500])
def test_markdown_fits(limit: int):
    """Sections are cut from their end, problems first, and what is missing is counted."""
    before = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost())
    problems = tuple(PlanProblem(code="X", message=f"fault-{number} is told at some length") for number in range(2_000))
    after = msgspec.structs.replace(before, problems=problems)
    text = comparison_markdown(CHANGES, compare_plans(before, after), limit=limit)
    shown = text.count("fault-")
    assert len(text) <= limit
    assert f"and {2_000 - shown} lines more that did not fit" in text
    assert "NodeGroup big: size.max 40 -> 60" in text


def test_pods_beyond_ten_kinds_are_counted():
    """Ten kinds of pods are told, the rest is a number; 2,000 names of which no two are one owner's."""
    before = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost())
    pods = tuple(PodLine(pod=f"ns/app-x{number}y", outcome=PodOutcome.UNPLACEABLE) for number in range(2_000))
    text = comparison_markdown((), compare_plans(before, msgspec.structs.replace(before, pods=pods)))
    assert text.count("! ns/app-") == 10
    assert "! and 1990 pods more" in text


def test_markdown_text_of_others_stays_text():
    """A name in a policy cannot end the block that shows it."""
    evil = PolicyChange(kind="NodeGroup", name="x", path="hold.reason", before="```\n</details>", after="````")
    text = comparison_markdown((evil,), PlanComparison(summary_before="a`b", summary_after="c"))
    assert "`````diff\n! NodeGroup x: hold.reason ``` </details> -> ````\n`````" in text
    assert "before: ``a`b``" in text
