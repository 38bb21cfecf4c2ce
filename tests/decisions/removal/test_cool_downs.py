"""Cool-downs: how long removals wait after an addition, a removal, a failure, and what starts them."""

import msgspec
import pytest

from reconciler.decisions.decide import settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

PACE = Pace(delay_after_add_seconds=600, delay_after_delete_seconds=240, delay_after_failure_seconds=180)
RULES = policy(node_group("general"), budgets=(Budget(nodes=100),), pace=PACE)
IDLE = {"general-1": NOW - 7200}


def _after(started_by: str, instant: int) -> Memory:
    return msgspec.structs.replace(Memory(unneeded_since=IDLE), **{started_by: instant})


@pytest.mark.parametrize(
    ("started_by", "delay", "said"),
    [
        ("last_added_seconds", 600, "nodes were added"),
        ("last_removed_seconds", 240, "a removal"),
        ("last_failed_seconds", 180, "a failure"),
    ],
)
def test_removals_wait_for_the_whole_delay(started_by: str, delay: int, said: str) -> None:
    """A second before its end the node stays, and the plan names what it waits for; at its end the node leaves."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    early = plan_of(world, RULES, _after(started_by, NOW - delay + 1))
    assert not early.actions
    assert blocker_codes(early, "general-1") == ["CoolDown"]
    assert said in node(early, "general-1").blockers[0].message
    due = plan_of(world, RULES, _after(started_by, NOW - delay))
    assert len(of_kind(due, ActionKind.REMOVE_NODE)) == 1


@pytest.mark.parametrize(
    ("kind", "done", "code", "delay"),
    [
        (ActionKind.RESIZE, True, "", 600),
        (ActionKind.REMOVE_NODE, True, "", 240),
        (ActionKind.RESIZE, False, "Failed", 180),
    ],
    ids=["an addition", "a removal", "a failed write"],
)
def test_what_was_done_starts_its_delay(kind: ActionKind, done: bool, code: str, delay: int) -> None:
    """An outcome of this instant holds removals off until its delay has passed, counted from then."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    outcome = Outcome(kind=kind.value, group="other", target="other", to=1, nodes=("gone",), done=done, code=code, at_seconds=NOW)
    memory = settle(Memory(unneeded_since=IDLE), (outcome,))
    world = cluster.world()
    assert blocker_codes(plan_of(world, RULES, memory, NOW + delay - 1), "general-1") == ["CoolDown"]
    assert len(of_kind(plan_of(world, RULES, memory, NOW + delay), ActionKind.REMOVE_NODE)) == 1


def test_a_machine_that_fails_starts_the_delay_of_a_failure() -> None:
    """Seen in this very plan: the idle node of another group waits three minutes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    target = cluster.target("spot", 1)
    cluster.machine("spot-1", target, failed="InsufficientInstanceCapacity")
    rules = policy(node_group("general"), node_group("spot"), budgets=(Budget(nodes=100),), pace=PACE)
    plan = plan_of(cluster.world(), rules, Memory(unneeded_since=IDLE))
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    assert "a failure" in node(plan, "general-1").blockers[0].message
