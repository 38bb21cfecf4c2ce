"""The look ahead by what decisions foresee: from one to the next, until nothing is foreseen or something has to be played."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide_ahead
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.simulation import settled as course
from reconciler.simulation import settled as settled_module
from reconciler.simulation.settled import Rest, Standing, come_to_rest, follow
from reconciler.simulation.step_ahead import Step, step
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600))


def _followed(world: World, rules: PolicySet) -> Standing:
    decision = decide_ahead(world, rules, Memory(), NOW, Work(DEFAULT_WORK_BUDGET))
    at = Standing(world=world, memory=decision.memory, now_seconds=NOW, plan=decision.plan)
    return follow(at, decision.foreseen, rules, Work(10**9), DEFAULT_WORK_BUDGET)


def _rest(world: World, rules: PolicySet, monkeypatch: pytest.MonkeyPatch, played: int) -> Rest:
    monkeypatch.setattr(settled_module, "MOST_PLAYED", played)
    decision = decide_ahead(world, rules, Memory(), NOW, Work(DEFAULT_WORK_BUDGET))
    return come_to_rest(world, rules, decision.memory, NOW, decision.plan, DEFAULT_WORK_BUDGET, decision)


def _two() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 3, cpu="900m", on=["general-1", "general-1", "general-2"])
    return cluster


def test_it_rests_after_the_decision_that_foresees_nothing():
    """One removal, and one plan more; what time it is follows from the unneeded time and the step after it."""
    at = _followed(_two().world(), policy(GENERAL))
    assert (at.rests, at.loops, at.now_seconds) == (True, 2, NOW + 610)
    assert [node.name for node in at.world.nodes] == ["general-1"]
    assert at.evicted == ("shop/web-3",)


def test_pods_that_cannot_be_placed_wait_at_rest():
    """The group is at its maximum: one of two pods gets its node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 2, cpu="3")
    at = _followed(cluster.world(), policy(node_group("general", max=1)))
    assert (at.rests, len(at.waiting), dict(at.joined)) == (True, 1, {"general": 1})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"ready": False}, "a node is not ready"),
        ({"deleting": True}, "a node is leaving"),
        ({"ready": False, "created_seconds": NOW - 5}, "a node is starting"),
    ],
)
def test_nodes_that_do_not_simply_run_are_played(fields: dict[str, object], why: str):
    """Nothing is foreseen then."""
    world = _two().world()
    first, *others = world.nodes
    changed = msgspec.structs.replace(world, nodes=(msgspec.structs.replace(first, **fields), *others))
    assert not _followed(changed, policy(GENERAL)).rests, why
    assert _followed(world, policy(GENERAL)).rests


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"budgets": (Budget(nodes=0),)}, id="a budget of no nodes"),
        pytest.param({"budgets": (Budget(percent=0),)}, id="a budget of no percent"),
        pytest.param({"pace": Pace(max_removed_percent=0)}, id="a pace of nothing"),
        pytest.param({"pace": Pace(require_approval_above=0)}, id="nothing without approval"),
    ],
)
def test_what_is_never_allowed_is_not_foreseen(fields: dict[str, object]):
    """The node could leave but for a bound of zero: it is not taken for one that only waits."""
    world = _two().world()
    decision = decide_ahead(world, policy(GENERAL, **fields), Memory(), NOW, Work(DEFAULT_WORK_BUDGET))
    assert decision.foreseen is None


def test_machines_on_their_way_are_played():
    """What they bring is not known to the decision."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4", replicas=3)
    cluster.machine("general-3", machine_deployment("general"), created=NOW - 30)
    assert not _followed(cluster.world(), policy(GENERAL)).rests


def test_pods_that_others_may_displace_are_played():
    """A pod of high priority waits for a maximum: kube-scheduler would preempt for it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("low", 1, cpu="3", on="general-1")
    cluster.pods("high", 1, cpu="3", priority=1000)
    at = _followed(cluster.world(), policy(node_group("general", max=1)))
    assert (at.rests, at.loops) == (False, 1)


def test_what_is_handed_over_is_played_to_its_end(monkeypatch: pytest.MonkeyPatch):
    """Pods share a budget of one, so that the first plan moves one and the second, with the budget lifted, the others. When that
    is played it ends as if all had been, and nothing that was done before is lost. 3 x 0.9 and 1.2 cores fit one node of 4."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=4, cpu="4")
    cluster.pods("web", 3, cpu="900m", on=["general-1", "general-2", "general-3"])
    cluster.pods("home", 1, cpu="1200m", on="general-4")
    cluster.budget("web", max_unavailable="1", allowed=1, healthy=3, desired=2, expected=3)
    world, rules = cluster.world(), policy(GENERAL)
    taken: list[Step | None] = []

    def once(*given: object) -> Step | None:
        taken.append(None if taken else step(*given))  # type: ignore[arg-type]
        return taken[-1]

    monkeypatch.setattr(course, "step", once)
    rest = _rest(world, rules, monkeypatch, -1)
    assert [one is not None for one in taken] == [True, False]
    assert rest.plan.groups[0].settled == _rest(world, rules, monkeypatch, 10_000).plan.groups[0].settled == 1
    assert len(rest.impact.nodes_gone) == 3
    assert set(rest.impact.evicted_settled) == {"shop/web-1", "shop/web-2", "shop/web-3"}
    assert rest.plan.settled_loops is not None
    assert rest.plan.settled_loops > 2
