"""The cluster that examples/make_openb.py makes from the openb tables."""

import csv
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "examples" / "data" / "openb"
GPU = "example.com/gpu-milli"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "make_openb.py"))


@pytest.fixture(scope="module")
def made(script: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("openb")
    script["make"](out, TABLES / "pods.csv", TABLES / "nodes.csv")
    return out


@pytest.fixture(scope="module")
def world(made: Path) -> World:
    return load_world(made)


def table(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_counts(world: World) -> None:
    """1,523 nodes of 27 shapes; of 8,152 pods the 1,870 Failed and 192 Succeeded ones are gone."""
    assert len(table("pods.csv")) == 8152
    assert (len(world.nodes), len(world.node_shapes), len(world.pods)) == (1523, 27, 6090)
    assert Counter(pod.phase.value for pod in world.pods) == {"Running": 5193, "Pending": 897}


def test_every_node_and_pod_is_as_in_the_table(world: World) -> None:
    """Amounts come out as the tables have them."""
    capacity = {node.name: world.node_shapes[node.shape].capacity for node in world.nodes}
    for row in table("nodes.csv"):
        wanted = Resources.of(
            {"cpu": int(row["cpu_milli"]), "memory": int(row["memory_mib"]) << 20, "pods": 110, GPU: 1000 * int(row["gpu"])}
        )
        assert capacity[row["sn"]] == wanted
    requests = {pod.name: world.pod_shapes[pod.shape].requests for pod in world.pods}
    for row in table("pods.csv"):
        if row["pod_phase"] in ("Running", "Pending"):
            cards = int(row["num_gpu"]) * int(row["gpu_milli"])
            wanted = Resources.of({"cpu": int(row["cpu_milli"]), "memory": int(row["memory_mib"]) << 20, "pods": 1, GPU: cards})
            assert requests[row["name"]] == wanted


def test_nobody_is_overcommitted(world: World) -> None:
    """What was placed fits."""
    used: dict[int, Resources] = {}
    for pod in world.pods:
        if pod.node >= 0:
            used[pod.node] = used.get(pod.node, Resources()).plus(world.pod_shapes[pod.shape].requests)
    for index, amounts in used.items():
        room = world.node_shapes[world.nodes[index].shape].allocatable.plus(amounts, -1)
        assert min(amount for _, amount in room.items() or (("", 0),)) >= 0


def test_first_fit_by_the_table(script: dict[str, Any]) -> None:
    """The short cut over full nodes places exactly as trying every node from the first would."""
    nodes, pods = script["read_nodes"](TABLES / "nodes.csv")[:60], script["read_pods"](TABLES / "pods-gpuspec33.csv")[:700]
    free = [[node.cpu_milli, node.memory_mib, node.cards * 1000, 110] for node in nodes]
    wanted: dict[str, int] = {}
    for pod in pods:
        need = [pod.cpu_milli, pod.memory_mib, pod.gpu_milli, 1]
        for index, node in enumerate(nodes):
            enough = all(have >= want for have, want in zip(free[index], need, strict=True))
            if pod.phase == "Running" and enough and (not pod.models or node.model in pod.models):
                wanted[pod.name] = index
                free[index] = [have - want for have, want in zip(free[index], need, strict=True)]
                break
    assert script["place"](pods, nodes) == wanted
    assert len(set(wanted.values())) > 10


def test_targets(world: World) -> None:
    """27 deployments of as many replicas as nodes, that nobody owns, whose template is that of their nodes."""
    targets = [target for target in world.targets if not target.owner.controller]
    assert len(targets) == 27
    members = Counter(machine.target.name for machine in world.machines if machine.target and machine.node)
    shapes = {node.name: world.node_shapes[node.shape] for node in world.nodes}
    first = {machine.target.name: shapes[machine.node] for machine in reversed(world.machines) if machine.target}
    for target in targets:
        assert target.replicas == members[target.ref.name]
        assert (target.min_size, target.max_size) == (0, 2 * members[target.ref.name])
        assert (target.owner.owners, target.owner.managed_fields_present, target.problems) == ((), True, ())
        assert target.template.capacity == first[target.ref.name].capacity
        assert set(target.template.labels) <= set(first[target.ref.name].labels)


def test_whole_capture(world: World) -> None:
    """Nothing that a decision needs is missing, and nothing was unreadable."""
    assert (world.not_captured, world.problems) == ((), ())


def test_same_bytes_every_time(script: dict[str, Any], made: Path, tmp_path: Path) -> None:
    """Made twice, the files are equal byte for byte, and no larger than 16 MiB each."""
    script["make"](tmp_path, TABLES / "pods.csv", TABLES / "nodes.csv")
    first = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    second = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert first == second
    assert max(len(body) for body in first.values()) < 16 << 20


def test_models_asked_for(script: dict[str, Any], tmp_path: Path) -> None:
    """The table with card models makes pods that name the models that they accept."""
    script["make"](tmp_path, TABLES / "pods-gpuspec33.csv", TABLES / "nodes.csv")
    bound = [shape for shape in load_world(tmp_path).pod_shapes if shape.required_terms]
    assert bound
    assert {term.expressions[0].key for shape in bound for term in shape.required_terms or ()} == {"example.com/gpu-model"}
