"""What takes long elsewhere ends in the steady state: grace periods, Jobs that are awaited, finalizers and lifecycle hooks."""

import random

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import DrainRules, JobRule, PolicySet, ScaleDown
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.random_clusters import random_cluster

HOURS = 6 * 3_600
AT_ONCE = ScaleDown(unneeded_time_seconds=0)


def _settled(world: World, rules: PolicySet) -> dict[str, int | None]:
    plan, memory = decide(world, rules, Memory(), NOW)
    return {line.name: line.settled for line in settled(world, rules, memory, NOW, plan).groups}


def _ending(world: World, names: set[str], seconds: int) -> World:
    rows = [msgspec.structs.replace(row, deletion_seconds=NOW + seconds if row.name in names else 0) for row in world.pods]
    return msgspec.structs.replace(world, pods=PodTable(rows))


@pytest.mark.parametrize("grace", [30, HOURS])
def test_a_pod_that_ends_slowly(grace: int):
    """general-1 has one pod, which has hours left to end, and general-2 has room: one node in the end, as with 30 seconds."""
    cluster = ClusterBuilder()
    cluster.pods("web", 2, cpu="1", on=cluster.group("general", nodes=2), replicas=1)
    assert _settled(_ending(cluster.world(), {"web-1"}, grace), policy(node_group("general"))) == {"general": 1}


@pytest.mark.parametrize(("cpu", "nodes"), [("1", 1), ("3", 2)])
def test_a_job_that_a_removal_waits_for(cpu: str, nodes: int):
    """Its node leaves when it has finished. A node in use does not wait for it, and stays for the demand of today."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("etl", 1, cpu=cpu, on="general-1", owner="Job", traits={"restart_policy": "Never"})
    cluster.pods("web", 1, cpu="3", on="general-2")
    rules = policy(node_group("general", scale_down=AT_ONCE), drain=DrainRules(jobs=JobRule.WAIT))
    assert _settled(cluster.world(), rules) == {"general": nodes}


@pytest.mark.parametrize("object_deleted", ["node", "machine"])
def test_a_node_that_a_finalizer_or_a_hook_keeps(object_deleted: str):
    """One of three nodes is being deleted, and replicas are two already. Its pod needs the place that the third one has."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=2)
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    world = cluster.world()
    nodes = [msgspec.structs.replace(one, deleting=object_deleted == "node" and one.name == "general-1") for one in world.nodes]
    machines = [
        msgspec.structs.replace(one, deleting=object_deleted == "machine" and one.node == "general-1") for one in world.machines
    ]
    world = msgspec.structs.replace(world, nodes=tuple(nodes), machines=tuple(machines))
    assert _settled(world, policy(node_group("general", scale_down=AT_ONCE))) == {"general": 2}


@pytest.mark.seeds(10)
def test_grace_periods_decide_nothing(seed: int):
    """Some pods of a random cluster are ending: in half a minute or in hours, the steady state is the same."""
    drawn = random_cluster(seed)
    rng = random.Random(seed)
    names = {pod.name for pod in drawn.world.pods if pod.node >= 0 and rng.random() < 0.3}
    soon, late = (_settled(_ending(drawn.world, names, seconds), drawn.policy) for seconds in (30, HOURS))
    assert soon == late
