"""What CapacityBuffers ask room for: pods of a template or of a scalable object, as many as the API says, within the quotas."""

import json

import pytest

from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import BufferPods, BufferProblem, World
from reconciler.control.capture import Capture

MI = 1 << 20
KINDS = (
    "CapacityBuffer",
    "PodTemplate",
    "ResourceQuota",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "Job",
    "ReplicationController",
)
Object = dict[str, object]


def _named(name: str, namespace: str = "shop", created: str = "2026-11-25T08:00:00Z", **meta: object) -> Object:
    return {"name": name, "namespace": namespace, "creationTimestamp": created, **meta}


def _buffer(name: str = "spare", *, created: str = "2026-11-25T08:00:00Z", meta: Object | None = None, **spec: object) -> Object:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": _named(name, created=created, uid="u1", generation=4, **(meta or {})),
        "spec": spec,
    }


def _pods(cpu: str | None = "500m", memory: str | None = "256Mi", **spec: object) -> Object:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}


def _template(name: str = "small", **pods: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _named(name, generation=7),
        "template": _pods(**pods),  # type: ignore[arg-type]
    }


def _workload(kind: str, api_version: str, **spec: object) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": _named("web"),
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": _pods(), **spec},
    }


def _quota(name: str, hard: Object, used: Object | None = None, **spec: object) -> Object:
    status = {"hard": hard, "used": used or dict.fromkeys(hard, "0")}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _named(name),
        "spec": {"hard": hard, **spec},
        "status": status,
    }


def _world(*items: Object, kinds: tuple[str, ...] = KINDS) -> World:
    manifest = {"formatVersion": "1.0", "capturedAt": "2026-11-25T12:00:00Z", "cluster": "prod", "kinds": list(kinds)}
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    return read_snapshot({"snapshot.yaml": json.dumps(manifest).encode(), "all.json": json.dumps(listed).encode()})


def _only(*items: Object, kinds: tuple[str, ...] = KINDS) -> BufferPods:
    (found,) = _world(*items, kinds=kinds).buffers
    return found


SMALL = {"podTemplateRef": {"name": "small"}}
DEPLOYED = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}


def _shape(*items: Object) -> PodShape:
    world = _world(*items)
    return world.pod_shapes[world.buffers[0].shape]


def test_pods_of_a_template() -> None:
    """Its labels, requests, selector and tolerations; the generation that was read."""
    on = {"nodeSelector": {"pool": "a"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    items = (_buffer(**SMALL, replicas=3), _template(**on))
    found, shape = _only(*items), _shape(*items)
    assert (found.asked, found.count, found.template, found.template_generation) == (3, 3, "small", 7)
    assert (found.key, found.uid, found.generation, found.code) == ("shop/spare", "u1", 4, None)
    assert shape.requests == Resources(cpu_milli=500, memory_bytes=256 * MI, pods=1)
    assert (shape.namespace, shape.labels, shape.node_selector) == ("shop", (("app", "web"),), (("pool", "a"),))
    assert shape.tolerations == (Toleration("gpu", "Exists", "", ""),)


def test_pods_as_the_api_server_makes_them() -> None:
    """The default request of a limit range, and the priority of the class."""
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2", "memory": "1Mi"}}]
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": _named("r"), "spec": {"limits": limits}}
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 900}
    shape = _shape(_buffer(**SMALL, replicas=1), _template(cpu=None, priorityClassName="high"), limit_range, high)
    assert (shape.requests.cpu_milli, shape.requests.memory_bytes, shape.priority) == (2000, 256 * MI, 900)


def test_claims_that_come_with_the_pod_are_left_out() -> None:
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]
    assert _shape(_buffer(**SMALL, replicas=1), _template(volumes=volumes)).volumes == ()


@pytest.mark.parametrize(
    ("kind", "group", "api_version", "spec"),
    [
        ("Deployment", "apps", "apps/v1", {"replicas": 10}),
        ("ReplicaSet", "apps", "apps/v1", {"replicas": 10}),
        ("StatefulSet", "apps", "apps/v1", {"replicas": 10}),
        ("Job", "batch", "batch/v1", {"parallelism": 10}),
        ("ReplicationController", "", "v1", {"replicas": 10, "selector": {"app": "web"}}),
        ("ReplicationController", "core", "v1", {"replicas": 10, "selector": {"app": "web"}}),
    ],
)
def test_pods_of_a_scalable_object(kind: str, group: str, api_version: str, spec: Object) -> None:
    """25% of ten, rounded up."""
    buffer = _buffer(scalableRef={"apiGroup": group, "kind": kind, "name": "web"}, percentage=25)
    items = (buffer, _workload(kind, api_version, **spec))
    assert (_only(*items).asked, _only(*items).template) == (3, "")
    assert _shape(*items).requests.cpu_milli == 500


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({"replicas": 2, "percentage": 25}, 3),  # the larger
        ({"replicas": 5, "percentage": 25}, 5),
        ({"replicas": 0}, 0),
        ({"percentage": 1}, 1),  # at least one
        ({"percentage": 0}, 0),
        ({"percentage": 150}, 15),
        ({"replicas": 5, "limits": {"cpu": "1900m"}}, 3),  # 3 x 500m
        ({"replicas": 2, "limits": {"cpu": "1900m"}}, 2),
        ({"limits": {"cpu": "10", "memory": "1Gi"}}, 4),  # 4 x 256Mi
        ({"limits": {"cpu": "400m"}}, 0),
        ({"percentage": 50, "limits": {"memory": "1Gi", "nvidia.com/gpu": 1}}, 4),
    ],
)
def test_how_many(spec: Object, count: int) -> None:
    found = _only(_buffer(**DEPLOYED, **spec), _workload("Deployment", "apps/v1", replicas=10))
    assert (found.asked, found.count, found.code) == (count, count, None)


def test_a_percentage_of_nothing_is_nothing() -> None:
    found = _only(_buffer(**DEPLOYED, percentage=20), _workload("Deployment", "apps/v1", replicas=0))
    assert (found.count, found.code) == (0, None)


@pytest.mark.parametrize(
    ("quotas", "count", "limited_by"),
    [
        ([_quota("q", {"requests.cpu": "3"}, {"requests.cpu": "1200m"})], 3, ("q",)),  # 1800m left, 500m each
        ([_quota("q", {"cpu": "3", "memory": "300Mi"})], 1, ("q",)),
        ([_quota("a", {"cpu": "2"}), _quota("b", {"cpu": "1"})], 2, ("a", "b")),
        ([_quota("q", {"requests.cpu": "3"}, {"requests.cpu": "4"})], 0, ("q",)),
        ([_quota("q", {"cpu": "100"})], 5, ()),
        ([_quota("q", {"limits.cpu": "1", "requests.storage": "1"})], 5, ()),  # requests and pods alone
        ([_quota("q", {"pods": "4"}, {"pods": "1"})], 3, ("q",)),
        ([_quota("q", {"count/pods": "4"}, {"count/pods": "2"}), _quota("r", {"pods": "9"})], 2, ("q",)),
        ([_quota("q", {"pods": "0"}, scopes=["Terminating"])], 5, ()),
        ([_quota("q", {"cpu": "1"}, scopes=["Terminating"])], 5, ()),
        ([_quota("q", {"cpu": "1"}, scopes=["NotTerminating"])], 2, ("q",)),
        ([_quota("q", {"cpu": "1"}, scopes=["BestEffort"])], 5, ()),
        ([_quota("q", {"cpu": "1"}, scopes=["NotBestEffort"])], 2, ("q",)),
        ([_quota("q", {"cpu": "1"}, scopes=["SomethingNew"])], 2, ("q",)),
        ([_quota("q", {"cpu": "1"}, scopes=["PriorityClass"])], 5, ()),
    ],
)
def test_the_quota_of_the_namespace(quotas: list[Object], count: int, limited_by: tuple[str, ...]) -> None:
    found = _only(_buffer(**SMALL, replicas=5), _template(), *quotas)
    assert (found.asked, found.count, found.limited_by) == (5, count, limited_by)


@pytest.mark.parametrize(
    ("operator", "values", "count"),
    [("In", ["high"], 2), ("In", ["low"], 5), ("NotIn", ["high"], 5), ("Exists", [], 2), ("DoesNotExist", [], 5)],
)
def test_a_quota_for_a_priority_class(operator: str, values: list[str], count: int) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}
    quota = _quota("q", {"cpu": "1"}, scopeSelector=selector)
    assert _only(_buffer(**SMALL, replicas=5), _template(priorityClassName="high"), quota).count == count


def test_the_oldest_buffer_has_the_quota_first() -> None:
    """2.5 cores: two of the four for `b`, which is older, would be five; `a` gets the rest."""
    world = _world(
        _buffer("a", created="2026-11-25T09:00:00Z", **SMALL, replicas=4),
        _buffer("b", created="2026-11-25T08:00:00Z", **SMALL, replicas=3),
        _template(),
        _quota("q", {"cpu": "2500m"}),
    )
    assert [(one.name, one.count, one.limited_by) for one in world.buffers] == [("a", 2, ("q",)), ("b", 3, ())]


@pytest.mark.parametrize(
    ("items", "code", "word"),
    [
        ([_buffer(**SMALL, replicas=1)], BufferProblem.NOT_FOUND, "PodTemplate small"),
        ([_buffer(**DEPLOYED, replicas=1)], BufferProblem.NOT_FOUND, "Deployment web"),
        ([_buffer(provisioningStrategy="x.io/cold", **SMALL, replicas=1)], BufferProblem.UNKNOWN_STRATEGY, "x.io/cold"),
        ([_buffer(scalableRef={"apiGroup": "argoproj.io", "kind": "Rollout", "name": "w"}, replicas=1)],
         BufferProblem.KIND_NOT_SUPPORTED, "Rollout of argoproj.io"),
        ([_buffer(replicas=1)], BufferProblem.UNREADABLE, "podTemplateRef"),
        ([_buffer(**SMALL, **DEPLOYED, replicas=1)], BufferProblem.UNREADABLE, "not both"),
        ([_buffer(**SMALL), _template()], BufferProblem.UNREADABLE, "replicas"),
        ([_buffer(**SMALL, percentage=10), _template()], BufferProblem.UNREADABLE, "replicas"),
        ([_buffer(**SMALL, replicas="many"), _template()], BufferProblem.UNREADABLE, "replicas"),
        ([_buffer(**SMALL, replicas=1, atMost=2), _template()], BufferProblem.UNREADABLE, "atMost"),
        ([_buffer(**SMALL, limits={"cpu": "some"}), _template()], BufferProblem.UNREADABLE, "spec.limits.cpu"),
        ([_buffer(**SMALL, limits={"nvidia.com/gpu": 2}), _template()], BufferProblem.LIMITS_UNMATCHED, "spec.limits"),
        ([_buffer(**SMALL, replicas=10_001), _template()], BufferProblem.TOO_MANY, "10001"),
        ([_buffer(**SMALL, replicas=1), _template(cpu="lots")], BufferProblem.UNREADABLE, "PodTemplate small"),
        ([_buffer(**SMALL, replicas=1), _template(), _quota("q", {"cpu": "odd"})], BufferProblem.QUOTA_UNKNOWN, "Quota q"),
    ],
)  # fmt: skip
def test_what_no_room_is_kept_for(items: list[Object], code: BufferProblem, word: str) -> None:
    """Nothing else becomes unreadable by it."""
    found = _only(*items)
    assert (found.shape, found.count, found.code) == (-1, 0, code)
    assert word in found.problem


def test_the_replica_set_of_a_deployment_is_not_a_scalable_object() -> None:
    """There may be very many of them, and their number is not theirs."""
    owned = _workload("ReplicaSet", "apps/v1", replicas=3)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    owned["metadata"] = _named("web", ownerReferences=[owner])
    found = _only(_buffer(scalableRef={"apiGroup": "apps", "kind": "ReplicaSet", "name": "web"}, replicas=1), owned)
    assert (found.code, "belongs to another controller" in found.problem) == (BufferProblem.KIND_NOT_SUPPORTED, True)


@pytest.mark.parametrize("missing", ["PodTemplate", "ResourceQuota"])
def test_what_was_not_captured_is_not_guessed(missing: str) -> None:
    items = (_buffer(**SMALL, replicas=1), *((_template(),) if missing != "PodTemplate" else ()))
    found = _only(*items, kinds=tuple(kind for kind in KINDS if kind != missing))
    assert (found.code, missing in found.problem) == (BufferProblem.NOT_CAPTURED, True)


@pytest.mark.parametrize(
    ("fields", "subresource", "writers"),
    [
        ({"f:status": {"f:conditions": {}}}, "status", ("cluster-autoscaler",)),
        ({"f:status": {"f:replicas": {}}}, "status", ("cluster-autoscaler",)),
        ({"f:status": {}}, "status", ()),
        ({"f:spec": {"f:replicas": {}}}, "", ()),
        ("what", "status", ("cluster-autoscaler",)),
    ],
)
def test_who_writes_the_status(fields: object, subresource: str, writers: tuple[str, ...]) -> None:
    manager = {"manager": "cluster-autoscaler", "operation": "Update", "subresource": subresource, "fieldsV1": fields}
    found = _only(_buffer(meta={"managedFields": [manager]}, **SMALL, replicas=1), _template())
    assert (found.writers, found.count) == (writers, 1)


@pytest.mark.parametrize("hides_names", [False, True])
def test_in_a_snapshot_that_leaves_the_house(hides_names: bool) -> None:
    """The same room is asked for, and no name is told."""
    other = {
        "manager": "secret-sizer",
        "operation": "Update",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:replicas": {}}},
    }
    items = (
        _buffer("spare-a", **DEPLOYED, percentage=30, meta={"managedFields": [other]}),
        _buffer("spare-b", **SMALL, limits={"cpu": "4", "secret.io/card": 8}),
        _buffer("spare-c", **SMALL, replicas=1, secretField=1),
        _workload("Deployment", "apps/v1", replicas=10),
        _template(nodeSelector={"secret.io/pool": "secret"}),
        _quota("secret-q", {"requests.cpu": "4", "requests.secret.io/card": 1}),
    )
    listings = tuple(
        Listing(file=f"{number}", api_version=str(item["apiVersion"]), kind=str(item["kind"]), items=[dict(item)])
        for number, item in enumerate(items)
    )
    whole = Capture(cluster="prod", captured_seconds=1, capi_group="", listings=listings, kinds=KINDS)
    shown = whole.redacted(Pseudonyms(b"salt", hides_names=hides_names))
    asked = sorted((one.asked, one.count, one.code, len(one.writers)) for one in whole.world().buffers if one.code is None)
    assert asked == [(3, 3, None, 1), (8, 5, None, 0)]
    assert asked == sorted(
        (one.asked, one.count, one.code, len(one.writers)) for one in shown.world().buffers if one.code is None
    )
    assert [one.code for one in shown.world().buffers if one.code] == [BufferProblem.UNREADABLE]
    assert b"secret" not in b"".join(shown.files().values())


def test_the_order_of_reading_does_not_matter() -> None:
    items = [_buffer(**DEPLOYED, percentage=30), _workload("Deployment", "apps/v1", replicas=10), _quota("q", {"cpu": "1"})]
    assert _world(*items) == _world(*reversed(items))


def test_no_namespace_gets_room_for_more_than_ten_thousand_pods() -> None:
    """The older buffer has its 6,000, the younger one what is left of the bound."""
    old = _buffer("old", **SMALL, replicas=6_000)
    new = _buffer("young", **SMALL, replicas=6_000, created="2026-11-25T09:00:00Z")
    found = {one.name: (one.asked, one.count, one.limited_by) for one in _world(old, new, _template()).buffers}
    bound = "10000 pods per namespace and 30000 per cluster"
    assert found == {"old": (6_000, 6_000, ()), "young": (6_000, 4_000, (bound,))}
