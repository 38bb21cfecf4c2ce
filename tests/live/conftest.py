import itertools
from collections.abc import Iterator

import pytest

from tests.aws.service.server import Service
from tests.live.aws_cloud import AwsCloud
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def paused(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A paused Cluster without topology for the tests of one file, each of which makes groups of its own `name`: the API
    server and the webhooks answer as always, and no controller makes machines or writes in between."""
    cluster = WorkCluster(cluster_api.api, f"paused-{next(_numbers)}")
    cluster.pause(paused=True)
    yield cluster
    cluster.api.call("DELETE", cluster.path("machinedeployments"))
    cluster.pause(paused=False)
    cluster.delete()


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"g{next(_numbers)}"


@pytest.fixture(scope="module")
def auto_scaling() -> Iterator[Service]:
    """One server for all tests of a file."""
    running = Service()
    yield running
    running.stop()


@pytest.fixture
def aws(auto_scaling: Service, new_cluster: NewCluster) -> Iterator[AwsCloud]:
    """An empty account beside a new cluster."""
    auto_scaling.reset()
    with AwsCloud(auto_scaling, new_cluster()) as cloud:
        yield cloud
