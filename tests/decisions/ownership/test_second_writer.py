"""What counts as a write of ours undone by a second writer, how long that is remembered, and when it is forgotten."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import ConflictState, LastWrite, Memory
from reconciler.plan.plan import OwnerState, Plan
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import group

TARGET = str(machine_deployment("reserved"))
RULES = policy(node_group("reserved", max=3))


def _decided(
    *, conflict: ConflictState | None = None, write: LastWrite | None = None, generation: int = 2, leaving: bool = False
) -> tuple[Plan, Memory]:
    """One more decision over one full node where we wrote 3, with what is remembered of that target."""
    cluster = ClusterBuilder()
    names = cluster.group("reserved", nodes=1)
    cluster.pods("train", 1, cpu="4", on=names[0])
    world = cluster.world()
    (facts,) = world.targets
    world = msgspec.structs.replace(world, targets=(msgspec.structs.replace(facts, generation=generation),))
    memory = Memory(
        conflicts={} if conflict is None else {TARGET: conflict},
        last_writes={} if write is None else {TARGET: write},
        leaving={names[0]: NOW - 60} if leaving else {},
    )
    return decide(world, RULES, memory, NOW)


def _undone(count: int, last_seconds: int) -> ConflictState:
    return ConflictState(count=count, last_seconds=last_seconds, writer="platform", ours=3, theirs=1)


WROTE = LastWrite(replicas=3, generation=1, written_seconds=NOW - 60)


@pytest.mark.parametrize(("age_seconds", "count"), [(3599, 3), (3600, 2), (7199, 2), (7200, 1), (10_800, 1)])
def test_a_count_below_three_falls_by_one_each_quiet_hour(age_seconds: int, count: int) -> None:
    """Two undone writes, and one more after a part of the reset of the back-off (3h): the third, or a second or first again."""
    plan, memory = _decided(conflict=_undone(2, NOW - age_seconds), write=WROTE)
    assert memory.conflicts[TARGET].count == count
    assert (group(plan, "reserved").owner.state is OwnerState.HELD) is (count == 3)


def test_the_hold_of_three_undone_writes_does_not_end_by_itself() -> None:
    """A week later it stands, and names the writer and both values."""
    state = _undone(3, NOW - 7 * 86_400)
    plan, memory = _decided(conflict=state)
    assert dict(memory.conflicts) == {TARGET: state}
    assert "platform undid our writes 3 times, the last from 3 to 1" in " ".join(group(plan, "reserved").owner.evidence)


@pytest.mark.parametrize(("generation", "counted"), [(5, False), (6, True)])
def test_a_view_that_is_older_than_our_write_is_no_undone_write(generation: int, counted: bool) -> None:
    """Our write made generation 5: another size is somebody's only when it came after that."""
    write = LastWrite(replicas=3, generation=5, written_seconds=NOW - 60)
    _, memory = _decided(write=write, generation=generation)
    assert (TARGET in memory.conflicts) is counted
    assert dict(memory.last_writes) == ({} if counted else {TARGET: write})


def test_nothing_is_counted_while_nodes_of_the_group_are_leaving() -> None:
    """Their deletion moves the replicas by our own doing."""
    _, memory = _decided(write=WROTE, leaving=True)
    assert not memory.conflicts


def test_a_value_under_our_field_manager_that_we_did_not_write_is_another_installations() -> None:
    """We wrote 3, there is 1, and the only entry is that of our manager: a loop of another namespace or cluster shares it."""
    _, memory = _decided(write=WROTE)
    assert memory.conflicts[TARGET].writer == "another installation of the reconciler, by field manager nodegroup-reconciler,"
