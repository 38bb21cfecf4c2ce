import itertools
from collections.abc import Iterator

import pytest

from tests.testbed.cluster_api import ClusterApi
from tests.testbed.work_cluster import WorkCluster

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def plain(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A Cluster without topology for the tests of one file, each of which makes groups of its own `name`."""
    cluster = WorkCluster(cluster_api.api, f"plain-{next(_numbers)}")
    yield cluster
    cluster.delete()


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"g{next(_numbers)}"
