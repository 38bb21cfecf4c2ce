"""Whoever reads a published snapshot: sees what decisions need, and no secret that stood in an object."""

from typing import Any

import pytest

from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, is_instant
from reconciler.cluster.snapshots.redaction import redacted
from reconciler.control.capture import Capture
from reconciler.values.quantity import is_quantity
from tests.security.planted import MARK, Planter
from tests.testbed.cluster_api import ClusterApi

SALT = b"a secret of this cluster"
LEAST_PLANTED = 10_000


def test_no_planted_secret_is_in_a_redacted_snapshot(cluster_api: ClusterApi) -> None:
    """One in every text of every kind that the real API server serves, Cluster API's included: none comes out, in no file."""
    planter = Planter(cluster_api.api.get("/openapi/v2"))
    listings = [
        Listing(
            file=f"{kind.lower()}s-{number}", api_version=version, kind=kind, items=[planter.item(kind, schema) for _ in range(3)]
        )
        for number, (version, kind, schema) in enumerate(planter.kinds())
    ]
    whole = Capture(cluster="c", captured_seconds=0, capi_group="cluster.x-k8s.io", listings=tuple(listings), kinds=())
    published = whole.redacted(Pseudonyms(SALT))
    print(f"{planter.planted} secrets in {len(listings)} kinds, {len(published.listings)} kinds published")
    assert planter.planted >= LEAST_PLANTED
    assert {"Pod", "Node", "MachineDeployment", "Machine", "PersistentVolume"} <= {item.kind for item in published.listings}
    leaks = [line[:300] for item in published.listings for line in item.encoded().split(b"\n") if MARK.encode() in line]
    assert leaks == []
    assert not any(MARK in name or MARK.encode() in text for name, text in published.files().items())


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"containers": []}}


def shown(salt: bytes, *names: str) -> list[str]:
    listing = Listing(file="pods", api_version="v1", kind="Pod", items=[pod(name) for name in names])
    return [item["metadata"]["name"] for item in redacted([listing], Pseudonyms(salt))[0].items]


def test_names_of_pods_cannot_be_tried_out() -> None:
    """A pseudonym is made with the cluster's secret: who tries every suffix of a ReplicaSet without it meets none."""
    (found,) = shown(SALT, "web-765557f48d-wrczx")
    guesses = {shown(salt, "web-765557f48d-wrczx")[0] for salt in (b"", b"another secret of others", b"x" * 32)}
    assert found not in guesses
    assert shown(SALT, "web-765557f48d-wrczx") == [found]


def test_pods_of_one_owner_share_nothing_in_their_names() -> None:
    """But for the number, which keeps the order."""
    first, second = shown(SALT, "web-765557f48d-aaaaa", "web-765557f48d-bbbbb")
    assert first.startswith("pod-0-")
    assert second.startswith("pod-1-")
    assert first[6:] != second[6:]


@pytest.mark.parametrize("text", [MARK, "1.5.2", "4Gi!", "12 Gi", "1e999", "0x10", "2026-11-21", "2026-11-21T18:00:00Z; " + MARK])
def test_what_is_no_amount_and_no_instant(text: str) -> None:
    """Typed fields keep what has their type and nothing that only begins like it."""
    assert not is_quantity(text)
    assert not is_instant(text)
