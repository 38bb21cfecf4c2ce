"""Device classes, slices and claims as they are read of a snapshot. Expected values follow the API's definition."""

from typing import Any

import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import (
    Allocated,
    Allocation,
    Alternative,
    ClaimTemplate,
    Constraint,
    DeviceRequest,
    DeviceToleration,
    ResourceClaim,
)
from reconciler.cluster.devices.resource_slice import (
    Attribute,
    AttributeKind,
    Device,
    DeviceCapacity,
    DeviceTaint,
    ResourceSlice,
    Where,
)
from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.snapshots.snapshot import SnapshotError
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.values.label_selector import Requirement
from tests.cluster.objects import Object, obj, pod, world_of

V1 = "resource.k8s.io/v1"
ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}


def device_slice(name: str = "s", version: str = V1, **spec: Any) -> Object:
    body = {"driver": "gpu.example.com", "pool": {"name": "n1", "generation": 3, "resourceSliceCount": 2}, **spec}
    return obj("ResourceSlice", version, name, spec=body)


def claim(name: str = "c", *requests: Object, status: Object | None = None, meta: Object | None = None, **devices: Any) -> Object:
    body = {"devices": {"requests": list(requests), **devices}}
    return obj("ResourceClaim", V1, name, "shop", spec=body, status=status or {}, meta=meta or {})


def test_a_class() -> None:
    """Its selectors in their order, the extended resource, and the age, which decides between two classes of one resource."""
    spec = {"selectors": [{"cel": {"expression": "device.driver == 'a'"}}, {}], "extendedResourceName": "example.com/gpu"}
    world = world_of(obj("DeviceClass", V1, "gpu", spec=spec, meta={"creationTimestamp": "1970-01-01T00:01:00Z"}))
    assert world.device_classes == (
        DeviceClass(name="gpu", extended_resource="example.com/gpu", selectors=("device.driver == 'a'", ""), created_seconds=60),
    )


def test_a_slice_of_one_node() -> None:
    """Attributes keep their type, amounts are in thousandths, and a rule for parts of a capacity is read whole."""
    device = {
        "name": "gpu-0",
        "attributes": {
            "model": {"string": "a100"},
            "slots": {"int": 7},
            "healthy": {"bool": True},
            "driver": {"version": "1.2.3"},
        },
        "capacity": {
            "memory": {
                "value": "40Gi",
                "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "max": "40Gi", "step": "1Gi"}},
            },
            "cores": {"value": "1500m", "requestPolicy": {"default": "1", "validValues": ["1", "1500m"]}},
        },
        "taints": [{"key": "broken", "value": "x", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
        "allowMultipleAllocations": True,
    }
    gibi = 1024**3 * 1000
    (found,) = world_of(device_slice(nodeName="n1", devices=[device])).resource_slices
    assert found == ResourceSlice(
        name="s",
        driver="gpu.example.com",
        pool="n1",
        generation=3,
        slice_count=2,
        where=Where(node_name="n1"),
        devices=(
            Device(
                name="gpu-0",
                attributes=(
                    Attribute("driver", AttributeKind.VERSION, "1.2.3"),
                    Attribute("healthy", AttributeKind.BOOL, "true"),
                    Attribute("model", AttributeKind.STRING, "a100"),
                    Attribute("slots", AttributeKind.INT, "7"),
                ),
                capacities=(
                    DeviceCapacity(name="cores", milli=1500, has_policy=True, default_milli=1000, valid_milli=(1000, 1500)),
                    DeviceCapacity(
                        name="memory",
                        milli=40 * gibi,
                        has_policy=True,
                        default_milli=gibi,
                        limited=True,
                        min_milli=gibi,
                        max_milli=40 * gibi,
                        step_milli=gibi,
                    ),
                ),
                taints=(DeviceTaint("broken", "x", "NoSchedule"),),
                multiple=True,
            ),
        ),
    )


def test_a_slice_of_several_nodes() -> None:
    """Nodes by selector, all nodes, or nodes of each device; counters that devices share and consume."""
    zone = (NodeSelectorTerm((Requirement("zone", "In", ("a",)),)),)
    parts = [
        {
            "name": "d0",
            "nodeSelector": ZONE_A,
            "consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "2"}}}],
        },
        {"name": "d1", "allNodes": True, "bindingConditions": ["Attached"]},
    ]
    counters = [{"name": "gpu", "counters": {"memory": {"value": "8"}}}]
    world = world_of(
        device_slice("s1", nodeSelector=ZONE_A, sharedCounters=counters),
        device_slice("s2", allNodes=True),
        device_slice("s3", perDeviceNodeSelection=True, devices=parts),
    )
    first, second, third = world.resource_slices
    assert (first.where, first.counter_sets) == (Where(terms=zone), (("gpu", (("memory", 8000),)),))
    assert second.where == Where(all_nodes=True)
    assert third.per_device
    assert third.devices == (
        Device(name="d0", where=Where(terms=zone), counters=(("gpu", (("memory", 2000),)),)),
        Device(name="d1", where=Where(all_nodes=True), waits=True),
    )


@pytest.mark.parametrize(
    ("device", "named"),
    [
        ({"attributes": {"models": {"strings": ["a", "b"]}}}, "the value of attribute models"),
        ({"capacity": {"memory": {"value": "1u"}}}, "the amount 1u"),
        ({"nodeAllocatableResourceMappings": {"cpu": {}}}, "nodeAllocatableResourceMappings"),
    ],
)
def test_what_is_not_understood_is_named(device: Object, named: str) -> None:
    """Lists, amounts that thousandths cannot hold and devices that stand for cpu or memory are alpha features."""
    (found,) = world_of(device_slice(allNodes=True, devices=[{"name": "d", **device}])).resource_slices
    assert found.devices[0].unmodelled == named


def test_a_claim() -> None:
    """Requests with their defaults, alternatives, constraints, the devices that it has, and who uses it."""
    one = {
        "name": "gpu",
        "exactly": {
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 2,
            "adminAccess": True,
            "selectors": [{"cel": {"expression": "true"}}],
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
            "capacity": {"requests": {"memory": "1"}},
        },
    }
    either = {
        "name": "nic",
        "firstAvailable": [
            {"name": "fast", "deviceClassName": "nic", "allocationMode": "All"},
            {"name": "slow", "deviceClassName": "nic"},
        ],
    }
    results = [
        {"request": "gpu", "driver": "d", "pool": "p", "device": "x", "adminAccess": True},
        {"request": "nic/fast", "driver": "d", "pool": "p", "device": "y", "shareID": "1", "consumedCapacity": {"memory": "3"}},
    ]
    status = {
        "allocation": {"devices": {"results": results}, "nodeSelector": ZONE_A},
        "reservedFor": [{"resource": "pods", "name": "web-1", "uid": "u1"}],
    }
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "u1", "controller": True}
    constraints = [{"matchAttribute": "d/numa"}, {"distinctAttribute": "d/slot", "requests": ["gpu"]}]
    found = world_of(claim("c", one, either, constraints=constraints, status=status, meta={"ownerReferences": [owner]}))
    assert found.resource_claims == (
        ResourceClaim(
            namespace="shop",
            name="c",
            owner_uid="u1",
            owner_name="web-1",
            requests=(
                DeviceRequest(
                    name="gpu",
                    alternatives=(
                        Alternative(
                            name="gpu",
                            device_class="gpu",
                            selectors=("true",),
                            count=2,
                            admin=True,
                            tolerations=(DeviceToleration("k", "Exists", "", "NoSchedule"),),
                            amounts=(("memory", 1000),),
                        ),
                    ),
                ),
                DeviceRequest(
                    name="nic",
                    first_available=True,
                    alternatives=(
                        Alternative(name="fast", device_class="nic", mode="All", count=0),
                        Alternative(name="slow", device_class="nic", count=1),
                    ),
                ),
            ),
            constraints=(
                Constraint(attribute="d/numa"),
                Constraint(attribute="d/slot", distinct=True, requests=("gpu",)),
            ),
            allocation=Allocation(
                devices=(
                    Allocated(driver="d", pool="p", device="x", admin=True),
                    Allocated(driver="d", pool="p", device="y", shared=True, consumed=(("memory", 3000),)),
                ),
                terms=(NodeSelectorTerm((Requirement("zone", "In", ("a",)),)),),
            ),
            reserved_for=("u1",),
        ),
    )


def test_claims_of_pods() -> None:
    """By name, or made for the pod: then its status tells the name, or that none was needed; before that, nothing is known."""
    claims = [{"name": "mine", "resourceClaimName": "shared"}, *({"name": n, "resourceClaimTemplateName": "t"} for n in "abc")]
    status = {"phase": "Pending", "resourceClaimStatuses": [{"name": "a", "resourceClaimName": "web-1-a"}, {"name": "b"}]}
    world = world_of(pod("web-1", resourceClaims=claims, status=status), pod("web-2", resourceClaims=claims))
    assert world.pod_shapes[0].claims == (
        ClaimUse(name="mine", claim="shared"),
        ClaimUse(name="a", claim="web-1-a", generated=True, template="t"),
        ClaimUse(name="b", generated=True, template="t", needless=True),
        ClaimUse(name="c", generated=True, template="t"),
    )
    assert world.pod_shapes[1].claims[1:] == tuple(ClaimUse(name=name, generated=True, template="t") for name in "abc")


def test_the_claim_of_a_pod_that_a_claim_was_made_for() -> None:
    """The claim controller writes it into an annotation."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "u1", "controller": True}
    meta = {"annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}, "ownerReferences": [owner]}
    (one,) = world_of(claim("web-1-gpu-x", meta=meta)).resource_claims
    assert (one.made_for, one.owner_uid) == ("gpu", "u1")


def test_a_template_of_claims() -> None:
    """What its claims will ask for is written one level deeper. Their labels do not matter. A count of 1 may be left out."""
    asked = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "true"}}]}
    devices = {
        "requests": [{"name": "r", "exactly": asked}, {"name": "s", "firstAvailable": [{"name": "b", **asked}]}],
        "constraints": [{"matchAttribute": "example.com/root", "requests": ["r"]}],
    }
    spec = {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": devices}}
    world = world_of(obj("ResourceClaimTemplate", V1, "one", "shop", spec=spec), obj("Namespace", "v1", "shop"))
    one = Alternative(name="r", device_class="gpu", selectors=("true",), mode="ExactCount", count=1)
    other = Alternative(name="b", device_class="gpu", selectors=("true",), mode="ExactCount", count=1)
    assert world.claim_templates == (
        ClaimTemplate(
            namespace="shop",
            name="one",
            requests=(
                DeviceRequest(name="r", alternatives=(one,)),
                DeviceRequest(name="s", first_available=True, alternatives=(other,)),
            ),
            constraints=(Constraint(attribute="example.com/root", requests=("r",)),),
        ),
    )
    assert "ResourceClaimTemplate" in world.captured


def test_pods_that_objects_describe_name_their_template() -> None:
    """A DaemonSet, and the PodTemplate that a ProvisioningRequest names."""
    spec = {"containers": [], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    labels = {"app": "agent"}
    daemon = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    pod_sets = [{"podTemplateRef": {"name": "p"}, "count": 2}]
    sets = {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", "podSets": pod_sets}
    world = world_of(
        obj("DaemonSet", "apps/v1", "agent", "shop", spec=daemon),
        obj("PodTemplate", "v1", "p", "shop", template={"spec": spec}),
        obj("ProvisioningRequest", "autoscaling.x-k8s.io/v1", "train", "shop", spec=sets),
    )
    numbers = [world.daemon_pods[0].shape, world.provisioning_requests[0].sets[0].shape]
    use = ClaimUse(name="gpu", generated=True, template="one")
    assert [world.pod_shapes[number].claims for number in numbers] == [(use,)] * 2


def test_other_versions_are_not_read() -> None:
    """Before v1beta2, requests and devices had another form. A kind of which anything was skipped is not captured."""
    world = world_of(device_slice("old", "resource.k8s.io/v1beta1", allNodes=True), device_slice("new", allNodes=True))
    assert "ResourceSlice" not in world.captured
    assert dict(world.skipped) == {"ResourceSlice": 1}
    old = obj("ResourceClaimTemplate", "resource.k8s.io/v1beta1", "one", "shop", spec={})
    assert "ResourceClaimTemplate" not in world_of(old).captured


def test_an_unreadable_amount_has_its_place() -> None:
    """The API server would refuse such a quantity, so the file is damaged."""
    damaged = device_slice("s9", allNodes=True, devices=[{"name": "d", "capacity": {"memory": {"value": "much"}}}])
    with pytest.raises(SnapshotError, match=r"ResourceSlice s9.*invalid quantity"):
        world_of(damaged)
