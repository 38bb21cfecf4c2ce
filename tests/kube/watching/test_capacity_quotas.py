"""CapacityQuotas of a real API server: followed, captured, and limits of a decision."""

from collections.abc import Iterator

import msgspec
import pytest

from reconciler.cluster.workloads.capacity_quota import CapacityQuota
from reconciler.control.capture import Clusters, capture
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.connection.transport import connect
from reconciler.kube.watching.collection import QUOTAS, WORKLOAD, Collection, located
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.policy.documents import LimitsFrom, QuotaReading
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of
from tests.kube.cluster import create, eventually
from tests.kube.objects import Object
from tests.testbed.control_plane import ControlPlane

FEW = (*(item for item in WORKLOAD if item.kind in ("Node", "Pod")), QUOTAS)
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _definition() -> Object:
    """As upstream: cluster-scoped, with a selector, and amounts that are numbers or texts."""
    amount = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    limits = {"type": "object", "properties": {"resources": {"type": "object", "additionalProperties": amount}}}
    selector = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"limits": limits, "selector": selector}, "required": ["limits"]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{QUOTAS.plural}.{QUOTAS.group}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler"},
        },
        "spec": {
            "group": QUOTAS.group,
            "scope": "Cluster",
            "names": {"kind": QUOTAS.kind, "plural": QUOTAS.plural, "singular": "capacityquota"},
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }


def _quota(name: str, resources: dict[str, object], selector: object = None) -> Object:
    spec = {"limits": {"resources": resources}} | ({"selector": selector} if selector is not None else {})
    return {"apiVersion": f"{QUOTAS.group}/v1alpha1", "kind": QUOTAS.kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def bare(control_plane: ControlPlane) -> Api:
    """A server without the kind."""
    return connect(control_plane.kubeconfig)


@pytest.fixture
def api(bare: Api) -> Iterator[Api]:
    """The same server with the kind."""
    create(bare, _definition())

    def served() -> bool:
        try:
            bare.get(located(QUOTAS, bare).path)
        except ApiError:
            return False
        return True

    eventually(served, "serving the kind")
    yield bare
    bare.write("DELETE", f"{CRD}/{QUOTAS.plural}.{QUOTAS.group}")

    def gone() -> bool:
        try:
            bare.get(f"{CRD}/{QUOTAS.plural}.{QUOTAS.group}")
        except ApiError as error:
            return error.status == 404
        return False

    eventually(gone, "the kind is gone")


def _following(api: Api) -> LiveWorld:
    nothing: tuple[Collection, ...] = FEW
    world = LiveWorld(api, now_seconds=lambda: NOW, workload_collections=nothing)
    world.start()
    assert world.wait(60), world.doubts()
    return world


def _grown(quotas: tuple[CapacityQuota, ...], kinds: tuple[str, ...]) -> int:
    """Nodes of a group that nine pods of one node each wait for, and that has one."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    cluster.pods("full", 1, cpu="4", on="a-1")
    cluster.pods("web", 9, cpu="4")
    world = cluster.world()
    world = msgspec.structs.replace(world, quotas=quotas, captured=(*world.captured, *kinds))
    rules = policy(node_group("a", max=30), limits_from=LimitsFrom(capacity_quotas=QuotaReading.READ))
    return group(plan_of(world, rules), "a").desired


def test_a_server_without_the_kind_has_no_quota(bare: Api) -> None:
    world = _following(bare)
    try:
        assert (world.observe().quotas, QUOTAS.kind in world.observe().captured) == ((), True)
        assert _grown((), (QUOTAS.kind,)) == 10
    finally:
        assert world.stop()
    found = capture(Clusters(workload=bare, management=bare, served=()), "", NOW)
    assert QUOTAS.kind in found.world().captured


def test_quotas_are_followed_and_bound_growth(api: Api) -> None:
    """Three cores less than five nodes; a looser quota; one that nobody understands; then that one is corrected, and gone."""
    create(api, _quota("small", {"cpu": 17, "memory": "1Ti"}), _quota("wide", {"nodes": "8"}, {"matchLabels": {"size": "4"}}))
    world = _following(api)
    try:
        seen = world.observe()
        assert [one.name for one in seen.quotas] == ["small", "wide"]
        assert seen.quotas[0].max == (("cpu", 17_000), ("memory", 2**40))
        assert _grown(seen.quotas, (QUOTAS.kind,)) == 4
        create(api, _quota("odd", {"gpus": 1}))
        eventually(lambda: len(world.observe().quotas) == 3, "the odd quota is seen")
        assert _grown(world.observe().quotas, (QUOTAS.kind,)) == 1
        found = capture(Clusters(workload=api, management=api, served=()), "", NOW)
        assert found.world().quotas == world.observe().quotas
        path = located(QUOTAS, api).path
        api.write("DELETE", f"{path}/odd")
        api.write("DELETE", f"{path}/small")
        eventually(lambda: [one.name for one in world.observe().quotas] == ["wide"], "two are gone")
        assert _grown(world.observe().quotas, (QUOTAS.kind,)) == 10
    finally:
        assert world.stop()
