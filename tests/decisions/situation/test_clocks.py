"""A clock that is wrong gives up no machine, removes no node, and leaves nothing behind once it is right."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, Memory, Purchase, SizeState
from reconciler.plan.plan import ActionKind
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import of_kind, plan_of

HOUR, MINUTE = 3600, 60
RULES = policy(node_group("general"))
TARGET = str(machine_deployment("general"))


def _waiting(now: int, *, made_seconds_ago: int, ahead: int = 0) -> World:
    """A node that has a pod, an empty node, and a machine that was made so long ago by the right clock."""
    cluster = ClusterBuilder(now=now)
    cluster.group("general", nodes=2, replicas=3)
    cluster.machine("fresh", machine_deployment("general"), created=now - ahead - made_seconds_ago)
    cluster.pods("web", 1, cpu="3", on=["general-1"])
    return msgspec.structs.replace(cluster.world(), clock_ahead_seconds=ahead)


@pytest.mark.parametrize("ahead", [6 * MINUTE, HOUR, 24 * HOUR])
def test_a_clock_ahead_cancels_nothing_that_it_saw_come(ahead: int) -> None:
    """Although nobody knows that it is ahead: the machine says that it is old, and was not there a minute ago."""
    cluster = _waiting(NOW, made_seconds_ago=30 + ahead)
    before = ClusterBuilder(now=NOW - MINUTE)
    before.group("general", nodes=2)
    memory = decide(before.world(), RULES, Memory(), NOW - MINUTE)[1]
    plan, memory = decide(cluster, RULES, memory, NOW)
    assert (of_kind(plan, ActionKind.CANCEL), memory.backoffs) == ([], {})
    later = _waiting(NOW + 15 * MINUTE, made_seconds_ago=30 + ahead + 15 * MINUTE)
    (cancelled,) = of_kind(plan_of(later, RULES, memory, NOW + 15 * MINUTE), ActionKind.CANCEL)
    assert cancelled.machines == ("fresh",)


@pytest.mark.parametrize(
    ("ahead", "stops"),
    [(0, False), (60, False), (61, True), (6 * MINUTE, True), (HOUR, True), (-60, False), (-61, True), (-HOUR, True)],
)
def test_a_difference_that_is_known_stops_removals_and_cancellations(ahead: int, stops: bool) -> None:
    """From a minute on, in both directions. Growth goes on."""
    late = _waiting(NOW, made_seconds_ago=20 * MINUTE, ahead=ahead)
    plan, memory = decide(late, RULES, Memory(), NOW)
    assert (bool(of_kind(plan, ActionKind.CANCEL)), bool(memory.backoffs)) == (not stops, not stops)
    empty = ClusterBuilder()
    empty.group("general", nodes=2)
    empty.pods("web", 1, cpu="3", on=["general-1"])
    world = msgspec.structs.replace(empty.world(), clock_ahead_seconds=ahead)
    plan = plan_of(world, RULES, Memory(unneeded_since={"general-2": NOW - HOUR}))
    assert bool(of_kind(plan, ActionKind.REMOVE_NODE)) is not stops
    halted = [one.message for one in plan.problems if one.code == "RemovalsHalted"]
    assert bool(halted) is stops
    if ahead == HOUR:
        assert halted[0].startswith("the clock of this process is 1h ahead of the API server's")


def test_growth_goes_on_under_a_wrong_clock() -> None:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 1, cpu="3", on=["general-1"])
    cluster.pods("more", 1, cpu="3")
    plan = plan_of(msgspec.structs.replace(cluster.world(), clock_ahead_seconds=HOUR), RULES)
    assert [(line.current, line.desired) for line in plan.groups] == [(1, 2)]


def test_a_machine_whose_node_is_there_is_not_cancelled() -> None:
    """The machine does not name the node yet. Both have the same name."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.node("late", "4", "16Gi", labels={"pool": "general"})
    cluster.pods("web", 1, cpu="3", on=["late"])
    cluster.machine("late", machine_deployment("general"), created=NOW - HOUR)
    assert of_kind(plan_of(cluster.world(), RULES), ActionKind.CANCEL) == []


@pytest.mark.parametrize(
    ("written", "failed", "until"),
    [
        (NOW - 60, NOW - 60, NOW + 1740),
        (NOW + HOUR, NOW, NOW + 1800),
    ],
    ids=["by the right clock", "an hour ahead"],
)
def test_a_back_off_ends_after_its_longest_wait(written: int, failed: int, until: int) -> None:
    """30 minutes at most, from now on: the clock that wrote it may have been ahead."""
    state = BackoffState(failures=4, failed_seconds=written, until_seconds=written + 1800, reason="quota")
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    memory = decide(cluster.world(), RULES, Memory(backoffs={"general": state}), NOW)[1]
    assert (memory.backoffs["general"].failed_seconds, memory.backoffs["general"].until_seconds) == (failed, until)


def test_nothing_that_is_remembered_lies_in_the_future() -> None:
    """Timers that a clock ahead has started count from now, and the wait after the last addition is not longer."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="3", on=["general-1"])
    late = NOW + HOUR
    memory = Memory(
        unneeded_since={"general-2": late}, sizes={TARGET: SizeState(replicas=2, since_seconds=late)},
        last_added_seconds=late, last_removed_seconds=late, last_failed_seconds=late,
        purchase=Purchase(since={TARGET: late}, last_seconds=late), denials={f"growth {TARGET}": BackoffState(
            failures=1, failed_seconds=late, until_seconds=late + 30)},
    )  # fmt: skip
    after = decide(cluster.world(), RULES, memory, NOW)[1]
    assert after.unneeded_since == {"general-2": NOW}
    assert (after.last_added_seconds, after.last_removed_seconds, after.last_failed_seconds) == (NOW, NOW, NOW)
    assert after.sizes[TARGET].since_seconds == NOW
    assert after.denials[f"growth {TARGET}"].until_seconds == NOW + 300
