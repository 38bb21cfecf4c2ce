"""Which cluster a World is: what its Cluster objects say, also in a redacted snapshot."""

import json

import pytest

from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.redaction import redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World, identity_of
from reconciler.values.cluster_identity import ClusterIdentity

V1BETA2 = "cluster.x-k8s.io/v1beta2"


def _cluster(name: str, namespace: str = "fleet", **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {}}


def _world(*items: dict[str, object], name: str = "", pseudonyms: Pseudonyms | None = None) -> World:
    listing = Listing(file="clusters", api_version=V1BETA2, kind="Cluster", items=list(items))
    (shown,) = [listing] if pseudonyms is None else redacted([listing], pseudonyms)
    manifest = (
        f'formatVersion: "1.0"\ncapturedAt: 2026-11-21T18:00:00Z\ncluster: {json.dumps(name)}\nkinds: [Cluster, Node, Pod]\n'
    )
    return read_snapshot({"clusters.json": shown.encoded(), "snapshot.yaml": manifest.encode()})


@pytest.mark.parametrize(("name", "expected"), [
    ("a", ClusterIdentity(name="a", namespace="fleet", labels=(("region", "eu"),))),
    ("fleet/a", ClusterIdentity(name="a", namespace="fleet", labels=(("region", "eu"),))),
    ("elsewhere", ClusterIdentity(name="elsewhere")), ("", None),
])  # fmt: skip
def test_the_name_of_the_snapshot_says_which_one_it_is(name: str, expected: ClusterIdentity | None) -> None:
    """Of two clusters none is taken by itself, and a name that no object has leaves the labels unknown."""
    assert identity_of(_world(_cluster("a", region="eu"), _cluster("b"), name=name)) == expected


def test_the_only_cluster_is_this_one() -> None:
    assert identity_of(_world(_cluster("a"))) == ClusterIdentity(name="a", namespace="fleet", labels=())


def test_the_same_name_in_two_namespaces_is_none_of_them() -> None:
    """The labels could be those of either."""
    assert identity_of(_world(_cluster("a"), _cluster("a", "other"), name="a")) == ClusterIdentity(name="a")


def test_a_redacted_snapshot_says_that_it_hides_labels() -> None:
    """Words of the policy stay, so that a selector of the policy can still be judged."""
    item = _cluster("a", region="europe", team="payments")
    hidden = identity_of(_world(item, name="a", pseudonyms=Pseudonyms(b"s" * 32)))
    assert hidden == ClusterIdentity(name="a", namespace="fleet", labels=(), hidden=True)
    readable = identity_of(_world(item, name="a", pseudonyms=Pseudonyms(b"s" * 32, ["region", "europe"], ["region"])))
    assert readable == ClusterIdentity(name="a", namespace="fleet", labels=(("region", "europe"),), hidden=True)
