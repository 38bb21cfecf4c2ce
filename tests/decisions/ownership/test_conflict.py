"""A second writer is found by what it does to our writes, and ends in a hold that names it."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import ConflictState, LastWrite, Memory, Outcome
from reconciler.decisions.ownership.second_writer import other_autoscalers
from reconciler.plan.plan import ActionKind, OwnerState, Plan
from reconciler.policy.documents import Hold, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group

RULES = policy(node_group("reserved", max=2))


def _world(owners: tuple[FieldOwner, ...] = (), generation: int = 1) -> World:
    """One node, full, and a pod that asks for a second one: whoever sets replicas back to 1 undoes what we write."""
    cluster = ClusterBuilder()
    cluster.group("reserved", nodes=1, owners=owners)
    cluster.pods("train", 1, cpu="4", on="reserved-1")
    cluster.pods("waiting", 1, cpu="4")
    world = cluster.world()
    return msgspec.structs.replace(
        world, targets=tuple(msgspec.structs.replace(facts, generation=generation) for facts in world.targets)
    )


def _loops(count: int, owners: tuple[FieldOwner, ...] = (), rules: PolicySet = RULES) -> tuple[list[bool], Memory]:
    """Whether each loop wrote, when every write is undone before the next loop."""
    memory, wrote = Memory(), []
    for number in range(count):
        now = NOW + 60 * number
        plan, memory = decide(_world(owners, generation=1 + 2 * number), rules, memory, now)
        resizes = [action for action in plan.actions if action.kind is ActionKind.RESIZE]
        wrote.append(bool(resizes))
        memory = settle(
            memory,
            tuple(
                Outcome(
                    kind="Resize",
                    group="reserved",
                    target=a.target,
                    to=a.to,
                    done=True,
                    at_seconds=now,
                    generation=2 * number + 2,
                )
                for a in resizes
            ),
        )
    return wrote, memory


def test_three_undone_writes_end_in_a_hold() -> None:
    """Three writes, each undone; from the fourth loop on nothing is written."""
    wrote, memory = _loops(8)
    assert wrote == [True, True, True, False, False, False, False, False]
    plan, _ = decide(_world(generation=99), RULES, memory, NOW + 600)
    line = group(plan, "reserved")
    assert (line.owner.state, line.owner.by, line.wanted) == (OwnerState.HELD, "a second writer", 2)
    assert "undid our writes 3 times, the last from 2 to 1" in line.owner.evidence[0]


def test_the_writer_is_named_when_it_leaves_a_trace() -> None:
    """An Update by another manager is in managedFields."""
    platform = FieldOwner(manager="crusoe-nodepool", operation="Update", time_seconds=NOW)
    _, memory = _loops(4, (platform,), policy(node_group("reserved", max=2), adopt_from=("crusoe-nodepool",)))
    assert next(iter(memory.conflicts.values())).writer == "crusoe-nodepool"


def test_a_hold_and_its_end_start_the_count_afresh() -> None:
    """After the other writer was stopped, a hold and its release resume decisions."""
    _, memory = _loops(4)
    paused = policy(node_group("reserved", max=2, hold=Hold(reason="recovering a node")))
    _, memory = decide(_world(generation=99), paused, memory, NOW + 600)
    plan, memory = decide(_world(generation=99), RULES, memory, NOW + 660)
    assert not memory.conflicts
    assert [action.kind for action in plan.actions] == [ActionKind.RESIZE]


def test_one_write_by_somebody_else_is_no_conflict() -> None:
    """A person who sets the size once is not a second writer."""
    _, memory = _loops(1)
    plan, memory = decide(_world(generation=99), RULES, memory, NOW + 60)
    assert group(plan, "reserved").owner.state is OwnerState.OURS
    assert next(iter(memory.conflicts.values())).count == 1


def _scaled_to_zero(minutes_later: int, hold_seconds: int = 3600) -> Plan:
    """We wrote 2; then somebody scaled to 0, which leaves no entry in managedFields; so much later."""
    rules = policy(node_group("reserved", max=2), human_hold_time_seconds=hold_seconds)
    written = Outcome(
        kind="Resize", group="reserved", target=str(_world().targets[0].ref), to=2, done=True, at_seconds=NOW, generation=2
    )
    memory = settle(Memory(), (written,))
    world = _world(generation=3)
    emptied = msgspec.structs.replace(world, targets=tuple(msgspec.structs.replace(facts, replicas=0) for facts in world.targets))
    _, memory = decide(emptied, rules, memory, NOW + 60)
    return decide(emptied, rules, memory, NOW + 60 + 60 * minutes_later)[0]


def test_a_scale_to_zero_that_left_no_trace_holds_like_a_persons_write() -> None:
    """`kubectl scale --replicas=0` drops our entry and leaves none of its own: an hour, the default, nothing is written."""
    line = group(_scaled_to_zero(59), "reserved")
    assert (line.owner.state, line.owner.by) == (OwnerState.HELD, "a writer without a name")
    assert line.owner.evidence[0] == "our replicas 2 became 0 through a write that left no trace"


def test_it_is_ours_again_when_the_time_of_a_persons_write_is_over() -> None:
    """After the hour, or at once where the policy holds for no time."""
    assert group(_scaled_to_zero(60), "reserved").owner.state is OwnerState.OURS
    assert group(_scaled_to_zero(0, hold_seconds=0), "reserved").owner.state is OwnerState.OURS


def test_other_autoscalers_are_deployments_of_that_name_that_run() -> None:
    """In whatever namespace; one without replicas does nothing, and what a Deployment makes is not named beside it."""
    cluster = ClusterBuilder()
    for kind, namespace, name, replicas in (
        ("Deployment", "kube-system", "cluster-autoscaler", 1),
        ("Deployment", "prod", "aws-cluster-autoscaler", 2),
        ("Deployment", "shop", "cluster-autoscaler", 0),
        ("Deployment", "shop", "web", 3),
        ("ReplicaSet", "kube-system", "cluster-autoscaler-7d9", 1),
    ):
        cluster.controller(name, kind, replicas, namespace=namespace)
    assert other_autoscalers(cluster.world()) == (
        "Deployment kube-system/cluster-autoscaler",
        "Deployment prod/aws-cluster-autoscaler",
    )


@pytest.mark.parametrize(
    ("names", "writer"),
    [
        ((), "a writer that leaves no trace in managedFields"),
        (("cluster-autoscaler",), "Deployment kube-system/cluster-autoscaler, which signs nothing,"),
        (("b-cluster-autoscaler", "a-cluster-autoscaler"), "Deployment kube-system/a-cluster-autoscaler or "
         "Deployment kube-system/b-cluster-autoscaler, which signs nothing,"),
    ],
)  # fmt: skip
def test_who_it_was_where_nobody_has_signed(names: tuple[str, ...], writer: str) -> None:
    """The autoscalers that run beside us, if there are any."""
    world = _world()
    (target,) = world.targets
    cluster = ClusterBuilder()
    for name in names:
        cluster.controller(name, "Deployment", 1, namespace="kube-system")
    memory = Memory(last_writes={str(target.ref): LastWrite(replicas=2)})
    world = msgspec.structs.replace(world, controllers=(*world.controllers, *cluster.world().controllers))
    _, memory = decide(world, RULES, memory, NOW)
    assert memory.conflicts[str(target.ref)].writer == writer


def test_a_target_that_is_gone_undoes_nothing() -> None:
    """What was written to it is known no more; that is nobody's write."""
    world = _world()
    target = str(world.targets[0].ref)
    memory = Memory(last_writes={target: LastWrite(replicas=2)})
    plan, after = decide(msgspec.structs.replace(world, targets=()), RULES, memory, NOW)
    assert (after.conflicts, group(plan, "reserved").owner.state) == ({}, OwnerState.UNKNOWN)


@pytest.mark.parametrize(("written", "now", "counted"), [(0, 0, True), (0, 5, True), (4, 5, True), (5, 5, False), (6, 5, False)])
def test_another_value_is_another_write_when_the_generation_says_so(written: int, now: int, counted: bool) -> None:
    """A platform without generations (0) tells by the value alone; what was read before our write came through is no answer."""
    world = _world(generation=now)
    target = str(world.targets[0].ref)
    _, memory = decide(world, RULES, Memory(last_writes={target: LastWrite(replicas=2, generation=written)}), NOW)
    assert (target in memory.conflicts) is counted


@pytest.mark.parametrize(("again", "held"), [(False, True), (True, False)])
def test_a_write_of_ours_after_it_ends_what_a_scale_to_zero_holds(again: bool, held: bool) -> None:
    """We wrote 2, somebody scaled to 0; then we wrote 0 ourselves."""
    world = _world(generation=3)
    world = msgspec.structs.replace(world, targets=tuple(msgspec.structs.replace(facts, replicas=0) for facts in world.targets))
    target = str(world.targets[0].ref)
    nobody = tuple(msgspec.structs.replace(facts, owner=OwnerEvidence()) for facts in world.targets)
    state = ConflictState(count=1, last_seconds=NOW - 60, writer="", ours=2, theirs=0)
    ours = {target: LastWrite(replicas=0, generation=3)} if again else {}
    plan, _ = decide(
        msgspec.structs.replace(world, targets=nobody), RULES, Memory(conflicts={target: state}, last_writes=ours), NOW
    )
    assert (group(plan, "reserved").owner.state is OwnerState.HELD) is held


@pytest.mark.parametrize("replicas", [2, None])
def test_what_we_wrote_or_nobody_can_read_is_no_conflict(replicas: int | None) -> None:
    """Our own value in a later generation, and a target that does not say its size."""
    world = _world(generation=9)
    world = msgspec.structs.replace(
        world, targets=tuple(msgspec.structs.replace(one, replicas=replicas) for one in world.targets)
    )
    _, memory = decide(world, RULES, Memory(last_writes={str(world.targets[0].ref): LastWrite(replicas=2, generation=4)}), NOW)
    assert memory.conflicts == {}
