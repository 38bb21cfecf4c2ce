"""One Cluster for all tests of a file; each test makes a group of its own in it."""

from collections.abc import Iterator
from typing import Protocol

import pytest

from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from tests.providers.live_bench import LiveBench
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.work_cluster import WorkCluster


class NewBench(Protocol):
    def __call__(
        self,
        replicas: int,
        *,
        kind: str = MACHINE_DEPLOYMENT,
        min_size: int = 0,
        owner: str = "",
        annotations: dict[str, str] | None = None,
        machines: bool = True,
    ) -> LiveBench: ...


@pytest.fixture(scope="module")
def plain_cluster(cluster_api: ClusterApi, request: pytest.FixtureRequest) -> Iterator[WorkCluster]:
    """A Cluster without topology."""
    cluster = WorkCluster(cluster_api.api, request.module.__name__.rsplit(".", 1)[-1].replace("_", "-"))
    yield cluster
    cluster.delete()


@pytest.fixture
def new_bench(cluster_api: ClusterApi, plain_cluster: WorkCluster) -> Iterator[NewBench]:
    """Makes a group on the Cluster of this file; it is gone after the test."""
    made: list[LiveBench] = []

    def make(replicas: int, **fields: object) -> LiveBench:
        made.append(LiveBench(cluster_api, plain_cluster, replicas, **fields))
        return made[-1]

    yield make
    for bench in made:
        # Cluster API deletes nothing that is paused.
        running = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}, "spec": {"paused": None}}
        bench.cluster.api.merge(bench.object, running)
        bench.cluster.api.delete(bench.object)
