"""What ProvisioningRequests ask room for: pods of PodTemplates, in sets, of classes that are answered here."""

import json
from typing import Any

import pytest

from reconciler.cluster.pods.pod import PodTraits
from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.redaction import redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import BufferProblem, RequestPods, World

KINDS = ("ProvisioningRequest", "PodTemplate", "Pod", "Node")
Object = dict[str, Any]
MI = 1 << 20


def _named(name: str, **meta: object) -> Object:
    return {"name": name, "namespace": "ml", "creationTimestamp": "2026-11-25T08:00:00Z", **meta}


def _request(
    *sets: tuple[str, int], conditions: tuple[tuple[str, str], ...] = (), meta: Object | None = None, version: str = "v1",
    **spec: object,
) -> Object:  # fmt: skip
    pod_sets = [{"podTemplateRef": {"name": name}, "count": count} for name, count in sets or (("worker", 3),)]
    told = [{"type": kind, "status": status, "lastTransitionTime": "2026-11-25T08:10:00Z"} for kind, status in conditions]
    return {
        "apiVersion": f"autoscaling.x-k8s.io/{version}",
        "kind": "ProvisioningRequest",
        "metadata": _named("train", uid="u1", generation=1, **(meta or {})),
        "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", "podSets": pod_sets, **spec},
        "status": {"conditions": told},
    }


def _template(name: str = "worker", cpu: str = "2", **meta: object) -> Object:
    requests = {"cpu": cpu, "memory": "64Mi"}
    pods = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], "nodeSelector": {"pool": "a"}}}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": _named(name, **meta), "template": pods}


def _world(*items: Object, kinds: tuple[str, ...] = KINDS) -> World:
    manifest = {"formatVersion": "1.0", "capturedAt": "2026-11-25T12:00:00Z", "cluster": "prod", "kinds": list(kinds)}
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    return read_snapshot({"snapshot.yaml": json.dumps(manifest).encode(), "all.json": json.dumps(listed).encode()})


def _only(*items: Object, kinds: tuple[str, ...] = KINDS) -> RequestPods:
    (found,) = _world(*items, kinds=kinds).provisioning_requests
    return found


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_pods_of_templates(version: str) -> None:
    """Two sets of their shapes. A template that belongs to the request, as Kueue makes them, is read too."""
    owner = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "name": "train",
        "uid": "u1",
        "controller": True,
    }
    world = _world(
        _request(("driver", 1), ("worker", 4), version=version), _template(), _template("driver", "500m", ownerReferences=[owner])
    )
    (found,) = world.provisioning_requests
    assert (found.key, found.uid, found.class_name, found.count) == ("ml/train", "u1", "check-capacity.autoscaling.x-k8s.io", 5)
    asked = [(world.pod_shapes[one.shape].requests, one.count) for one in found.sets]
    assert asked == [
        (Resources(cpu_milli=500, memory_bytes=64 * MI, pods=1), 1),
        (Resources(cpu_milli=2000, memory_bytes=64 * MI, pods=1), 4),
    ]
    assert {world.pod_shapes[one.shape].node_selector for one in found.sets} == {(("pool", "a"),)}
    assert (found.valid_seconds, found.retries, found.over, found.code) == (7 * 86_400, True, False, None)


@pytest.mark.parametrize(
    ("parameters", "valid", "retries"),
    [
        ({"ValidUntilSeconds": "3600"}, 3600, True),
        ({"ValidUntilSeconds": "90m"}, 5400, True),
        ({"ValidUntilSeconds": "0", "noRetry": "true"}, 0, False),
        ({"noRetry": "false", "other": "x"}, 7 * 86_400, True),
    ],
)
def test_parameters(parameters: Object, valid: int, *, retries: bool) -> None:
    found = _only(_request(parameters=parameters), _template())
    assert (found.valid_seconds, found.retries, found.code) == (valid, retries, None)


@pytest.mark.parametrize(
    ("conditions", "over", "provisioned"),
    [
        ((), False, None),
        ((("Accepted", "True"),), False, None),
        ((("Provisioned", "False"),), False, None),
        ((("Accepted", "True"), ("Provisioned", "True")), False, 1_795_594_200),
        ((("Failed", "True"),), True, None),
        ((("Failed", "False"),), False, None),
        ((("Provisioned", "True"), ("BookingExpired", "True")), True, 1_795_594_200),
        ((("CapacityRevoked", "True"),), True, None),
    ],
)
def test_conditions(conditions: tuple[tuple[str, str], ...], *, over: bool, provisioned: int | None) -> None:
    found = _only(_request(conditions=conditions), _template())
    assert (found.over, found.provisioned_seconds) == (over, provisioned)


@pytest.mark.parametrize(
    ("items", "code", "word"),
    [
        ([_request()], BufferProblem.NOT_FOUND, "there is no PodTemplate worker in namespace ml"),
        ([_request(podSets=[])], BufferProblem.UNREADABLE, "spec.podSets"),
        ([_request(("worker", 0)), _template()], BufferProblem.UNREADABLE, "at least one pod"),
        ([_request(("worker", 10_001)), _template()], BufferProblem.UNREADABLE, "10001 pods"),
        ([_request(atMost=2), _template()], BufferProblem.UNREADABLE, "atMost"),
        ([_request(parameters={"ValidUntilSeconds": "soon"}), _template()], BufferProblem.UNREADABLE, "ValidUntilSeconds"),
        ([_request(), _template(cpu="much")], BufferProblem.UNREADABLE, "PodTemplate worker"),
    ],
)
def test_what_cannot_be_read_stops_nothing_else(items: list[Object], code: BufferProblem, word: str) -> None:
    found = _only(*items)
    assert (found.code, found.sets) == (code, ())
    assert word in found.problem


def test_templates_that_were_not_captured() -> None:
    assert _only(_request(), kinds=("ProvisioningRequest",)).code is BufferProblem.NOT_CAPTURED


def test_another_class_is_not_looked_into() -> None:
    found = _only(_request(provisioningClassName="queued.gke.io", podSets="whatever"))
    assert (found.class_name, found.code, found.sets) == ("queued.gke.io", None, ())


def test_who_writes_the_status() -> None:
    fields = {"f:status": {"f:conditions": {"k": {}}}}
    managers = [
        {"manager": "kueue", "operation": "Update", "fieldsV1": {"f:spec": {}}},
        {"manager": "cluster-autoscaler", "operation": "Update", "subresource": "status", "fieldsV1": fields},
    ]
    assert _only(_request(meta={"managedFields": managers}), _template()).writers == ("cluster-autoscaler",)


@pytest.mark.parametrize(
    "annotations",
    [
        {"autoscaling.x-k8s.io/consume-provisioning-request": "train"},
        {"cluster-autoscaler.kubernetes.io/consume-provisioning-request": "train"},
    ],
)
def test_pods_say_whose_room_they_take(annotations: Object) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": _named("p", annotations=annotations),
        "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Pending"},
    }  # fmt: skip
    traits: tuple[PodTraits, ...] = _world(pod).pod_traits
    assert traits[0].annotations == (("autoscaling.x-k8s.io/consume-provisioning-request", "train"),)


def test_a_redacted_snapshot_asks_for_the_same() -> None:
    """Names are hidden; class, parameters, conditions and pods are not. What nobody understands stays so."""
    parameters = {"ValidUntilSeconds": "3600", "noRetry": "true"}
    good = _request(conditions=(("Accepted", "True"), ("Provisioned", "True")), parameters=parameters)
    bad = _request(atMost=2)
    bad["metadata"]["name"] = "bad"
    listings = [
        Listing(file="requests", api_version="autoscaling.x-k8s.io/v1", kind="ProvisioningRequest", items=[good, bad]),
        Listing(file="templates", api_version="v1", kind="PodTemplate", items=[_template()]),
    ]
    shown = redacted(listings, Pseudonyms(b"s" * 32))
    files = {f"{listing.file}.json": listing.encoded() for listing in shown}
    read = {one.count: one for one in read_snapshot(files).provisioning_requests}
    assert "train" not in read[3].name
    assert (read[3].class_name, read[3].valid_seconds, read[3].retries) == ("check-capacity.autoscaling.x-k8s.io", 3600, False)
    assert read[3].provisioned_seconds == 1_795_594_200
    assert read[0].sets == ()
