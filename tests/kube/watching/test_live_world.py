"""The live view against a real API server: equal to a snapshot of the same cluster, and following it."""

import json
from collections.abc import Iterator

import pytest

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.kube.connection.api import Api, ApiError, ContentType
from reconciler.kube.connection.feature_gates import feature_gates
from reconciler.kube.connection.server_version import server_version
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.watching.collection import DEVICES, WORKLOAD, Collection, cluster_api, located, platform_collections
from reconciler.kube.watching.live_world import IncompleteViewError, LiveWorld
from reconciler.kube.watching.stream_state import Phase
from reconciler.values.feature_gate import REPORTED
from tests.kube import objects
from tests.kube.cluster import create, eventually
from tests.testbed.control_plane import ControlPlane

NAMESPACE = "kube-live-world"
NAMESPACE_OBJECT = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
NOW = 1_800_000_000


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    """A cluster with something of most kinds in it."""
    api = connect(control_plane.kubeconfig)
    definitions = objects.definitions()
    create(api, *definitions)

    def served() -> bool:
        try:
            for kind in objects.KINDS:
                api.get(located(Collection(group=objects.GROUP, kind=kind), api).path)
            api.get(located(Collection(group=objects.INFRASTRUCTURE, kind="TestMachineTemplate"), api).path)
        except ApiError:
            return False
        return True

    eventually(served, "serving the custom resources")
    create(api, NAMESPACE_OBJECT)
    eventually(lambda: _has_account(api), "the service account of the namespace, without which no pod is let in")
    fill(api)
    yield api
    for name in ("kube-live-1", "kube-live-2"):
        api.write("DELETE", f"/api/v1/nodes/{name}")
    for definition in definitions:
        api.write("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition['metadata']['name']}")
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


def _has_account(api: Api) -> bool:
    try:
        api.get(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    except ApiError:
        return False
    return True


def fill(api: Api) -> None:
    """Something of most kinds, in the namespace that is there."""
    selector = {"matchLabels": {"app": "p-0"}}
    template = {
        "metadata": {"labels": {"app": "daemon"}},
        "spec": {"containers": [{"name": "c", "image": "x"}], "nodeSelector": {"pool": "none"}},
    }
    own = {"namespace": NAMESPACE}
    create(
        api,
        objects.node("kube-live-1"),
        objects.node("kube-live-2", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]),
        *(objects.pod(NAMESPACE, f"p-{number}", nodeName=f"kube-live-{1 + number % 2}") for number in range(5)),
        objects.pod(NAMESPACE, "giant", cpu="9000"),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", **own},
            "spec": {"selector": selector, "minAvailable": 1},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d", **own},
            "spec": {"selector": {"matchLabels": {"app": "daemon"}}, "template": template},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "kube-live"},
            "provisioner": "kube-tests.dev/none",
        },
        objects.machine_template(NAMESPACE, "small"),
        objects.machine_deployment(NAMESPACE, "general", 2),
        objects.machine(NAMESPACE, "general-1", "general-set"),
    )


@pytest.fixture(scope="module")
def live(api: KubernetesApi) -> Iterator[LiveWorld]:
    world = LiveWorld(api, now_seconds=lambda: NOW, name="live", capi_group=objects.GROUP)
    world.start()
    assert world.wait(180), world.doubts()
    yield world
    assert world.stop()


def captured(api: Api) -> World:
    """What the snapshot reader makes of the lists that the server answers now."""
    templates = Collection(group=objects.INFRASTRUCTURE, kind="TestMachineTemplate")
    collections = [
        located(item, api) for item in (*WORKLOAD, *DEVICES, *platform_collections((cluster_api(objects.GROUP),)), templates)
    ]
    files = {f"{item.kind}.json": api.get(item.path) for item in collections}
    manifest = {
        "formatVersion": "1.0",
        "capturedAt": "2027-01-15T08:00:00Z",
        "cluster": "live",
        "kinds": ["CapacityQuota", "PodGroup"],
    }
    manifest["kubernetesVersion"] = server_version(api)
    manifest["featureGates"] = dict(feature_gates(api, REPORTED))
    return read_snapshot({"snapshot.json": json.dumps(manifest).encode(), **files}, objects.GROUP)


def own_nodes(world: World) -> list[Node]:
    """Those of this file; nodes of other tests may be on their way out."""
    found = [node for node in world.nodes if node.name.startswith("kube-live-")]
    assert len(found) == 2
    return found


def difference(one: World, other: World) -> list[str]:
    return [field for field in one.__struct_fields__ if getattr(one, field) != getattr(other, field)]


def test_equals_a_snapshot_field_by_field(api: KubernetesApi, live: LiveWorld) -> None:
    """The live World is, in every field, what the snapshot reader makes of the server's own lists."""
    eventually(lambda: not difference(captured(api), live.observe()), "being equal")
    world = live.observe()
    assert {"general"} <= {target.ref.name for target in world.targets}
    assert world.daemon_pods
    assert len(world.pods) >= 6


def test_follows_pods(api: KubernetesApi, live: LiveWorld) -> None:
    """A pod that comes, changes and goes is in the next view, and every view equals the snapshot of its moment."""
    create(api, objects.pod(NAMESPACE, "visitor", cpu="9000"))
    eventually(lambda: "visitor" in live.observe().pods.name, "the pod being seen")
    pods = live.observe().pods
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/visitor"
    assert pods.uid[pods.name.index("visitor")] == json.loads(api.get(path))["metadata"]["uid"]
    eventually(lambda: not difference(captured(api), live.observe()), "being equal while it is there")
    api.write("DELETE", path)
    eventually(lambda: "visitor" not in live.observe().pods.name, "the pod being gone")
    eventually(lambda: not difference(captured(api), live.observe()), "being equal when it has gone")


def test_same_view_while_nothing_changes(api: KubernetesApi, live: LiveWorld) -> None:
    """With nothing new, the World is not built again and the server is asked nothing."""
    eventually(lambda: live.observe() is live.observe(), "standing still")
    lists = [state.list_calls for state in live.freshness()]
    assert not any(lists)


def test_replicas_are_followed(api: KubernetesApi, live: LiveWorld) -> None:
    """A target that somebody scales has its new replicas and resourceVersion in the next view."""
    path = f"/apis/{objects.GROUP}/v1beta2/namespaces/{NAMESPACE}/machinedeployments/general"
    written = json.loads(api.write("PATCH", path, b'{"spec":{"replicas":7}}', content_type=ContentType.MERGE_PATCH))

    def seen() -> tuple[int | None, str]:
        facts = next(item for item in live.observe().targets if item.ref.name == "general")
        return facts.replicas, facts.resource_version

    eventually(lambda: seen() == (7, written["metadata"]["resourceVersion"]), "seeing the replicas")


def test_heartbeats_change_nothing(api: KubernetesApi, live: LiveWorld) -> None:
    """A node whose status says the same at a later time causes neither a new view nor a wake-up."""
    eventually(lambda: live.observe() is live.observe(), "standing still")
    before = own_nodes(live.observe())
    path = "/api/v1/nodes/kube-live-1/status"
    conditions = json.loads(api.get(path))["status"]["conditions"]
    beaten = [condition | {"lastHeartbeatTime": "2026-11-21T11:00:00Z"} for condition in conditions]
    api.write("PATCH", path, {"status": {"conditions": beaten}}, content_type=ContentType.MERGE_PATCH)
    marker = objects.pod(NAMESPACE, "marker", cpu="9000")
    create(api, marker)
    eventually(lambda: "marker" in live.observe().pods.name, "seeing what came after")
    assert own_nodes(live.observe()) == before
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/marker")


def test_a_group_that_is_not_there(api: KubernetesApi) -> None:
    """Without Cluster API the view stands, says which kinds are absent, and lists them as not captured."""
    world = LiveWorld(api, now_seconds=lambda: NOW, capi_group="absent.kube-tests.dev")
    world.start()
    try:
        assert world.wait(180), world.doubts()
        absent = {state.collection for state in world.freshness() if state.phase is Phase.ABSENT}
        assert absent == {"CapacityQuota", "PodGroup", "MachineDeployment", "MachineSet", "MachinePool", "Machine", "Cluster"}
        assert "MachineDeployment" in world.observe().not_captured
    finally:
        assert world.stop()


def test_nothing_before_start(api: KubernetesApi) -> None:
    """A view that was not started is refused, not empty."""
    with pytest.raises(IncompleteViewError, match="nothing is followed"):
        LiveWorld(api, now_seconds=lambda: NOW).observe()


def test_daemonsets_are_followed(api: KubernetesApi, live: LiveWorld) -> None:
    """A DaemonSet whose template changes, and one that goes, are in the next view as a snapshot would have them."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/d"
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "123m"}}}
    body = {"spec": {"template": {"spec": {"containers": [container]}}}}
    api.write("PATCH", path, body, content_type=ContentType.MERGE_PATCH)

    def milli() -> list[int]:
        world = live.observe()
        return [world.pod_shapes[item.shape].requests.cpu_milli for item in world.daemon_pods if item.namespace == NAMESPACE]

    eventually(lambda: milli() == [123], "seeing the template")
    eventually(lambda: not difference(captured(api), live.observe()), "being equal")
    api.write("DELETE", path)
    eventually(lambda: not milli(), "seeing it go")
    eventually(lambda: not difference(captured(api), live.observe()), "being equal without it")


def test_only_some_namespaces(api: KubernetesApi) -> None:
    """Cluster API objects are read in the namespaces that are named, from a management cluster of its own connection."""
    other = f"{NAMESPACE}-other"
    create(
        api,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}},
        objects.machine_deployment(other, "elsewhere", 1),
    )
    one = LiveWorld(api, api.with_timeout(5), now_seconds=lambda: NOW, capi_group=objects.GROUP, namespaces=(NAMESPACE,))
    both = LiveWorld(api, now_seconds=lambda: NOW, capi_group=objects.GROUP, namespaces=(NAMESPACE, other))
    try:
        for world in (one, both):
            world.start()
            assert world.wait(180), world.doubts()
        assert [target.ref.name for target in one.observe().targets] == ["general"]
        assert [target.ref.name for target in both.observe().targets] == ["general", "elsewhere"]
    finally:
        assert one.stop()
        assert both.stop()
        api.write("DELETE", f"/api/v1/namespaces/{other}")


def test_without_rights(api: KubernetesApi, control_plane: ControlPlane) -> None:
    """A user who may read nothing gets no view, and is told which collections the server refuses."""
    world = LiveWorld(connect(control_plane.kubeconfig_of("kube-nobody")), now_seconds=lambda: NOW)
    world.start()
    try:
        eventually(lambda: all("forbidden" in doubt for doubt in world.doubts()), "refusals")
        with pytest.raises(IncompleteViewError, match=r"^Node: .*forbidden.*, (and )?Pod: .*forbidden"):
            world.observe()
    finally:
        assert world.stop()


def test_a_version_that_the_server_has_forgotten(api: KubernetesApi, live: LiveWorld) -> None:
    """A real watch from a version long gone is answered with 410, and everything is read again into a new store."""
    # What tests before this one have made goes first: each event moves the version.
    eventually(lambda: [target.ref.name for target in live.observe().targets] == ["general"], "standing still")
    reflector = next(item for item in live._targets._kinds.targets if item.collection.kind == "MachineDeployment")
    before, lists = reflector.store, reflector.state().lists
    reflector._version, reflector._last = "1", None
    assert reflector._cut is not None
    reflector._cut()
    eventually(lambda: reflector.state().lists == lists + 1, "reading again")
    assert reflector.store is not before
    eventually(lambda: not live.doubts(), "being trusted again")
    assert "general" in {target.ref.name for target in live.observe().targets}
