"""A search for replacements that ends at one of its bounds says for how many nodes it did not look everywhere."""

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.replacements import consolidation
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group

OFF = ScaleDown(unneeded_time_seconds=0)


def _smalls(nodes: int, stand_ins: int = 1) -> tuple[World, PolicySet]:
    """So many nodes of 4 cores with a pod of 3, two of which one 8-core node of each of the other groups could replace."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=nodes, cpu="4")
    cluster.pods("web", nodes, cpu="3", on=list(names))
    others = [f"mega-{number}" for number in range(stand_ins)]
    for name in others:
        cluster.group(name, nodes=0, cpu="8")
    groups = [node_group("small", max=nodes, price_per_hour="0.20", scale_down=OFF)]
    groups += [node_group(name, price_per_hour="0.30", scale_down=OFF) for name in others]
    return cluster.world(), policy(*groups, budgets=(Budget(nodes=100),))


def _plan(nodes: int, stand_ins: int = 1, work: int = DEFAULT_WORK_BUDGET) -> Plan:
    world, rules = _smalls(nodes, stand_ins)
    return decide(world, rules, Memory(), NOW, work)[0]


def _told(plan: Plan) -> list[dict[str, object]]:
    return [dict(one.data) for one in group(plan, "small").reasons if one.code == "ReplacementsNotExamined"]


def test_all_are_examined_within_the_bounds() -> None:
    """Sixty-four nodes: nothing is left out, nothing is said."""
    assert _told(_plan(64)) == []


def test_nodes_beyond_the_bound_are_counted() -> None:
    """Sixty-six nodes, two more than one plan looks at."""
    plan = _plan(66)
    assert _told(plan) == [{"group": "small", "nodes": 2, "bound": "64 nodes per plan"}]
    (sentence,) = [one.message for one in group(plan, "small").reasons if one.code == "ReplacementsNotExamined"]
    assert sentence == "2 nodes of small not compared with every group that could replace them: 64 nodes per plan"


def test_trials_that_were_not_made_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three trials: two nodes fit together, the third does not, the three after it were never tried."""
    monkeypatch.setattr(consolidation, "MOST_TRIALS", 3)
    assert _told(_plan(6)) == [{"group": "small", "nodes": 3, "bound": "3 trials per plan"}]


def test_more_than_five_replacements_are_not_looked_for() -> None:
    """Seven groups could take two nodes each of sixteen; after five of them six nodes are left."""
    plan = _plan(16, stand_ins=7)
    assert sum(one.code == "CouldBeReplaced" for one in group(plan, "small").reasons) == 5
    assert _told(plan) == [{"group": "small", "nodes": 6, "bound": "5 replacements per plan"}]


def test_without_work_left_nothing_is_proposed_and_that_is_said() -> None:
    """A work budget of 0 steps: no replacement on a guess."""
    plan = _plan(2, work=0)
    assert plan.actions == ()
    assert [one.code for one in group(plan, "small").reasons] == ["ReplacementsNotExamined"]
    assert _told(plan) == [{"group": "small", "nodes": 2, "bound": "the work budget of the plan"}]
