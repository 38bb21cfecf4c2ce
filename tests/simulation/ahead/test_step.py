"""What a decision foresees, carried out on whole columns: where nodes, machines, pods, sizes and budgets stand after it."""

from collections import Counter

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, TargetRef
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.decide import Decision, decide_ahead
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.policy.documents import PolicySet, ScaleDown
from reconciler.simulation.step_ahead import Step, is_plain, step
from tests.benchmarks.mixed.situations import small
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy, selector

LATER = NOW + 600


def _decided(world: World, rules: PolicySet) -> Decision:
    return decide_ahead(world, rules, Memory(), NOW, Work(10**9))


def _step(cluster: ClusterBuilder, rules: PolicySet) -> Step | None:
    world = cluster.world()
    decision = _decided(world, rules)
    assert decision.foreseen is not None
    return step(world, decision.foreseen, decision.memory, LATER)


def _on(world: World) -> dict[str, str]:
    """Pods by name, and where they are."""
    return {pod.name: world.nodes[pod.node].name if pod.node >= 0 else "" for pod in world.pods}


def _sizes(world: World) -> dict[str, int | None]:
    return {facts.ref.name: facts.replicas for facts in world.targets}


def test_pods_move_from_a_node_that_leaves():
    """The half empty node goes with its DaemonSet pod; what ran there runs on the other, and is the same pod to everybody."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 4, cpu="800m", on=["general-1", "general-1", "general-1", "general-2"])
    cluster.daemonset("log")
    done = _step(cluster, policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600))))
    assert done is not None
    assert _on(done.world) == dict.fromkeys(("log-general-1", "web-1", "web-2", "web-3", "web-4"), "general-1")
    assert [machine.name for machine in done.world.machines] == ["general-1"]
    assert _sizes(done.world) == {"general": 1}
    assert (done.evicted, done.joined) == (("shop/web-4",), {})
    assert (done.memory.last_removed_seconds, done.memory.last_writes["MachineDeployment prod/general"].replicas) == (LATER, 1)


def test_pods_that_wait_go_onto_new_nodes():
    """Two pods that fill a node each: two nodes join behind those that are there, with a machine and a DaemonSet pod each, and
    take the names that come next."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.daemonset("log")
    cluster.pods("old", 1, cpu="3", on="general-1")
    cluster.pods("web", 2, cpu="3")
    done = _step(cluster, policy(node_group("general", max=5)))
    assert done is not None
    assert [node.name for node in done.world.nodes] == ["general-1", "general-2", "general-3"]
    assert {machine.name: (machine.node, machine.target) for machine in done.world.machines} == {
        name: (name, machine_deployment("general")) for name in ("general-1", "general-2", "general-3")
    }
    where = _on(done.world)
    assert sorted((where["web-1"], where["web-2"])) == ["general-2", "general-3"]
    assert {name: node for name, node in where.items() if name.startswith("log")} == {
        f"log-general-{number}": f"general-{number}" for number in (1, 2, 3)
    }
    assert all(pod.ready and not pod.unschedulable_seconds for pod in done.world.pods)
    assert (done.evicted, dict(done.joined), _sizes(done.world)) == ((), {"general": 2}, {"general": 3})
    owner = done.world.targets[0].owner.owners
    assert [(entry.manager, entry.operation, entry.time_seconds) for entry in owner] == [("nodegroup-reconciler", "Apply", LATER)]


def test_budgets_count_pods_that_begin_to_run():
    """Of three pods one waits, so that one may be missing no more; when it runs one may be."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("web", 3, cpu="1", on=["general-1", "general-1", None])
    cluster.budget("web", max_unavailable="1", allowed=0, healthy=2, desired=2, expected=3)
    done = _step(cluster, policy(node_group("general")))
    assert done is not None
    assert [(budget.current_healthy, budget.disruptions_allowed) for budget in done.world.budgets] == [(3, 1)]


def _plain() -> ClusterBuilder:
    """Two nodes of which one can take the other's pod."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 3, cpu="900m", on=["general-1", "general-1", "general-2"])
    return cluster


RULES = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600)))


def _with_target(world: World, **fields: object) -> World:
    owner = msgspec.structs.replace(world.targets[0].owner, **fields)
    return msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], owner=owner),))


def _with_shape(world: World, **fields: object) -> World:
    return msgspec.structs.replace(
        world, pod_shapes=tuple(msgspec.structs.replace(shape, **fields) for shape in world.pod_shapes)
    )


def _with_traits(world: World, **fields: object) -> World:
    return msgspec.structs.replace(
        world, pod_traits=tuple(msgspec.structs.replace(traits, **fields) for traits in world.pod_traits)
    )


def _below(world: World) -> World:
    facts = world.targets[0]
    set_ref = TargetRef(kind="MachineSet", namespace="prod", name="general-x")
    owner = msgspec.structs.replace(facts.owner, controller="MachineDeployment prod/general")
    return msgspec.structs.replace(world, targets=(facts, msgspec.structs.replace(facts, ref=set_ref, owner=owner)))


def _twice_protected(world: World) -> World:
    """The eviction API refuses pods under two budgets."""
    fields = {"namespace": "shop", "selector": selector(app="web"), "disruptions_allowed": 2, "expected_pods": 3}
    return msgspec.structs.replace(world, budgets=tuple(DisruptionBudget(name=name, **fields) for name in "ab"))


_OTHER = FieldOwner(manager="somebody", operation="Apply", time_seconds=NOW - 9)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda world: _with_target(world, owners=(_OTHER,)), id="another owner would refuse the write"),
        pytest.param(lambda world: _with_target(world, hold="repair"), id="somebody holds the target"),
        pytest.param(lambda world: _with_target(world, topology_owned=True), id="a topology puts its value back"),
        pytest.param(_below, id="a MachineSet below follows"),
        pytest.param(lambda world: _with_shape(world, claims=("gpu",)), id="a device goes with the pod"),
        pytest.param(lambda world: _with_traits(world, controller=None), id="nobody makes the pod again"),
        pytest.param(_twice_protected, id="two budgets take the pod"),
        pytest.param(lambda world: msgspec.structs.replace(world, targets=()), id="the target is gone"),
    ],
)
def test_what_is_more_than_moving_is_left_to_be_played(change):
    """The decision was made of the plain World, so that it foresees a removal."""
    world = _plain().world()
    decision = _decided(world, RULES)
    assert decision.foreseen is not None
    assert step(world, decision.foreseen, decision.memory, LATER) is not None
    assert step(change(world), decision.foreseen, decision.memory, LATER) is None


def test_a_budget_without_status_is_left_to_be_played():
    """How many it allows once a pod runs cannot be told from what was captured."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("web", 1, cpu="1")
    cluster.budget("web", max_unavailable="1")
    assert _step(cluster, policy(node_group("general"))) is None


@pytest.mark.parametrize("field", ["deletion_seconds", "nominated", "unknown_node"])
def test_pods_that_end_or_are_promised_are_not_plain(field: str):
    """Such pods are played."""
    world = _plain().world()
    assert is_plain(world)
    value = "gone" if field == "unknown_node" else 0 if field == "nominated" else NOW
    first, *others = world.pods
    rows = [msgspec.structs.replace(first, **{field: value}), *others]
    assert not is_plain(msgspec.structs.replace(world, pods=PodTable(rows)))


@pytest.mark.parametrize("seed", range(20))
def test_what_stands_after_a_step(seed: int):
    """Random clusters with most rules: rows in order, every pod where it was or on a node that stays or joined, no node fuller
    than it offers, as many machines and nodes as replicas, nothing lost but what ends with its node."""
    world, rules, memory = small(seed)
    decision = decide_ahead(world, rules, memory, NOW, Work(10**9))
    done = None if decision.foreseen is None else step(world, decision.foreseen, decision.memory, LATER)
    if done is None:
        return
    after, pods = done.world, done.world.pods
    keys = list(zip(pods.namespace, pods.name, strict=True))
    assert keys == sorted(set(keys))
    assert [node.name for node in after.nodes] == sorted(node.name for node in after.nodes)
    there = {node.name for node in after.nodes}
    moved = {*done.evicted, *(world.pods.key(row) for row in world.pods.pending())}
    before = {pod.key: world.nodes[pod.node].name if pod.node >= 0 else "" for pod in world.pods}
    now = {pod.key: after.nodes[pod.node].name if pod.node >= 0 else "" for pod in pods}
    assert all(now[key] == node for key, node in before.items() if key in now and key not in moved)
    daemons = {key for key, pod in zip(before, world.pods, strict=True) if world.pod_traits[pod.traits].daemonset}
    assert {key for key in before if key not in now} <= {key for key in daemons if before[key] not in there}
    cpu: Counter[int] = Counter()
    for pod in pods:
        cpu[pod.node] += after.pod_shapes[pod.shape].requests.cpu_milli
    assert all(
        many <= after.node_shapes[after.nodes[node].shape].allocatable.cpu_milli for node, many in cpu.items() if node >= 0
    )
    machines = Counter(machine.target for machine in after.machines if machine.target is not None)
    assert all(machines[facts.ref] == facts.replicas for facts in after.targets)
    assert {machine.node for machine in after.machines} <= there
