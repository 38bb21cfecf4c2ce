"""Plans of 40, 1,500 and 15,000 nodes are read on one or two screens, and nothing of them is lost."""

from pathlib import Path

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import Budget, GroupFields, ScaleDown
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.markdown.plan import plan_markdown
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.rendering.printers.text.plan import plan_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

GOLDEN = Path(__file__).parent / "golden"
SIZES = (40, 1_500, 15_000)
_PLENTY = 10**12  # what is examined is no matter of these tests
FAMILIES = ("c", "m", "r", "g")


def plans(nodes: int) -> tuple[Plan, Plan]:
    """One cluster under a policy that lets nothing go, and under one that lets go what is empty: groups of different sizes,
    of which a third stands empty and a third is little used."""
    groups = max(4, min(100, nodes // 20))
    cluster = ClusterBuilder()
    left, sizes = nodes, {}
    for number in range(groups):
        share = max(1, left * 2 // (groups - number + 1)) if number < groups - 1 else left
        left -= share
        sizes[f"{FAMILIES[number % 4]}{number:03d}-{'ab'[number % 2]}"] = share
        name = f"{FAMILIES[number % 4]}{number:03d}-{'ab'[number % 2]}"
        names = cluster.group(name, nodes=share, cpu=str(4 + 4 * (number % 3)), memory="32Gi")
        for at, node in enumerate(names):
            if at % 3:
                cluster.pods(f"{name}-app", 1, cpu="3" if at % 3 == 1 else "500m", on=node)
    cluster.pods("giant", 12, cpu="64")
    for kind in range(30):
        cluster.pods(f"kind{kind:02d}", 3, cpu="80", memory=f"{kind + 1}Gi")
    world = cluster.world()
    documents = [node_group(name, max=size * 2) for name, size in sizes.items()]
    keep = policy(*documents, budgets=(Budget(nodes=0),))
    gone = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0))
    drop = policy(*documents, budgets=(Budget(percent=100),), defaults=gone)
    before, after = (decide(world, rules, Memory(), NOW, _PLENTY)[0] for rules in (keep, drop))
    return before, msgspec.structs.replace(after, digest="sha256:00")


@pytest.fixture(scope="module", params=SIZES)
def sides(request: pytest.FixtureRequest) -> tuple[int, Plan, Plan]:
    """The number of nodes with both plans, made once."""
    return (request.param, *plans(request.param))


def test_text(sides: tuple[int, Plan, Plan]):
    """Read by a person and kept; at 80 columns no more than two screens of fifty lines."""
    nodes, _, plan = sides
    text = plan_text(plan, width=80)
    golden = GOLDEN / f"nodes-{nodes}.txt"
    assert text == golden.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 100


def test_preview(sides: tuple[int, Plan, Plan]):
    """The markdown of a preview stays below 8 KB however large the cluster is."""
    _, before, after = sides
    side = PreviewSide(source="x")
    shown = Preview(base=side, head=side, plan=after, comparison=compare_plans(before, after))
    assert len(preview_markdown(shown).encode()) < 8_192


def test_plan_in_a_pull_request(sides: tuple[int, Plan, Plan]):
    """So does the plan, within the length of a comment without anything cut."""
    assert "Left out" not in plan_markdown(sides[2])


def test_nothing_is_lost(sides: tuple[int, Plan, Plan]):
    """Wide text and JSON name every node that leaves and every pod that waits."""
    _, _, plan = sides
    wide, whole = plan_text(plan, wide=True), msgspec.json.decode(json_text(plan))
    leaving = [node for action in plan.actions for node in action.nodes]
    assert leaving
    told = set(wide.replace(",", " ").replace(":", " ").split())
    assert told >= set(leaving)
    assert [node for action in whole["actions"] for node in action["nodes"]] == leaving
    assert [pod["pod"] for pod in whole["pods"]] == [pod.pod for pod in plan.pods]
