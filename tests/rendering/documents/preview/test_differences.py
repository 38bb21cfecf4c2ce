"""Two policies and their two plans side by side."""

import re

import msgspec
import pytest

from reconciler.decisions.reasons.sizes import PendingPods
from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import ActionKind, Cost, Plan, PlanProblem, PodLine, PodOutcome
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.place import Place
from reconciler.rendering.printers.html.preview import preview_html
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.rendering.words.alike_actions import alike_actions

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
        summary="Plan: 1 group up (+6 nodes), 37 pods cannot be placed, 1 held, +$4.608/h.",
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


def shown(before: Plan, after: Plan, changes: tuple[PolicyChange, ...] = ()) -> Preview:
    """Two plans side by side."""
    side = PreviewSide(source="x")
    return Preview(base=side, head=side, plan=after, changes=changes, comparison=compare_plans(before, after))


TEXT = """\
NodeGroup fresh is added and 2 more changes: 14 nodes in steady state instead of 10
cluster prod · policy prod · mode Observe (nothing is written)
now 2026-11-21T18:00:00Z

Policy: 3
  + NodeGroup fresh: added (fresh.yaml:1:1)
  - NodeGroup gone: removed, its target keeps its size (was gone.yaml:1:1)
  ~ NodeGroup big: size.max 40 -> 60 (big.yaml:9:14)

                           main  this PR  change
    nodes in steady state    10       14      +4
2 groups without a price not counted.

Groups: 2
  + general-a: desired 7 -> 10, steady state 6 -> 9 ■■■■■■+++, range 2..40 -> 2..60: 9 pending pods
  + spot-b: desired 2 -> 3, steady state 2 -> unknown ■■+: 1 empty under main

Why these sizes: 1
  ~ general-a: 9 pending pods on 3 new nodes, chosen by LeastWaste over general-b

Actions: 1
  ~ no longer: spot-b: remove node spot-b-x2 (3 -> 2): spot-b-x2 runs no pod that has to move,
    unneeded since 2026-11-21T17:50:00Z

Pods: 3
  ~ batch/giant-*: 3 pods, cannot be placed -> a new node will take it (general-a)

Nodes: 1
  ~ spot-b: 1 node, empty, removable -> empty, stays: spot-b-x2

Problems: 1
  - no longer: Pod shop/odd: requests.cpu: invalid quantity '1x' [QuantityUnreadable]

1 group with the same size and other reasons or names: fresh

main: x
this PR: x
"""


def test_text(mixed_plan: Plan, later_plan: Plan):
    """Everything that differs and nothing else, read by a person and kept. The cost
    is the same: 5.028 x 730 h. 2 + 6 + 2 + 0 nodes settle
    under main, 2 + 9 + 3 + 0 under this PR."""
    text = preview_text(shown(mixed_plan, later_plan, CHANGES))
    assert text.rpartition("sha256:")[0] == TEXT


def test_sides(mixed_plan: Plan, later_plan: Plan):
    """Every format says once, before the figures, that both sides are steady states, and calls them main and this PR."""
    both = shown(mixed_plan, later_plan)
    for text, words, figure in (
        (preview_text(both), "  nodes in steady state  ", " +4"), (preview_markdown(both), "| nodes in steady state |", " +4 "),
        (preview_html(both), "steady states: under the policy of main, and under that of this PR", "3,670.44"),
    ):  # fmt: skip
        assert text.count(words) == 1
        assert 0 < text.index(words) < text.index(figure)
        assert not re.search(r"\btoday\b|\bafter (?!\d)", re.sub(r"(?s)<style.*</style>|<script.*?</script>", "", text))


def test_no_difference(mixed_plan: Plan):
    """Two equal sides are said to be equal."""
    text = preview_text(shown(mixed_plan, mixed_plan))
    assert text.startswith("No effect: neither the policy nor the decision differs\n")
    assert "Plan: " not in text, "nothing is said of a plan that is the same"


def test_markdown(mixed_plan: Plan, later_plan: Plan):
    """The policy, figures and groups stand open, the rest is folded; column 0 has the colour of danger and holds."""
    text = preview_markdown(shown(mixed_plan, later_plan, CHANGES))
    opened, folds = text.split("<details>", 1)
    assert opened.startswith("## ")
    assert "| nodes in steady state | 10 | 14 | +4 |" in opened
    assert "### Groups (2)\n\n```diff\n  general-a: desired 7 -> 10, steady state 6 -> 9 ■" in opened
    assert "<summary>Pods (3)</summary>" in folds
    assert later_plan.summary[:40] not in text, "the figures say it"
    assert opened.index("### Policy (3)") < opened.index("\n  NodeGroup big: size.max 40 -> 60") < opened.index("| nodes in")


@pytest.mark.parametrize("limit", [65_536, 6_000, 2_500])
def test_markdown_fits(limit: int):
    """The longest section is cut from its end, what is missing is counted with the first of it, and short sections stay."""
    before = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost())
    problems = tuple(PlanProblem(code="X", message=f"fault-{number:04} is told at some length") for number in range(2_000))
    text = preview_markdown(shown(before, msgspec.structs.replace(before, problems=problems), CHANGES), limit=limit)
    alerts, folds = text.split("<details>", 1)
    told = folds.count("\n- fault-")
    assert len(text) <= limit
    assert "2000 new problems, the first: `fault-0000" in alerts
    assert f"- and {2_000 - told} more problems, the gravest: fault-{told:04} " in folds
    assert "NodeGroup big: size.max 40 -> 60" in text


def test_pods_beyond_ten_kinds_are_counted():
    """Ten kinds of pods are told, the rest is a number; 2,000 names of which no two are one owner's."""
    before = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.", cost=Cost())
    pods = tuple(PodLine(pod=f"ns/app-x{number}y", outcome=PodOutcome.UNPLACEABLE) for number in range(2_000))
    text = preview_markdown(shown(before, msgspec.structs.replace(before, pods=pods)))
    assert text.count("\n- ns/app-") == 10
    assert "\n- and 1990 more pods, the gravest: ns/app-x10y: not pending -> cannot be placed\n" in text


def test_markdown_text_of_others_stays_text():
    """A name in a policy cannot end the block that shows it."""
    evil = PolicyChange(kind="NodeGroup", name="x", path="hold.reason", before="```\n</details>", after="````")
    plan = Plan(now="2026-11-21T18:00:00Z", mode="a`b", summary="```", cost=Cost())
    text = preview_markdown(msgspec.structs.replace(shown(plan, plan), changes=(evil,)))
    assert "`````diff\n  NodeGroup x: hold.reason ``` </details> -> ````\n`````" in text
    assert "mode ``a`b``" in text


def test_bars_have_one_scale(mixed_plan: Plan):
    """The largest size takes 24 cells, and 50 of 200 nodes a quarter of that; sizes that are there have a cell at least."""
    names = ("large", "small", "one")
    sides = []
    for sizes in ((200, 50, 1), (100, 50, 2)):
        lines = (
            msgspec.structs.replace(
                mixed_plan.groups[0], name=name, target=name, held=False, desired=size, settled=size, reasons=()
            )
            for name, size in zip(names, sizes, strict=True)
        )
        sides.append(msgspec.structs.replace(mixed_plan, groups=tuple(lines), actions=()))
    text = preview_text(shown(*sides))
    assert f"- large: nodes 200 -> 100 {'■' * 12}{'-' * 12}\n" in text
    assert "+ one: nodes 1 -> 2 ■\n" in text, "one cell stands for eight nodes"


def test_a_mix_is_told_once(mixed_plan: Plan):
    """Two groups that grow in one mix: the second names the first."""
    (resize,) = (action for action in mixed_plan.actions if action.kind is ActionKind.RESIZE)
    compared = ("1 x a + 2 x b for 1.7/h", "one group after another for 1.9/h")
    actions = []
    for group, nodes in (("a", 1), ("b", 2)):
        why = PendingPods(pods=nodes, nodes=nodes, expander="LeastCost", compared=compared)
        actions.append(msgspec.structs.replace(resize, group=group, reason=why.reason()))
    told = [lot.sentence for lot in alike_actions(actions)]
    assert told == [
        "1 pending pod on 1 new node, chosen by LeastCost: 1 x a + 2 x b for 1.7/h rather than one group after another for 1.9/h",
        "2 pending pods on 2 new nodes, of the same mix as those of a",
    ]
