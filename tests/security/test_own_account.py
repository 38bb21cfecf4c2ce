"""Our own account, with the program in other hands: what the API server itself refuses it."""

from collections.abc import Iterator

import pytest

from tests.deploy.attempt import Attempt, Guarded, Object, merge
from tests.deploy.conftest import guarded
from tests.live.ownership import NO_NODES
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, machine_deployment, machine_template
from tests.testbed.work_cluster import NAME, WorkCluster

__all__ = ["guarded"]

MOST = 10_000
HOLD = "reconciler.dev/hold"


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A Cluster whose Machines become no nodes."""
    made = WorkCluster(cluster_api.api, "own-account")
    made.api.create(machine_template(made.namespace, "g", NO_NODES))
    yield made
    made.delete()


def target(cluster: WorkCluster, name: str, hold: str = "") -> Object:
    """A MachineDeployment whose replicas nobody owns."""
    body = machine_deployment(cluster.namespace, NAME, Group(name, labels={"team": "a"}), "g")
    if hold:
        body["metadata"]["annotations"] = {HOLD: hold}
    return cluster.api.apply(body, "kubectl")


def sized(item: Object, replicas: int) -> Attempt:
    return merge(item, {"spec": {"replicas": replicas}})


def test_a_size_without_measure_is_refused(cluster: WorkCluster, guarded: Guarded) -> None:
    """The largest number that the field takes, and one above the ceiling; the ceiling itself passes."""
    item = target(cluster, "measure")
    for replicas in (2**31 - 1, MOST + 1):
        guarded.refused(sized(item, replicas), f"no target may have more than {MOST} replicas")
    guarded.allowed(sized(item, MOST))


@pytest.mark.parametrize("replicas", [0, 5, 2**31 - 1])
def test_a_held_target_keeps_its_size(cluster: WorkCluster, guarded: Guarded, replicas: int) -> None:
    """Whatever size: a person said stop, with no end."""
    guarded.refused(sized(target(cluster, "held", "incident 4711"), replicas), "a person holds this target")


def test_a_hold_with_an_end_is_kept_by_the_reconciler(cluster: WorkCluster, guarded: Guarded) -> None:
    """Admission knows no time, so this one is let through: what the rule does not prove is not promised."""
    guarded.allowed(sized(target(cluster, "ends", "incident 4711; until 2099-01-01T00:00:00Z"), 3))
