"""Back-offs: one for all machines of one purchase, longer for the next failure, forgotten after a quiet time."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import BackoffState, ConflictState, Memory
from reconciler.decisions.situation.backoff import forget
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Hold
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import group, plan_of

RULES = policy(node_group("spot"))


def _failed(memory: Memory, now: int, machines: int) -> Memory:
    """What is remembered after a decision that sees so many failed machines."""
    cluster = ClusterBuilder()
    target = cluster.target("spot", machines)
    for number in range(machines):
        cluster.machine(f"spot-{number}", target, failed="InsufficientInstanceCapacity")
    return decide(cluster.world(), RULES, memory, now)[1]


def test_another_machine_of_the_same_purchase_does_not_lengthen_it() -> None:
    """The second machine fails a minute after the first: five minutes from the first one, as one failure."""
    memory = _failed(Memory(), NOW, 1)
    memory = _failed(memory, NOW + 60, 2)
    state = memory.backoffs["spot"]
    assert (state.failures, state.until_seconds) == (1, NOW + 300)


def test_failures_in_a_row_wait_5_10_20_30_30_minutes() -> None:
    """Each new machine fails when the back-off before it is over."""
    memory, now, waited = Memory(), NOW, []
    for machines in range(1, 6):
        memory = _failed(memory, now, machines)
        waited.append((memory.backoffs["spot"].until_seconds - now) // 60)
        now = memory.backoffs["spot"].until_seconds
    assert waited == [5, 10, 20, 30, 30]


@pytest.mark.parametrize(("age_seconds", "kept"), [(10_799, True), (10_800, False)])
def test_it_is_dropped_from_the_memory_three_hours_after_the_last_failure(age_seconds: int, kept: bool) -> None:
    """So that a memory does not grow for ever."""
    state = BackoffState(failures=3, failed_seconds=NOW - age_seconds, until_seconds=NOW - age_seconds + 1200)
    cluster = ClusterBuilder()
    cluster.target("spot", 0)
    _, memory = decide(cluster.world(), RULES, Memory(backoffs={"spot": state}), NOW)
    assert dict(memory.backoffs) == ({"spot": state} if kept else {})


def test_the_end_of_a_hold_forgets_what_it_was_about_and_nothing_else() -> None:
    """Back-off and count of conflicts of the group that resumes; those of others stay, those of groups that are gone do not."""
    cluster = ClusterBuilder()
    for name in ("free", "other"):
        cluster.target(name, 0)
    groups = effective_groups(cluster.world(), policy(node_group("free"), node_group("other")), NOW)
    state = BackoffState(failures=1, failed_seconds=NOW - 60, until_seconds=NOW + 240)
    seen = ConflictState(count=2, last_seconds=NOW - 60, writer="somebody", ours=1, theirs=2)
    targets = [str(machine_deployment(name)) for name in ("free", "other")]
    memory = Memory(backoffs=dict.fromkeys(("free", "other", "gone"), state), conflicts=dict.fromkeys(targets, seen))
    after = forget(memory, groups, frozenset({"free"}), NOW)
    assert (after.backoffs, after.conflicts) == ({"other": state}, {targets[1]: seen})
    assert forget(memory, groups, frozenset(), NOW).conflicts == memory.conflicts


@pytest.mark.parametrize("held", [False, True])
def test_a_held_group_keeps_requests_that_failed(held: bool) -> None:
    """Nothing is taken back of it; what it would do is told beside."""
    cluster = ClusterBuilder()
    cluster.group("spot", nodes=2, replicas=3)
    cluster.machine("spot-3", machine_deployment("spot"), failed="InsufficientInstanceCapacity")
    rules = policy(node_group("spot", hold=Hold(reason="repair") if held else None))
    line = group(plan := plan_of(cluster.world(), rules), "spot")
    assert (line.current, line.desired, line.wanted) == (3, 3 if held else 2, 2 if held else line.wanted)
    assert [action.kind for action in plan.actions] == ([] if held else [ActionKind.CANCEL])
