"""What test_live_world.py asks of a real API server, asked of the one in memory; and what one cannot be made to do."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.unread import Unread
from reconciler.cluster.world import BufferProblem
from reconciler.kube.watching.collection import (
    BUFFERS,
    DEVICES,
    POD_GROUPS,
    QUOTAS,
    REQUESTS,
    SERVICES,
    WORKLOAD,
    Collection,
    Served,
)
from reconciler.kube.watching.followed_kinds import FollowedKinds
from reconciler.kube.watching.live_world import IncompleteViewError, LiveWorld
from reconciler.kube.watching.reflector import Reflector
from reconciler.kube.watching.stream_state import StreamState, polled_state
from reconciler.kube.watching.watch_pace import RealPace
from tests.kube import objects
from tests.kube.api_server import FakeApiServer, asked
from tests.kube.cluster import create, eventually
from tests.kube.watching import test_live_world

globals().update(asked(test_live_world))
live = test_live_world.live


@pytest.fixture(scope="module")
def api() -> FakeApiServer:
    server = FakeApiServer()
    for item in objects.definitions():
        server.define(item)
    create(server, test_live_world.NAMESPACE_OBJECT)
    test_live_world.fill(server)
    server.forget()
    return server


NOW = test_live_world.NOW
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
FEW = tuple(item for item in WORKLOAD if item.kind in ("Node", "Pod"))


class SetPace(RealPace):
    """Waits as long as it is told, and counts by a clock that only the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Clock:
    """The instants that views are of, moved by the test."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@contextmanager
def following(server: FakeApiServer, management: FakeApiServer | None = None, **options: Any) -> Iterator[LiveWorld]:
    """Nodes, pods and a group of Cluster API, with a trusted view."""
    own: dict[str, Any] = {"now_seconds": lambda: NOW, "workload_collections": FEW, "capi_group": objects.GROUP}
    world = LiveWorld(server, management, **(own | options))
    world.start()
    try:
        assert world.wait(30), world.doubts()
        yield world
    finally:
        assert world.stop()


CAPACITY_QUOTAS = "/apis/autoscaling.x-k8s.io/v1beta1/capacityquotas"
WITH_QUOTAS: dict[str, Any] = {"workload_collections": (*FEW, QUOTAS)}


def _quota(name: str, **resources: object) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"limits": {"resources": resources}}}


def test_quotas_are_followed(small: FakeApiServer) -> None:
    """One is there, another one comes that nobody understands, and the view stays one that can be trusted."""
    small.serve(CAPACITY_QUOTAS, "CapacityQuota")
    small.put(f"{CAPACITY_QUOTAS}/a", _quota("a", nodes=3))
    with following(small, **WITH_QUOTAS) as world:
        assert [(one.name, one.max) for one in world.observe().quotas] == [("a", (("nodes", 3),))]
        small.put(f"{CAPACITY_QUOTAS}/b", _quota("b", gpus=3))
        eventually(lambda: len(world.observe().quotas) == 2, "the second quota")
        assert "gpus" in world.observe().quotas[1].problem
        small.remove(f"{CAPACITY_QUOTAS}/a")
        eventually(lambda: [one.name for one in world.observe().quotas] == ["b"], "the first one is gone")


def test_quotas_that_the_server_does_not_have(small: FakeApiServer) -> None:
    """There are none, which is known."""
    with following(small, **WITH_QUOTAS) as world:
        assert ("CapacityQuota" in world.observe().captured, world.observe().quotas) == (True, ())


def test_quotas_that_may_not_be_read(small: FakeApiServer) -> None:
    """The loop goes on, and the kind was not captured."""
    small.serve(CAPACITY_QUOTAS, "CapacityQuota")
    small.forbidden.add(CAPACITY_QUOTAS)
    with following(small, **WITH_QUOTAS) as world:
        assert "CapacityQuota" not in world.observe().captured
        assert "Pod" in world.observe().captured


CAPACITY_BUFFERS = "/apis/autoscaling.x-k8s.io/v1beta1/{}capacitybuffers"
SPARE = CAPACITY_BUFFERS.format("namespaces/shop/") + "/spare"
TEMPLATE = "/api/v1/namespaces/shop/podtemplates/small"
WITH_BUFFERS: dict[str, Any] = {"workload_collections": FEW, "also": lambda: BUFFERS}


def _template(cpu: str) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"namespace": "shop", "name": "small"}, "template": {"spec": {"containers": containers}}}


def _buffer(replicas: int, **meta: object) -> dict[str, Any]:
    spec = {"podTemplateRef": {"name": "small"}, "replicas": replicas}
    return {"metadata": {"namespace": "shop", "name": "spare", **meta}, "spec": spec}


def test_buffers_are_followed_with_what_they_name(small: FakeApiServer) -> None:
    """Its template and the quota of its namespace change, and who writes its status. The group has a newer version."""
    small.serve("/apis/autoscaling.x-k8s.io/v9/provisioningrequests", "ProvisioningRequest")
    small.serve(CAPACITY_BUFFERS.format(""), "CapacityBuffer")
    small.put(SPARE, _buffer(3))
    with following(small, **WITH_BUFFERS) as world:
        (found,) = world.observe().buffers
        assert (found.code, found.count) == (BufferProblem.NOT_FOUND, 0)
        small.put(TEMPLATE, _template("2"))
        eventually(lambda: world.observe().buffers[0].count == 3, "the template is there")
        assert world.observe().pod_shapes[world.observe().buffers[0].shape].requests.cpu_milli == 2000
        quota = {"metadata": {"namespace": "shop", "name": "team"}, "spec": {"hard": {"requests.cpu": "5"}}}
        small.put("/api/v1/namespaces/shop/resourcequotas/team", quota)
        eventually(lambda: world.observe().buffers[0].count == 2, "the quota is there")
        small.put(TEMPLATE, _template("5"))
        eventually(lambda: world.observe().buffers[0].count == 1, "the template has changed")
        fields = {"manager": "karpenter", "subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {}}}}
        small.put(SPARE, _buffer(3, managedFields=[fields]))
        eventually(lambda: world.observe().buffers[0].writers == ("karpenter",), "somebody answers it")
        small.remove(SPARE)
        eventually(lambda: world.observe().buffers == (), "it is gone")


def test_buffers_that_the_server_does_not_have(small: FakeApiServer) -> None:
    with following(small, **WITH_BUFFERS) as world:
        assert ("CapacityBuffer" in world.observe().captured, world.observe().buffers) == (True, ())


@pytest.mark.parametrize(
    ("path", "captured", "code"),
    [
        (CAPACITY_BUFFERS.format(""), False, None),
        ("/api/v1/podtemplates", True, BufferProblem.NOT_CAPTURED),
        ("/api/v1/resourcequotas", True, BufferProblem.NOT_CAPTURED),
    ],
)
def test_buffers_that_may_not_be_read(small: FakeApiServer, path: str, captured: bool, code: BufferProblem | None) -> None:
    """The loop goes on, and says what it does not know."""
    small.serve(CAPACITY_BUFFERS.format(""), "CapacityBuffer")
    small.put(SPARE, _buffer(3))
    small.put(TEMPLATE, _template("2"))
    small.forbidden.add(path)
    with following(small, **WITH_BUFFERS) as world:
        assert ("CapacityBuffer" in world.observe().captured) == captured
        assert [one.code for one in world.observe().buffers] == ([code] if captured else [])
        assert "Pod" in world.observe().captured


REQUESTS_PATH = "/apis/autoscaling.x-k8s.io/v1/{}provisioningrequests"
TRAIN = REQUESTS_PATH.format("namespaces/shop/") + "/train"
WITH_REQUESTS: dict[str, Any] = {"workload_collections": FEW, "also": lambda: (*REQUESTS, *BUFFERS)}


def test_requests_are_followed_with_what_they_name(small: FakeApiServer) -> None:
    """Its template comes and is the request's own, as Kueue makes it; conditions change; buffers are followed as well."""
    small.serve(REQUESTS_PATH.format(""), "ProvisioningRequest")
    spec = {
        "provisioningClassName": "check-capacity.reconciler.dev",
        "podSets": [{"count": 3, "podTemplateRef": {"name": "small"}}],
    }
    request = {"metadata": {"namespace": "shop", "name": "train"}, "spec": spec}
    small.put(TRAIN, request)
    with following(small, **WITH_REQUESTS) as world:
        (found,) = world.observe().provisioning_requests
        assert (found.code, found.count) == (BufferProblem.NOT_FOUND, 0)
        template = _template("2")
        owner = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "name": "train", "controller": True}
        template["metadata"]["ownerReferences"] = [owner]
        small.put(TEMPLATE, template)
        eventually(lambda: world.observe().provisioning_requests[0].count == 3, "the template is there")
        conditions = [{"type": "Provisioned", "status": "True", "lastTransitionTime": "2026-11-25T08:00:00Z"}]
        small.put(TRAIN, {**request, "status": {"conditions": conditions}})
        eventually(lambda: world.observe().provisioning_requests[0].provisioned_seconds, "it is provisioned")
        assert "CapacityBuffer" in world.observe().captured
        small.remove(TRAIN)
        eventually(lambda: world.observe().provisioning_requests == (), "it is gone")


def test_requests_that_may_not_be_read(small: FakeApiServer) -> None:
    """The loop goes on, and the kind was not captured. A server without it has none."""
    with following(small, **WITH_REQUESTS) as world:
        assert "ProvisioningRequest" in world.observe().captured
    small.serve(REQUESTS_PATH.format(""), "ProvisioningRequest")
    small.forbidden.add(REQUESTS_PATH.format(""))
    with following(small, **WITH_REQUESTS) as world:
        assert "ProvisioningRequest" not in world.observe().captured
        assert "Pod" in world.observe().captured


RESOURCE_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
RESOURCE_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims"
CLAIM_TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaimtemplates"


def test_devices_are_followed(small: FakeApiServer) -> None:
    """A slice that is there, a template that comes, a claim that comes and gets a device, and all gone."""
    small.serve(RESOURCE_SLICES, "ResourceSlice")
    small.serve("/apis/resource.k8s.io/v1/resourceclaimtemplates", "ResourceClaimTemplate")
    small.serve("/apis/resource.k8s.io/v1/resourceclaims", "ResourceClaim")
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    small.put(f"{RESOURCE_SLICES}/s", {"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": pool, "nodeName": "n1"}})
    with following(small, workload_collections=(*FEW, *DEVICES)) as world:
        assert [one.where.node_name for one in world.observe().resource_slices] == ["n1"]
        claim: dict[str, Any] = {"metadata": {"name": "c", "namespace": "shop"}, "spec": {"devices": {"requests": []}}}
        small.put(f"{RESOURCE_CLAIMS}/c", claim)
        small.put(f"{CLAIM_TEMPLATES}/t", {"metadata": {"name": "t", "namespace": "shop"}, "spec": {"spec": {}}})
        eventually(lambda: [one.name for one in world.observe().claim_templates] == ["t"], "the template")
        eventually(lambda: world.observe().resource_claims, "the claim")
        assert world.observe().resource_claims[0].allocation is None
        results = [{"request": "r", "driver": "d", "pool": "n1", "device": "gpu-0"}]
        small.put(f"{RESOURCE_CLAIMS}/c", {**claim, "status": {"allocation": {"devices": {"results": results}}}})
        eventually(lambda: world.observe().resource_claims[0].allocation, "its device")
        small.remove(f"{RESOURCE_SLICES}/s")
        small.remove(f"{RESOURCE_CLAIMS}/c")
        small.remove(f"{CLAIM_TEMPLATES}/t")
        eventually(lambda: not (world.observe().resource_slices or world.observe().resource_claims), "both are gone")
        eventually(lambda: not world.observe().claim_templates, "the template is gone")


def test_pod_groups_are_followed(small: FakeApiServer) -> None:
    """A group that is there asks for less, and is gone."""
    path = "/apis/scheduling.k8s.io/v1beta1/namespaces/shop/podgroups/train"
    small.serve("/apis/scheduling.k8s.io/v1beta1/podgroups", "PodGroup")

    def asking(least: int) -> dict[str, Any]:
        spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
        return {"metadata": {"name": "train", "namespace": "shop"}, "spec": spec}

    small.put(path, asking(6))
    with following(small, workload_collections=(*FEW, POD_GROUPS)) as world:
        assert [(one.name, one.min_count) for one in world.observe().pod_groups] == [("train", 6)]
        small.put(path, asking(4))
        eventually(lambda: [one.min_count for one in world.observe().pod_groups] == [4], "the lower minimum")
        small.remove(path)
        eventually(lambda: not world.observe().pod_groups, "the group is gone")


def test_devices_that_may_not_be_read(small: FakeApiServer) -> None:
    """The loop goes on, and the kinds were not captured, so that nobody judges pods with claims."""
    small.serve(RESOURCE_SLICES, "ResourceSlice")
    small.forbidden.add(RESOURCE_SLICES)
    with following(small, workload_collections=(*FEW, *DEVICES)) as world:
        assert {"ResourceSlice", "ResourceClaim", "Pod"} & set(world.observe().captured) == {"ResourceClaim", "Pod"}


@pytest.fixture
def small() -> FakeApiServer:
    """One node, one pod, one target."""
    server = FakeApiServer()
    for item in objects.definitions():
        server.define(item)
    own = f"/apis/{objects.GROUP}/v1beta2/namespaces"
    server.put(f"{NODES}/n1", objects.node("n1"))
    server.put("/api/v1/namespaces/shop/pods/p", objects.pod("shop", "p", nodeName="n1"))
    server.put(f"{own}/infra/machinedeployments/general", objects.machine_deployment("infra", "general", 2))
    server.put(f"{own}/other/machinedeployments/other", objects.machine_deployment("other", "other", 1))
    template = f"/apis/{objects.INFRASTRUCTURE}/v1beta2/namespaces"
    server.put(f"{template}/infra/testmachinetemplates/small", objects.machine_template("infra", "small"))
    server.put(f"{template}/other/testmachinetemplates/small", objects.machine_template("other", "small"))
    return server


def test_a_view_is_of_its_instant(small: FakeApiServer) -> None:
    """The same objects a minute later are the same view but for its instant; nothing is read for it."""
    clock = Clock()
    with following(small, now_seconds=clock, name="prod") as world:
        eventually(lambda: world.observe() is world.observe(), "standing still")
        before, reads = world.observe(), len(small.reads)
        clock.now += 60
        after = world.observe()
        assert (before.captured_seconds, after.captured_seconds) == (NOW, NOW + 60)
        assert (after.name, after.nodes) == ("prod", before.nodes)
        assert after.pods is before.pods
        assert world.observe() is after
        assert len(small.reads) == reads


def test_targets_come_from_the_management_cluster(small: FakeApiServer) -> None:
    """Nodes and pods of one cluster, targets and their templates of the other, in the namespaces that are named."""
    workload = FakeApiServer()
    workload.put(f"{NODES}/w1", objects.node("w1"))
    with following(workload, small, namespaces=("infra",)) as world:
        eventually(lambda: any("testmachinetemplates" in path for path, _ in small.reads), "following the template")
        eventually(lambda: not world.doubts(), "having read the template")
        view = world.observe()
        assert [node.name for node in view.nodes] == ["w1"]
        assert [target.ref.name for target in view.targets] == ["general"]
        assert view.targets[0].template is not None
    read = {path for path, query in small.reads if "watch" in query}
    assert read == {
        *(f"/apis/{objects.GROUP}/v1beta2/namespaces/infra/{plural}" for plural in objects.KINDS.values()),
        f"/apis/{objects.INFRASTRUCTURE}/v1beta2/namespaces/infra/testmachinetemplates",
    }
    assert not any(objects.GROUP in path for path, _ in workload.reads)


def test_platforms_that_are_named_are_read(small: FakeApiServer) -> None:
    """In the group and version that is said, which the server is not asked for."""
    served = (Served(platform="clusterAPI", group=objects.GROUP, version="v1beta2"),)
    with following(small, served=served) as world:
        assert [target.ref.name for target in world.observe().targets] == ["general", "other"]
    assert f"/apis/{objects.GROUP}" not in [path for path, _ in small.reads]


def test_a_version_of_cluster_api_that_is_named(small: FakeApiServer) -> None:
    """It is read in that version, and the server is not asked which it prefers."""
    with following(small, capi_version="v1beta2") as world:
        assert len(world.observe().targets) == 2
    assert f"/apis/{objects.GROUP}" not in [path for path, _ in small.reads]


def test_nothing_is_trusted_before_all_was_read(small: FakeApiServer) -> None:
    """Neither nodes nor pods nor any target: `wait` runs out, the age is infinite, and at most three reasons are told."""
    small.forbidden = {PODS, NODES, *(f"/apis/{objects.GROUP}/v1beta2/{plural}" for plural in objects.KINDS.values())}
    world = LiveWorld(small, now_seconds=lambda: NOW, workload_collections=FEW, capi_group=objects.GROUP)
    assert world.doubts() == ("nothing is followed",)
    world.start()
    try:
        eventually(lambda: all("forbidden" in doubt for doubt in world.doubts()), "refusals", 30)
        assert not world.wait(0.01)
        assert world.age_seconds() == float("inf")
        with pytest.raises(IncompleteViewError) as found:
            world.observe()
        assert str(found.value).startswith(f"Node: waiting (403 Forbidden: {NODES} is forbidden), ")
        assert str(found.value).count(", ") == 3
        assert str(found.value).endswith(", and 2 more")
        small.forbidden = {PODS, NODES, f"/apis/{objects.GROUP}/v1beta2/machines"}
        eventually(lambda: len(world.doubts()) == 2, "two refusals", 30)
        with pytest.raises(IncompleteViewError, match=r"^Node: .*, and Pod: .* is forbidden\)$"):
            world.observe()
    finally:
        assert world.stop()
    assert world.doubts() == ("nothing is followed",)
    assert not world.wait(30)


def test_how_old_the_view_is(small: FakeApiServer) -> None:
    """As old as the stream that was silent for longest, on the clock that is handed in; more than 120 s are not trusted.
    Collections that the server has not are no reason."""
    small.bookmarks = 0
    pace = SetPace()
    with following(small, capi_group="absent.kube-tests.dev", pace=pace) as world:
        assert world.age_seconds() == 0
        pace.now += 120
        assert (world.age_seconds(), world.doubts()) == (120, ())
        small.put(f"{NODES}/n2", objects.node("n2"))
        eventually(lambda: len(world.observe().nodes) == 2, "the node", 30)
        assert world.age_seconds() == 120
        pace.now += 1
        assert world.doubts() == ("Pod: the server has been silent for more than 120 s",)
        with pytest.raises(IncompleteViewError, match=r"^Pod: the server has been silent for more than 120 s$"):
            world.observe()
        pace.stop()
    assert LiveWorld(small, now_seconds=lambda: NOW, workload_collections=()).age_seconds() == float("inf")


@pytest.mark.parametrize(("seconds", "trusted"), [(1.0, True), (0.0, False)])
def test_the_last_moment_of_a_wait(small: FakeApiServer, seconds: float, trusted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that comes to be trusted in the last second is taken; with no time left nobody waits."""
    world = LiveWorld(small, now_seconds=lambda: NOW, workload_collections=FEW, capi_group=objects.GROUP)
    doubts = iter([("Pod: waiting",), ()])
    monkeypatch.setattr(world._own_pace, "monotonic", lambda: 7.0)
    monkeypatch.setattr(world, "doubts", lambda: next(doubts))
    assert world.wait(seconds) is trusted


def test_every_change_is_told(small: FakeApiServer) -> None:
    """In some thread, after it is in the view: what comes, goes, and says something new; a heartbeat does not."""
    told = threading.Semaphore(0)
    with following(small, on_change=told.release) as world:
        eventually(lambda: world.observe() is world.observe(), "standing still")
        while told.acquire(blocking=False):
            pass
        small.put(f"{NODES}/n2", objects.node("n2"))
        assert told.acquire(timeout=30)
        assert [node.name for node in world.observe().nodes] == ["n1", "n2"]
        small.write("DELETE", f"{NODES}/n2")
        assert told.acquire(timeout=30)
        assert [node.name for node in world.observe().nodes] == ["n1"]
        small.put(f"{NODES}/n1", small.objects[f"{NODES}/n1"])
        small.put(f"{NODES}/n3", objects.node("n3"))
        assert told.acquire(timeout=30)
        assert [node.name for node in world.observe().nodes] == ["n1", "n3"]
        assert not told.acquire(blocking=False)


def test_the_version_of_the_server_is_asked_now_and_then(small: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ten minutes at most, however often the view changes; one that does not say keeps the last answer."""
    # The clock that is moved is that of the watches too.
    with following(small, longest_silence_seconds=float("inf")) as world:
        pace, seconds = world._own_pace, [0.0]
        monkeypatch.setattr(pace, "monotonic", lambda: seconds[0])

        def asked_after(more: float) -> int:
            seconds[0] += more
            small.put(f"{NODES}/n1", objects.node("n1", unschedulable=bool(len(small.reads) % 2)))
            changes = world._changes
            small.put(f"{NODES}/{seconds[0]}", objects.node(f"{seconds[0]}"))
            eventually(lambda: world._changes > changes and str(seconds[0]) in [n.name for n in world.observe().nodes], "it", 30)
            return [path for path, _ in small.reads].count("/version")

        world._version_due = 0.0
        small.unreadable["/metrics"] = b'kubernetes_feature_enabled{name="VolumeLimitScaling",stage="BETA"} 1\n'
        first = asked_after(1)
        assert asked_after(599) == first
        assert world.observe().feature_gates == (("VolumeLimitScaling", True),)
        small.forbidden.update(("/version", "/metrics"))
        assert asked_after(1) == first + 1
        assert world.observe().scheduler_version == (1, 36, 3)
        assert world.observe().feature_gates == (("VolumeLimitScaling", True),)


class Cloud:
    """A polled source whose documents and state a test says."""

    def __init__(self) -> None:
        self.changed: Callable[[], None] | None = None
        self.stopped = False
        self.found: tuple[Document, ...] = ()
        self.heard: float | None = None

    def start(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def stop(self) -> None:
        self.stopped = True

    def states(self) -> tuple[StreamState, ...]:
        return (polled_state("Cloud", self.heard, objects=len(self.found), asks=1, failure="no right"),)

    def unread(self, doubtful: Mapping[str, str]) -> tuple[Unread, ...]:
        return tuple(Unread(kind=kind, why=why) for kind, why in doubtful.items())

    def documents(self) -> tuple[Document, ...]:
        return self.found


def test_what_a_cloud_tells_is_part_of_the_view(small: FakeApiServer) -> None:
    """Trusted with its first whole answer, read as a snapshot would be, and ended with the rest."""
    cloud = Cloud()
    told: list[None] = []
    world = LiveWorld(
        small, now_seconds=lambda: NOW, workload_collections=FEW, capi_group=objects.GROUP, polled=(cloud,),
        on_change=lambda: told.append(None),
    )  # fmt: skip
    world.start()
    try:
        eventually(lambda: world.doubts() == ("Cloud: waiting (no right)",), "the cloud alone being waited for", 30)
        assert world.age_seconds() == float("inf")
        cloud.heard = 7.0
        assert world.wait(30)
        assert world.age_seconds() >= 7
        eventually(lambda: world.observe() is world.observe(), "standing still")
        namespaces = json.dumps({"metadata": {"name": "from-the-cloud", "labels": {"a": "b"}}}).encode()
        cloud.found = (Document(file="cloud", api_version="v1", kind="Namespace", items=[msgspec.Raw(namespaces)], is_list=True),)
        assert "Namespace" in world.observe().not_captured
        count = len(told)
        assert cloud.changed is not None
        cloud.changed()
        assert len(told) == count + 1
        assert "Namespace" not in world.observe().not_captured
        odd = msgspec.Raw(b'{"metadata":{"name":7}}')
        cloud.found = (Document(file="cloud", api_version="v1", kind="Namespace", items=[odd], is_list=True),)
        cloud.changed()
        (unread,) = world.observe().unread
        assert (unread.kind, unread.why.startswith("cloud: item 1 (Namespace")) == ("Namespace", True)
        assert "Namespace" in world.observe().not_captured
        cloud.found = ()
        cloud.changed()
        assert [node.name for node in world.observe().nodes] == ["n1"]
    finally:
        assert world.stop()
    assert cloud.stopped


def test_an_end_that_takes_too_long(small: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that does not end in time is told by `stop`; the threads that are waited for have ten seconds together."""
    waited: list[float] = []

    def join(timeout_seconds: float) -> bool:
        waited.append(timeout_seconds)
        return False

    with following(small) as world, monkeypatch.context() as patched:
        patched.setattr(world._reflectors[-1], "join", join)
        assert not world.stop()
        assert 9 < waited[0] <= 10
        assert not world.stop(0.0)
        assert waited[1] == 0.01


def test_infrastructure_templates_are_followed_once(small: FakeApiServer) -> None:
    """However many targets refer to a kind, and however often the view is asked for."""
    with following(small) as world:
        path = f"/apis/{objects.INFRASTRUCTURE}/v1beta2/testmachinetemplates"
        eventually(lambda: any(where == path for where, _ in small.reads), "following the template", 30)
        eventually(lambda: not world.doubts(), "having read it", 30)
        for _ in range(3):
            world.observe()
        assert [where for where, query in small.reads if "watch" in query].count(path) == 1
        assert [state.collection for state in world.freshness()] == sorted(["Node", "Pod", *objects.KINDS, "TestMachineTemplate"])


def test_two_collections_of_one_kind_are_one_view(small: FakeApiServer) -> None:
    """Each namespace has its own watch; what they bring stands in one view, and a change of either is in it."""
    with following(small, namespaces=("infra", "other")) as world:
        assert [target.ref.name for target in world.observe().targets] == ["general", "other"]
        path = f"/apis/{objects.GROUP}/v1beta2/namespaces/other/machinedeployments/other"
        small.write("DELETE", path)
        eventually(lambda: [t.ref.name for t in world.observe().targets] == ["general"], "its end", 30)


def test_what_is_found_while_it_starts_is_started_once() -> None:
    """A page that looks at the view while it starts may find a template to follow: it starts that reflector itself."""
    started: list[str] = []
    streams = FollowedKinds(Reflector, (), ())  # type: ignore[arg-type]

    class Found:
        def __init__(self, name: str) -> None:
            self.name = name

        def start(self) -> None:
            started.append(self.name)
            if self.name == "targets":
                template = Found("templates")
                streams.templates["group", "kind"] = [template]  # type: ignore[list-item]
                template.start()

    streams.targets = [Found("targets"), Found("sets")]  # type: ignore[list-item]
    streams.start()
    assert started == ["targets", "templates", "sets"]


def test_what_is_needed_later_is_followed_from_then_on(small: FakeApiServer) -> None:
    """Services are read once a policy asks for them. Until they were read completely, no view is trusted."""
    service = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}}
    small.put("/api/v1/namespaces/shop/services/web", {"apiVersion": "v1", "kind": "Service", **service})
    asked_for: list[Collection] = []
    with following(small, also=lambda: asked_for) as world:
        assert (world.observe().services, "Service" in world.observe().captured) == ((), False)
        assert not any("/services" in path for path, _ in small.reads)
        asked_for.append(SERVICES)
        eventually(lambda: not world.doubts(), "having read the Services")
        assert [one.name for one in world.observe().services] == ["web"]
        assert "Service" in world.observe().captured
        assert [path for path, _ in small.reads if path.endswith("/services")] == ["/api/v1/services"]
