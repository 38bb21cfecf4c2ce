"""`--cluster NAME` in a fleet: which Cluster is meant."""

import msgspec
import pytest

from reconciler.cli.inputs.named_cluster import named_cluster
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.values.cluster_identity import ClusterIdentity
from tests.builders import ClusterBuilder


def world(*titles: str) -> World:
    clusters = tuple(ClusterIdentity(namespace=title.partition("/")[0], name=title.partition("/")[2]) for title in titles)
    return msgspec.structs.replace(ClusterBuilder().world(), clusters=clusters)


@pytest.mark.parametrize(("given", "title"), [("west", "infra/west"), ("infra/east", "infra/east"), ("other/east", "other/east")])
def test_a_name_that_only_one_has(given: str, title: str) -> None:
    assert named_cluster(world("infra/east", "infra/west", "other/east"), given).title == title


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("east", "--cluster east: several Clusters have this name: infra/east, other/east"),
        ("infra/wset", "--cluster infra/wset: no such Cluster. Did you mean infra/west?"),
        ("wst", "Did you mean west?"),
        ("/", "There are: infra/east, infra/west, other/east."),
        ("", "no such Cluster"),
    ],
)
def test_a_name_that_means_none_or_several(given: str, told: str) -> None:
    """The nearest one is named, or all."""
    with pytest.raises(InputError) as refused:
        named_cluster(world("infra/east", "infra/west", "other/east"), given)
    assert told in str(refused.value)


def test_no_clusters() -> None:
    with pytest.raises(InputError, match="There are: none"):
        named_cluster(world(), "east")
