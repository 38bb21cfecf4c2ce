"""Back-offs: one for all machines of one purchase, longer for the next failure, forgotten after a quiet time."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, Memory
from tests.builders import NOW, ClusterBuilder, node_group, policy

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
