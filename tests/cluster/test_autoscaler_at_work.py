"""A snapshot that holds the Deployment of a Cluster Autoscaler: targets are held as a live process would hold them."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.control.capture import Capture
from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.rival import RivalWatch
from tests.cluster.objects import obj, scalable

IMAGE = "ghcr.io/crusoecloud/cluster-autoscaler-crusoecloud:v1.30.3"


def deployment(namespace: str, image: str = IMAGE, replicas: int | None = 1, **container: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "main", "image": "sidecar:1"}, {"name": "c", "image": image, **container}]}}
    spec = {"template": pod} if replicas is None else {"template": pod, "replicas": replicas}
    return obj("Deployment", "apps/v1", "sizer", namespace, spec=spec)


def world(*objects: dict[str, Any]) -> World:
    return read_snapshot({"all.json": msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": list(objects)})})


class _Live:
    """The same objects on a server."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self._objects = objects

    def get(self, path: str, query: Any = None, timeout: Any = None) -> bytes:
        items = [one for one in self._objects if path == f"/apis/apps/v1/namespaces/{one['metadata']['namespace']}/deployments"]
        if path.endswith("/deployments"):
            return msgspec.json.encode({"items": items})
        raise ApiError(404, "NotFound", "not there")


@pytest.mark.parametrize(
    ("item", "holds"),
    [
        (deployment("crusoe-system"), True),
        (deployment("crusoe-system", replicas=None), True),
        (deployment("kube-system", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1"), True),
        (deployment("capi", "example.org/own:1", command=["./cluster-autoscaler", "--v=4"]), True),
        (deployment("crusoe-system", replicas=0), False),
        (deployment("crusoe-system", "example.org/exporter:1", args=["--cloud-provider=aws"]), False),
        (deployment("team-a"), False),
    ],
)
def test_as_a_live_process_says(item: dict[str, Any], *, holds: bool) -> None:
    """By what runs, in the namespaces that a live process looks into: its own kind's home, kube-system, those of targets."""
    target = scalable()
    live = RivalWatch((_Live(target, item),), ("capi",), monotonic=lambda: 0.0, wall_seconds=lambda: 0.0)  # type: ignore[arg-type]
    found = world(target, item).rivals
    assert found == live.evidence()
    assert bool(found) is holds


def test_in_a_snapshot_that_leaves_the_house() -> None:
    """It stays known, and nothing of its image, words or other containers is told."""
    item = deployment("kube-system", "secret.example.org/cluster-autoscaler:v9", args=["--token=secret"])
    other = deployment("shop", "secret.example.org/shop:v9", args=["--token=secret"])
    listing = Listing(file="deployments", api_version="apps/v1", kind="Deployment", items=[item, other])
    whole = Capture(cluster="prod", captured_seconds=1, capi_group="", listings=(listing,), kinds=("Deployment",))
    shown = whole.redacted(Pseudonyms(b"salt"))
    assert len(whole.world().rivals) == len(shown.world().rivals) == 1
    text = b"".join(shown.files().values())
    assert [word for word in (b"secret", b"sidecar", b"v9") if word in text] == []
