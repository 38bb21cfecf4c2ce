"""The largest change of a policy in a comment: it fits, and nothing that a reviewer must know is lost among harmless values."""

import msgspec
import pytest

from reconciler.plan.comparison import compare_plans
from reconciler.plan.impact import Impact
from reconciler.plan.plan import GroupLine, Ownership, OwnerState, Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.changes.comparison import PolicyChange, compare_policies
from reconciler.policy.changes.loosening import loosened
from reconciler.policy.documents import Budget, DrainRules, GroupFields, Limit, PolicySet, ScaleDown, Toggle
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.consequence_lines import consequence_alarms
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code, Grade
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT, length
from reconciler.rendering.printers.markdown.preview import preview_markdown
from tests.builders import NOW, node_group, policy
from tests.gitops.random_previews import MOST_COLUMNS, first_words

GROUPS, BUDGETS = 1_850, 300


def rules(*, after: bool) -> PolicySet:
    """After the change every group has another maximum and price, 300 budgets with long names let more nodes go, and between them
    a bound is lifted and two rules of draining are."""
    groups = [
        node_group(f"group-{'of-a-long-name-' * 3}{number:04}", max=20 if after else 10, price_per_hour="0.2" if after else "0.1")
        for number in range(GROUPS)
    ]
    budgets = tuple(
        Budget(name=f"harmless-{'budget-with-a-long-name-' * 2}{number:03}", nodes=3 if after else 2) for number in range(BUDGETS)
    )
    drain = DrainRules(min_replicas=0 if after else 2, blocked_namespaces=() if after else ("payments",))
    limits = () if after else (Limit(name="cluster", max=(("nodes", 40),)),)
    defaults = GroupFields(scale_down=ScaleDown(mode=Toggle.ENABLED if after else Toggle.DISABLED))
    return policy(*groups, budgets=budgets, drain=drain, limits=limits, defaults=defaults)


@pytest.fixture(scope="module")
def worst() -> Preview:
    """4,000 values change; 4 pods lose their place, 3 nodes go and 2 pods are evicted with them."""
    before, after = rules(after=False), rules(after=True)
    ours = Ownership(state=OwnerState.OURS)
    lines = tuple(
        GroupLine(name=group.name, target=group.target.name, tier="", current=3, desired=3, settled=3, min=0, max=10, owner=ours)
        for group in after.groups
    )
    plan = Plan(now="2026-11-21T18:00:00Z", mode="Enforce", summary="No changes.", groups=lines)
    later = msgspec.structs.replace(plan, groups=tuple(msgspec.structs.replace(line, max=20) for line in lines))
    side = PreviewSide(source="policies/" + "deep/" * 60)
    return Preview(
        base=side, head=side, plan=later, changes=compare_policies(before, after, NOW), loosened=loosened(before, after, NOW),
        comparison=compare_plans(plan, later), untouched=tuple(f"untouched-{'name-' * 20}{number}" for number in range(500)),
        impact_after=Impact(
            waiting=tuple(f"shop/web-{number}" for number in range(4)), evicted_settled=("shop/a", "shop/b"),
            nodes_gone=("n1", "n2", "n3"),
        ),
    )  # fmt: skip


def test_it_is_as_bad_as_it_says(worst: Preview):
    assert len(worst.changes) >= 4_000
    assert sum(change.path.startswith("budgets") for change in worst.changes) >= 250


@pytest.mark.parametrize("limit", [GITHUB_LIMIT, 20_000, 6_000])
def test_it_fits_and_names_what_counts(worst: Preview, limit: int):
    """Every caution is there in words; of what loosens, draining and limits come before 300 budgets, which are one line."""
    text = preview_markdown(worst, limit=limit)
    assert length(text) <= limit
    assert max(map(len, text.splitlines())) <= MOST_COLUMNS
    assert "4 more pods have nowhere to run" in first_words(text)
    unwrapped = text.replace("\n>   ", " ")
    for caution in ("Without a node: ", "Removed nodes: ", "2 more evictions (0 -> 2)"):
        assert f"> - {caution}" in unwrapped
    for looser in ("Pods of sets with `0` or more replicas may be evicted (was `2`)", "This loosens `drain.blockedNamespaces`"):
        assert f"> - {looser}" in unwrapped
    assert "> - Limit `cluster` is removed." in unwrapped
    assert "> - This loosens 300 values of `budgets.nodes`, such as: budget `harmless-" in unwrapped


def test_everything_that_is_graded_is_told_or_counted(worst: Preview):
    """The lines of each grade stand for all of its consequences."""
    for grade in (Grade.CAUTION, Grade.WARNING):
        mine = [one for one in consequences(worst) if one.grade is grade]
        lines = [line for told in consequence_alarms(worst) if told.title == grade.capitalize() for line in told.lines]
        assert sum(_stands_for(plain_sentence(line)) for line in lines) == len(mine)
    assert sum(one.code is Code.LOOSENS for one in consequences(worst)) >= BUDGETS


def _stands_for(line: str) -> int:
    words = line.split()
    if "values of" in line:
        return int(words[words.index("values") - 1])
    return int(words[1]) if line.startswith("And ") else 1


def test_the_policy_is_folded_gravest_first(worst: Preview):
    """What becomes looser comes first, and 1,850 equal changes are one line."""
    text = preview_markdown(worst)
    section = text.partition(f"<summary>Policy ({len(worst.changes)})</summary>")[2]
    told = section.replace("\n    ", " ")
    assert told.index("drain.minReplicas 2 -> 0") < told.index("test: limits ") < told.index("300 ")
    assert f"{GROUPS} alike (group-" in told
    assert len(section.splitlines()) < 60


def test_equal_groups_are_one_line(worst: Preview):
    text = preview_markdown(worst).replace("\n    ", " ")
    assert f"### Groups ({GROUPS})\n\n```diff\n  {GROUPS} groups (group-" in text
    assert " and 1847 more): range 0..10 -> 0..20\n```" in text


def test_what_is_cut_is_counted_with_the_gravest_of_it(worst: Preview):
    """Values of many fields, none alike, so that nothing folds."""
    kept = msgspec.structs.replace(
        worst,
        loosened=(),
        changes=tuple(
            PolicyChange(kind="NodeGroup", name=f"n{number}", path=f"field{number}.{'x' * 40}", before="1", after="2")
            for number in range(4_000)
        ),
    )
    text = preview_markdown(kept, limit=20_000)
    told = text.replace("\n    ", " ")
    shown = told.count("\n  NodeGroup n")
    assert length(text) <= 20_000
    assert 10 < shown < 4_000
    assert f"\n  and {4_000 - shown} more values, the gravest: NodeGroup n{shown}: " in told
