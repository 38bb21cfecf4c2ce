"""Same input, same bytes: whatever the hash seed, the order of the input or the working directory."""

import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.summary import canonical_json
from reconciler.policy.documents import PolicySet
from reconciler.simulation.settled import settled
from tests.properties.random_clusters import random_cluster

ROOT = Path(__file__).parents[2]
SCRIPT = """
import hashlib, msgspec
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.summary import canonical_json
from reconciler.simulation.settled import settled
from tests.properties.random_clusters import random_cluster
for seed in range(12):
    start = random_cluster(seed)
    now = start.world.captured_seconds
    plan, memory = decide(start.world, start.policy, Memory(), now)
    plan = settled(start.world, start.policy, memory, now, plan)
    print(seed, hashlib.sha256(canonical_json(plan) + msgspec.json.encode(memory)).hexdigest())
"""


def _output(tmp_path: Path, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_hash_seed_and_working_directory_do_not_matter(tmp_path):
    """Plans, settled columns and memories of twelve clusters, in other processes and other directories."""
    first = _output(tmp_path, "0")
    (tmp_path / "elsewhere").mkdir()
    assert first.count("\n") == 12
    assert _output(tmp_path / "elsewhere", "4711") == first


def _plan(world: World, rules: PolicySet) -> bytes:
    plan, memory = decide(world, rules, Memory(), world.captured_seconds)
    return canonical_json(settled(world, rules, memory, world.captured_seconds, plan))


@pytest.mark.parametrize("seed", range(20))
def test_order_of_groups_and_shapes_does_not_matter(seed):
    """Groups of the policy, and the tables of node shapes and traits, in another order: the same plan."""
    start = random_cluster(seed)
    rng = random.Random(seed)
    groups = list(start.policy.groups)
    rng.shuffle(groups)
    shuffled = msgspec.structs.replace(start.policy, groups=tuple(groups))
    assert _plan(_other_tables(start.world, rng), shuffled) == _plan(start.world, start.policy)


def _other_tables(world: World, rng: random.Random) -> World:
    """The same World with its tables in another order."""
    nodes, node_at = _shuffled(world.node_shapes, rng)
    traits, traits_at = _shuffled(world.pod_traits, rng)
    return msgspec.structs.replace(
        world,
        node_shapes=nodes,
        nodes=tuple(msgspec.structs.replace(node, shape=node_at[node.shape]) for node in world.nodes),
        pod_traits=traits,
        pods=PodTable(msgspec.structs.replace(pod, traits=traits_at[pod.traits]) for pod in world.pods),
    )


def _shuffled(values: tuple, rng: random.Random) -> tuple[tuple, dict[int, int]]:
    order = list(range(len(values)))
    rng.shuffle(order)
    return tuple(values[index] for index in order), {old: new for new, old in enumerate(order)}
