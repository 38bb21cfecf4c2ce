"""The captured cluster in examples/quickstart, against what the control plane that it came from was measured to hold."""

from collections import Counter
from pathlib import Path

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cluster.world import World

ROOT = Path(__file__).parents[2] / "examples" / "quickstart"


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(ROOT)


def test_counts(world: World) -> None:
    """12 nodes of four deployments; 91 pods: 69 Running, 19 Pending, 3 Succeeded."""
    assert len(world.nodes) == 12
    assert Counter(pod.phase.value for pod in world.pods) == {"Running": 69, "Pending": 19, "Succeeded": 3}
    assert Counter(machine.target.name for machine in world.machines if machine.target) == {
        "big": 3,
        "c1-auto-45vz8": 2,
        "c1-fixed-bq6lz": 4,
        "spot": 3,
    }


def test_pending(world: World) -> None:
    """The pending ones wait for cpu (9), zones (5), a label (3) and anything at all (2); all were found unschedulable."""
    pending = [pod for pod in world.pods if pod.phase.value == "Pending"]
    assert Counter(dict(world.pod_shapes[pod.shape].labels)["app"] for pod in pending) == {
        "hungry": 9,
        "zonal": 5,
        "gpu": 3,
        "giant": 2,
    }
    assert all(pod.unschedulable_seconds > 0 and pod.node == -1 for pod in pending)


def test_budgets(world: World) -> None:
    """Four budgets, of which one allows nothing."""
    allowed = {budget.name: budget.disruptions_allowed for budget in world.budgets}
    assert allowed == {"db": 0, "coredns": 1, "api": 2, "web": 3}


def test_owners_of_replicas(world: World) -> None:
    """kubectl applied two, the topology controller one, nobody the last."""
    owners = {target.ref.name: target.owner.owners for target in world.targets if not target.owner.controller}
    assert {name: [(item.manager, item.operation) for item in found] for name, found in owners.items()} == {
        "big": [("kubectl", "Apply")],
        "spot": [("kubectl", "Apply")],
        "c1-fixed-bq6lz": [("capi-topology", "Apply")],
        "c1-auto-45vz8": [],
    }


def test_sets_of_deployments_are_controlled(world: World) -> None:
    """Each deployment's MachineSet is there and names its controller."""
    controlled = {target.owner.controller for target in world.targets if target.owner.controller}
    assert controlled == {f"MachineDeployment capi/{name}" for name in ("big", "spot", "c1-auto-45vz8", "c1-fixed-bq6lz")}


def test_nobody_is_rolling_out(world: World) -> None:
    """All four say RollingOut=True for a kubelet version, and none has an older revision."""
    assert not any(target.rolling_out for target in world.targets)


def test_three_volumes_are_bound(world: World) -> None:
    """Three local volumes, each held by a claim and usable on one node only."""
    assert sorted(volume.claim for volume in world.storage.volumes) == ["data/data-db-0", "data/data-db-1", "data/data-db-2"]
    assert all(volume.required_terms and volume.driver == "Local" for volume in world.storage.volumes)


def test_everything_that_a_decision_needs_was_captured(world: World) -> None:
    """Nothing is missing, and nothing was unreadable."""
    assert world.not_captured == ()
    assert world.problems == ()
    assert all(target.problems == () for target in world.targets)


def test_nodes_share_shapes(world: World) -> None:
    """Three kinds of machine are three shapes; the taint is that of the spot nodes."""
    shapes = Counter(node.shape for node in world.nodes)
    assert sorted(shapes.values()) == [3, 3, 6]
    tainted = [node.name for node in world.nodes if world.node_shapes[node.shape].taints]
    assert len(tainted) == 3
    assert all(name.startswith("spot-") for name in tainted)
