"""The halt over unready nodes, exactly at each of its bounds and one node beyond: 3 nodes, 45 percent."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, group

RULES = policy(node_group("general", max=100), budgets=(Budget(nodes=100),))
BOUNDS = pytest.mark.parametrize(
    ("nodes", "unready", "halted"),
    [(20, 9, False), (20, 10, True), (4, 3, False), (5, 4, True)],
    ids=["45 % exactly", "50 %", "three of four", "four of five"],
)


def _decided(nodes: int, unready: int, *, pending: int = 0, unmanaged: int = 0) -> tuple[Plan, Memory]:
    """A group whose first nodes are not ready and whose last one has nothing to do for an hour; the others are full."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes)
    for name in names[:unready]:
        cluster.node(name, labels={"pool": "general"}, ready=False)
    cluster.pods("full", len(names[unready:-1]), cpu="4", on=list(names[unready:-1]))
    cluster.pods("waiting", pending, cpu="4")
    for number in range(unmanaged):
        cluster.node(f"own-{number}")
    return decide(cluster.world(), RULES, Memory(unneeded_since={names[-1]: NOW - 3600}), NOW)


@BOUNDS
def test_removals_halt_beyond_both_bounds(nodes: int, unready: int, halted: bool) -> None:
    """9 of 20 are 45 % and 3 of 4 are three: both are still allowed."""
    plan, _ = _decided(nodes, unready)
    assert blocker_codes(plan, f"general-{nodes}") == ["RemovalsHalted"] * halted
    assert [problem.code for problem in plan.problems] == ["RemovalsHalted"] * halted


@BOUNDS
def test_a_group_does_not_grow_beyond_both_bounds(nodes: int, unready: int, halted: bool) -> None:
    """The same bounds a group; two pods wait, one of which the idle node takes."""
    plan, _ = _decided(nodes, unready, pending=2)
    assert group(plan, "general").desired == (nodes if halted else nodes + 1)
    assert ("GroupUnhealthy" in [reason.code for reason in group(plan, "general").reasons]) is halted


def test_ready_nodes_of_nobody_do_not_end_the_halt() -> None:
    """10 of 20 managed nodes: twenty more nodes outside all groups change nothing."""
    plan, _ = _decided(20, 10, unmanaged=20)
    assert blocker_codes(plan, "general-20") == ["RemovalsHalted"]


def test_a_halt_forgets_how_long_nodes_were_unneeded() -> None:
    """After it they wait their whole time again."""
    plan, memory = _decided(20, 10)
    assert memory.unneeded_since == {}
    assert all(line.removable_at is None for line in plan.nodes)
