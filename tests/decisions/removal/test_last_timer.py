"""A node that waits may go when the last of its timers ends, and the plan names that timer. Now is 08:00 on a Friday."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import NodeLine
from reconciler.policy.documents import Budget, RemovalReason, ScaleDown, Size, Window
from reconciler.policy.pace import Pace
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.node import explain_node
from reconciler.simulation.timers import next_timer_seconds
from tests.builders import NOW, ClusterBuilder, node_group, policy

COOL = Pace(delay_after_add_seconds=600, delay_after_delete_seconds=240, delay_after_failure_seconds=180)
CALM = Pace(delay_after_add_seconds=0, delay_after_delete_seconds=0, delay_after_failure_seconds=0)
ANY = Budget(nodes=100)


def _told(
    memory: Memory, pace: Pace = CALM, budgets: tuple[Budget, ...] = (ANY,), windows: tuple[Window, ...] = ()
) -> tuple[NodeLine, str, int | None]:
    """The line of the only, empty node; the last line of `explain node`; the next instant of a simulation."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    group = node_group("general", windows=windows, scale_down=ScaleDown(unneeded_time_seconds=600))
    world, rules = cluster.world(), policy(group, budgets=budgets, pace=pace)
    plan, after = decide(world, rules, memory, NOW)
    (line,) = plan.nodes
    lines = explain_node(Case.of(world, rules, plan, NOW, after), "general-1", 0)
    return line, lines[-1], next_timer_seconds(plan, after, rules.policy, NOW)


@pytest.mark.parametrize(
    ("idle", "started", "at", "code"),
    [
        (7200, {"last_added_seconds": NOW - 60}, "2027-01-15T08:09:00Z", "CoolDown"),
        (7200, {"last_removed_seconds": NOW - 60}, "2027-01-15T08:03:00Z", "CoolDown"),
        (7200, {"last_failed_seconds": NOW - 60}, "2027-01-15T08:02:00Z", "CoolDown"),
        (7200, {"last_added_seconds": NOW - 590, "last_failed_seconds": NOW - 60}, "2027-01-15T08:02:00Z", "CoolDown"),
        (300, {"last_added_seconds": NOW - 60}, "2027-01-15T08:09:00Z", "CoolDown"),
        (30, {"last_added_seconds": NOW - 60}, "2027-01-15T08:09:30Z", "NotUnneededLongEnough"),
    ],
)
def test_the_later_of_its_own_time_and_the_cool_downs(idle: int, started: dict[str, int], at: str, code: str) -> None:
    """Ten minutes of being unneeded, and 10, 4 or 3 minutes after what happened: the later end counts, here and in `explain`."""
    line, told, _ = _told(Memory(unneeded_since={"general-1": NOW - idle}, **started), COOL)
    assert (line.removable_at, [one.code for one in line.blockers]) == (at, [code])
    assert told.startswith(f"may go at {at}, ")
    assert ("when the cool-down ends" in told) == (code == "CoolDown")


def _working_hours(hours: int = 10, start: str = "0 8", **fields: object) -> Budget:
    return Budget(nodes=0, schedule=f"{start} * * *", duration_seconds=hours * 3600, **fields)


def test_a_budget_of_zero_ends_with_its_span() -> None:
    """No node goes from 08:00 to 18:00: one that is due now goes at 18:00, and a simulation looks again then."""
    line, told, due = _told(Memory(unneeded_since={"general-1": NOW - 7200}), budgets=(ANY, _working_hours()))
    assert (line.removable_at, line.blockers[0].code) == ("2027-01-15T18:00:00Z", "Budget")
    assert line.blockers[0].message == "a budget allows 0 nodes at a time until 2027-01-15T18:00:00Z"
    assert told == "may go at 2027-01-15T18:00:00Z, when the budget opens"
    assert due == NOW + 10 * 3600


def test_a_budget_that_will_be_zero_when_the_node_is_due() -> None:
    """Due at 08:05, and from 08:02 on for an hour no node goes, then from 09:00 on for another one."""
    budgets = (ANY, _working_hours(1, "2 8"), _working_hours(1, "0 9"))
    line, _, _ = _told(Memory(unneeded_since={"general-1": NOW - 300}), budgets=budgets)
    assert line.removable_at == "2027-01-15T10:00:00Z"


def test_a_budget_for_other_reasons_is_no_timer() -> None:
    """The node is empty; the budget is for those with pods."""
    budget = _working_hours(reasons=(RemovalReason.UNDERUTILIZED,))
    line, _, _ = _told(Memory(unneeded_since={"general-1": NOW - 300}), budgets=(ANY, budget))
    assert (line.removable_at, line.blockers[0].code) == ("2027-01-15T08:05:00Z", "NotUnneededLongEnough")


@pytest.mark.parametrize("budget", [Budget(nodes=0), Budget(percent=0), _working_hours(24)])
def test_a_budget_that_never_opens_promises_no_time(budget: Budget) -> None:
    """Nothing is said of an instant at which the node would go."""
    line, told, due = _told(Memory(unneeded_since={"general-1": NOW - 300}), budgets=(budget,))
    assert (line.removable, line.removable_at, line.blockers[0].code) == (True, None, "Budget")
    assert "may go at" not in told
    assert due is None


def test_a_window_that_opens_before_the_node_is_due() -> None:
    """Due at 08:05; from 08:01 to 10:01 the group keeps a node."""
    window = Window(schedule="1 8 * * *", duration_seconds=7200, size=Size(min=1))
    line, told, _ = _told(Memory(unneeded_since={"general-1": NOW - 300}), windows=(window,))
    assert (line.removable_at, line.blockers[0].code) == ("2027-01-15T10:01:00Z", "KeptByWindow")
    assert line.blockers[0].message == "a window keeps general at 1 or more until 2027-01-15T10:01:00Z"
    assert told == "may go at 2027-01-15T10:01:00Z, when the window closes"


def test_a_plan_that_adds_nodes_starts_the_cool_down() -> None:
    """A pod that fits nowhere buys a node, and the empty one that it does not fit waits ten minutes from now."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=1, cpu="2")
    cluster.group("large", nodes=1, cpu="16")
    cluster.pods("full", 1, cpu="14", on="large-1")
    cluster.pods("waits", 1, cpu="14")
    rules = policy(node_group("small"), node_group("large"), budgets=(ANY,), pace=COOL)
    plan, _ = decide(cluster.world(), rules, Memory(unneeded_since={"small-1": NOW - 7200}), NOW)
    line = next(line for line in plan.nodes if line.node == "small-1")
    assert (line.removable_at, line.blockers[0].code) == ("2027-01-15T08:10:00Z", "CoolDown")
