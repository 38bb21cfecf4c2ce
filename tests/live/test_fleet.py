"""`reconciler run --fleet`: a management cluster with Cluster API, and two workload clusters on API servers of their own."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.fleet_plane import POLICY, Workload, fleet_leases, workloads
from tests.live.reconciler_process import Reconciler, user
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import namespace

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def pair(cluster_api: ClusterApi) -> Iterator[list[Workload]]:
    with workloads(cluster_api, ("fleet-east", "fleet-west")) as made:
        yield made


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "fleet.yaml").write_text(POLICY)
    return directory


@pytest.fixture
def home(cluster_api: ClusterApi) -> str:
    """The namespace of Leases and states."""
    name = f"fleet-home-{next(_numbers)}"
    cluster_api.api.create(namespace(name))
    return name


def instance(cluster_api: ClusterApi, policies: Path, home: str) -> Reconciler:
    name = f"fleet-{next(_numbers)}"
    scope = [f"--target-namespace={one}" for one in ("fleet-east", "fleet-west")]
    return Reconciler(
        user(cluster_api.plane, name), policies, "--fleet", f"--namespace={home}", "--period=2", *scope,
        environment={"POD_NAME": name},
    )  # fmt: skip


def test_one_instance_runs_the_loops_of_all_clusters(
    cluster_api: ClusterApi, pair: list[Workload], policies: Path, home: str
) -> None:
    """Pods of each cluster get nodes of that cluster, and of no other."""
    east, west = pair
    with instance(cluster_api, policies, home) as running:
        running.said("LoopTaken", 2)
        east.pods("a", 4, "3")
        east.until_bound(4)
        assert (east.replicas(), west.replicas()) == (4, 0)
        west.pods("b", 2, "3")
        west.until_bound(2)
        assert (east.replicas(), west.replicas()) == (4, 2)
        assert len(set(fleet_leases(cluster_api, home).values())) == 1
