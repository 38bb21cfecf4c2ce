"""Requests for nodes that never came: taken back or asked for anew, and no healthy node goes for them."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import LastWrite, Memory, Outcome
from reconciler.plan.plan import Action, ActionKind
from reconciler.policy.documents import Hold, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, of_kind, plan_of

PROVISION_SECONDS = 900
TARGET = "MachineDeployment prod/general"


def _with_machines(*machines: str, nodes: int = 2, replicas: int | None = None, failed: str = "quota", **fields: object) -> World:
    """Nodes that run pods, and machines without node that failed."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes, replicas=nodes + len(machines) if replicas is None else replicas)
    cluster.pods("full", nodes, cpu="4", on=list(names))
    (target,) = cluster.world().targets
    for name in machines:
        cluster.machine(name, target.ref, created=NOW - 60, failed=failed)
    world = cluster.world()
    return msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], **fields),))


def _cancel(world: World, rules: PolicySet | None = None, memory: Memory | None = None) -> list[Action]:
    return of_kind(plan_of(world, rules or policy(node_group("general")), memory), ActionKind.CANCEL)


def test_exactly_the_failed_machine_goes() -> None:
    """Two nodes and a failed machine: 3 to 2, the machine is named, no node is."""
    (action,) = _cancel(_with_machines("late"))
    assert (action.from_, action.to, action.machines, action.nodes) == (3, 2, ("late",), ())
    assert action.reason.message == "machine late never became a node (quota) and is cancelled. The group keeps its 2 nodes"


@pytest.mark.parametrize(("age", "taken"), [(PROVISION_SECONDS - 1, 0), (PROVISION_SECONDS, 1)])
def test_a_machine_is_waited_for_until_its_time_is_over(age: int, taken: int) -> None:
    """899 of 900 seconds: upcoming; 900: taken back."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.machine("late", cluster.world().targets[0].ref, created=NOW - age)
    assert len(_cancel(cluster.world())) == taken


def test_a_group_never_falls_below_its_minimum_for_it() -> None:
    """Four replicas, two failed, minimum 3: one is taken back, the other one stays asked for."""
    plan = plan_of(_with_machines("a", "b"), policy(node_group("general", min=3)))
    (action,) = of_kind(plan, ActionKind.CANCEL)
    assert (action.to, action.machines) == (3, ("a",))
    assert group(plan, "general").desired == 3


def test_at_the_minimum_another_one_is_asked_for_after_the_back_off() -> None:
    """Minimum 3 with 2 nodes: nothing during the 300 s of the first back-off, then the machine is replaced, size kept."""
    world, rules = _with_machines("late"), policy(node_group("general", min=3))
    plan, memory = decide(world, rules, Memory(), NOW)
    assert not plan.actions
    assert "MachinesFailed" in codes(group(plan, "general"))
    plan, memory = decide(world, rules, memory, NOW + 299)
    assert not plan.actions
    plan, _ = decide(world, rules, memory, NOW + 300)
    (action,) = plan.actions
    assert (action.kind, action.from_, action.to, action.machines) == (ActionKind.CANCEL, 3, 3, ("late",))
    assert action.reason.code == "AskedAnew"
    assert plan.summary == "Plan: 1 machine requested again."


def test_a_write_that_the_target_has_not_followed_yet_takes_nothing_back_again() -> None:
    """Replicas are lowered already and the machine is still there for a moment: were it judged again, a node would go."""
    assert not _cancel(_with_machines("late", replicas=2))


def test_a_marked_machine_is_not_taken_back_twice() -> None:
    """Marked for deletion and on its way out: nothing more is taken back for it."""
    world = _with_machines("late")
    machines = tuple(msgspec.structs.replace(m, delete_marked=m.name == "late") for m in world.machines)
    assert not _cancel(msgspec.structs.replace(world, machines=machines))


@pytest.mark.parametrize("fields", [{"rolling_out": True}, {"selectable": False}])
def test_nothing_is_taken_back_where_another_machine_might_go(fields: dict[str, object]) -> None:
    """In a rollout, or where the target chooses by itself which machine goes."""
    assert not _cancel(_with_machines("late", **fields))


def test_a_held_group_is_left_alone() -> None:
    """The failure is told, nothing is written."""
    plan = plan_of(_with_machines("late"), policy(node_group("general", hold=Hold(reason="repair"))))
    assert not plan.actions
    assert codes(group(plan, "general"))[-1] == "MachinesFailed"


def test_failed_machines_do_not_stand_in_for_healthy_ones() -> None:
    """Maximum 2, two nodes and a failed machine: the group is not above its maximum, so no node is drained for it."""
    world = _with_machines("late")
    empty = msgspec.structs.replace(world, pods=type(world.pods)([]))
    plan = plan_of(empty, policy(node_group("general", min=2, max=2)))
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    assert "AboveMax" not in codes(group(plan, "general"))


def test_replicas_without_any_machine_are_taken_back_in_time() -> None:
    """Five asked for, three instances, and nobody says since when: from the first sight on, 900 s later, down to three."""
    cluster = ClusterBuilder()
    cluster.pods("full", 3, cpu="4", on=list(cluster.group("general", nodes=3, replicas=5)))
    world, rules, memory = cluster.world(), policy(node_group("general")), Memory()
    for seconds in (0, PROVISION_SECONDS - 1):
        plan, memory = decide(world, rules, memory, NOW + seconds)
        assert not plan.actions
    plan, _ = decide(world, rules, memory, NOW + PROVISION_SECONDS)
    (action,) = plan.actions
    assert (action.kind, action.from_, action.to, action.machines) == (ActionKind.CANCEL, 5, 3, ())
    assert action.reason.message.startswith("2 requests without a machine never became a node (no machine within 15m)")


def test_a_larger_size_gives_no_more_time_to_earlier_requests() -> None:
    """Raised from 4 to 5 in between: only the new request is still waited for."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=4)
    cluster.pods("full", 3, cpu="4", on=["general-1", "general-2", "general-3"])
    rules = policy(node_group("general"))
    _, memory = decide(cluster.world(), rules, Memory(), NOW)
    world = cluster.world()
    raised = msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], replicas=5),))
    _, memory = decide(raised, rules, memory, NOW + 60)
    plan, _ = decide(raised, rules, memory, NOW + PROVISION_SECONDS)
    (action,) = plan.actions
    assert (action.kind, action.from_, action.to, action.machines) == (ActionKind.CANCEL, 5, 4, ())


def test_an_instance_that_does_not_say_its_age_is_waited_for_from_its_first_sight() -> None:
    """AWS tells no creation time: 900 s after it was first seen it counts as failed."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.machine("i-1", cluster.world().targets[0].ref)
    world = cluster.world()
    machines = tuple(msgspec.structs.replace(m, created_seconds=0) if m.name == "i-1" else m for m in world.machines)
    world, rules = msgspec.structs.replace(world, machines=machines), policy(node_group("general"))
    plan, memory = decide(world, rules, Memory(), NOW)
    assert not plan.actions
    plan, _ = decide(world, rules, memory, NOW + PROVISION_SECONDS)
    assert [action.machines for action in of_kind(plan, ActionKind.CANCEL)] == [("i-1",)]


def test_what_was_taken_back_is_remembered_as_our_write() -> None:
    """So that nobody else's write is suspected when the replicas are next seen."""
    outcome = Outcome(kind=ActionKind.CANCEL, group="general", target=TARGET, to=2, done=True, at_seconds=NOW, generation=7)
    memory = settle(Memory(), (outcome,))
    assert memory.last_writes == {TARGET: LastWrite(replicas=2, generation=7, written_seconds=NOW)}
    assert (memory.last_added_seconds, memory.last_removed_seconds) == (0, 0)


@pytest.mark.parametrize(("age", "taken_back"), [(30, False), (899, False), (900, True)])
def test_a_machine_that_is_still_made_is_waited_for_though_it_has_an_error(age: int, *, taken_back: bool) -> None:
    """Bare metal: no host is free yet. The request is taken back after `maxNodeProvisionTime` (15m), with the last error."""
    cluster = ClusterBuilder()
    ref = cluster.target("metal", 1)
    cluster.machine("metal-a", ref, created=NOW - age, last_error="InsufficientResources: no host")
    plan = plan_of(cluster.world(), policy(node_group("metal")))
    actions = of_kind(plan, ActionKind.CANCEL)
    assert [action.machines for action in actions] == [("metal-a",)] * taken_back
    assert all("no node within 15m, last error InsufficientResources: no host" in one.reason.message for one in actions)
