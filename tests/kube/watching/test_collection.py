"""Where a server keeps a collection: paths, groups and versions that are asked for, and kinds that a platform speaks."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import Collection, Served, cluster_api, located, platform_collections, renamed_group
from reconciler.kube.watching.target_object import object_of

CAPI, OPENSHIFT = "cluster.x-k8s.io", "machine.openshift.io"


class Discovery:
    """Answers by path; what is asked is kept."""

    def __init__(self, **_: object) -> None:
        self.answers: dict[str, Any] = {
            "/apis/example.com": {
                "versions": [{"version": "v2"}, {"version": "v1"}],
                "preferredVersion": {"version": "v1"},
            },
            "/apis/example.com/v1": {
                "resources": [
                    {"name": "others", "kind": "Other"},
                    {"name": "things/status", "kind": "Thing"},
                    {"name": "things", "kind": "Thing"},
                ]
            },
        }
        self.asked: list[str] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.asked.append(path)
        if path not in self.answers:
            raise ApiError(404, "NotFound", path)
        return json.dumps(self.answers[path]).encode()


@pytest.mark.parametrize(
    ("collection", "path", "api_version", "name"),
    [
        (Collection(group="", kind="Pod", version="v1", plural="pods"), "/api/v1/pods", "v1", "Pod"),
        (
            Collection(group="", kind="Pod", version="v1", plural="pods", namespace="shop"),
            "/api/v1/namespaces/shop/pods", "v1", "Pod in shop",
        ),
        (
            Collection(group="apps", kind="ReplicaSet", version="v1", plural="replicasets"),
            "/apis/apps/v1/replicasets", "apps/v1", "ReplicaSet",
        ),
        (
            Collection(group="apps", kind="ReplicaSet", version="v1", plural="replicasets", namespace="shop"),
            "/apis/apps/v1/namespaces/shop/replicasets", "apps/v1", "ReplicaSet in shop",
        ),
    ],
)  # fmt: skip
def test_paths(collection: Collection, path: str, api_version: str, name: str) -> None:
    """As the API documentation writes them."""
    assert (collection.path, collection.api_version, str(collection)) == (path, api_version, name)


def test_a_kind_is_located() -> None:
    """In the version that the server prefers, by the plural that is no subresource, asked for once each."""
    server = Discovery()
    found = located(Collection(group="example.com", kind="Thing", namespace="shop"), server)  # type: ignore[arg-type]
    assert found.path == "/apis/example.com/v1/namespaces/shop/things"
    assert server.asked == ["/apis/example.com", "/apis/example.com/v1"]
    assert located(found, server) == found  # type: ignore[arg-type]
    assert len(server.asked) == 2


def test_a_kind_that_is_not_there() -> None:
    """As the server would say it of a path that it does not have."""
    with pytest.raises(ApiError) as found:
        located(Collection(group="example.com", kind="Nothing"), Discovery())  # type: ignore[arg-type]
    assert str(found.value) == "404 NotFound: example.com/v1 has no kind Nothing"
    assert found.value.status == 404
    with pytest.raises(ApiError, match="404"):
        located(Collection(group="absent.dev", kind="Thing"), Discovery())  # type: ignore[arg-type]


def test_what_is_read_of_platforms() -> None:
    """Cluster API's kinds in each namespace that is named, or in all; OpenShift's beside them in their own group."""
    of_cluster_api = Served(platform="clusterAPI", group=CAPI, version="v1beta2")
    found = platform_collections((of_cluster_api,), ("a", "b"))
    kinds = ["MachineDeployment", "MachineSet", "MachinePool", "Machine", "Cluster"]
    assert sorted((item.kind, item.namespace) for item in found) == sorted((kind, space) for kind in kinds for space in "ab")
    assert {item.api_version for item in found} == {f"{CAPI}/v1beta2"}
    assert {item.namespace for item in platform_collections((of_cluster_api,))} == {""}
    of_openshift = Served(platform="openshift", group=OPENSHIFT, version="v1beta1")
    both = platform_collections((of_cluster_api, of_openshift))
    assert {item.kind for item in both if item.group == OPENSHIFT} >= {"MachineSet", "Machine"}
    assert {item.kind for item in both if item.group == CAPI} == set(kinds)
    assert platform_collections(()) == ()


def test_the_platform_when_nobody_says_which() -> None:
    """Cluster API, in its own group or in that which an operator gave it."""
    assert cluster_api() == Served(platform="clusterAPI", group=CAPI)
    assert cluster_api("capi.example.com", "v1") == Served(platform="clusterAPI", group="capi.example.com", version="v1")
    assert renamed_group((Served(platform="openshift", group=OPENSHIFT), cluster_api("capi.example.com"))) == "capi.example.com"
    assert renamed_group((Served(platform="openshift", group=OPENSHIFT),)) == ""


def test_the_object_of_a_target() -> None:
    """Its path in the group and version that the server speaks; none for what no server keeps, or this one does not."""
    served = (Served(platform="clusterAPI", group="capi.example.com", version="v1beta2"),)
    target = TargetRef(kind="MachineDeployment", namespace="infra", name="general")
    found = object_of(target, served)
    assert found is not None
    assert (found.api_version, found.kind) == ("capi.example.com/v1beta2", "MachineDeployment")
    assert found.path == "/apis/capi.example.com/v1beta2/namespaces/infra/machinedeployments/general"
    assert object_of(target, ()) is None
    assert object_of(TargetRef(kind="Machine", namespace="infra", name="general-1"), served) is None
    assert object_of(TargetRef(kind="AutoScalingGroup", namespace="", name="a"), served) is None
