"""Claims of devices on nodes, with answers that were worked out by hand from the rules of the DynamicResources plugin.

`tests/differential` compares the same rules with the plugin itself on random clusters.
"""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from tests.cluster.objects import Object, container, node, obj, pod

V1 = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
EVERYTHING = ("Node", "Pod", "DeviceClass", "ResourceClaim", "ResourceSlice")


def gpu(number: int = 0, model: str = "a100", root: str = "r0", **rest: Any) -> Object:
    attributes = {"model": {"string": model}, "example.com/root": {"string": root}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}, **rest}


def devices(name: str, *found: Object, pool: Object | None = None, **spec: Any) -> Object:
    where = spec or {"nodeName": name}
    body = {"driver": DRIVER, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1, **(pool or {})}, **where}
    return obj("ResourceSlice", V1, f"{name}-{len(found)}", spec={**body, "devices": list(found)})


def request(name: str = "r", count: int = 1, *selectors: str, **rest: Any) -> Object:
    asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **rest}
    return {"name": name, "exactly": {**asked, "selectors": [{"cel": {"expression": one}} for one in selectors]}}


def every(name: str = "r", **rest: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "All", **rest}}


def claim(name: str, *requests: Object, status: Object | None = None, meta: Object | None = None, **rest: Any) -> Object:
    spec = {"devices": {"requests": list(requests), **rest}}
    return obj("ResourceClaim", V1, name, "shop", spec=spec, status=status or {}, meta=meta or {})


def allocated(name: str, *found: Object, on: str = "", **status: Any) -> Object:
    results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0", **one} for one in found]
    allocation: Object = {"devices": {"results": results}}
    if on:
        field = {"key": "metadata.name", "operator": "In", "values": [on]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return claim(name, request(), status={"allocation": allocation, **status})


def web(*names: str, **rest: Any) -> Object:
    return pod(resourceClaims=[{"name": name, "resourceClaimName": name} for name in names], meta={"uid": "u1"}, **rest)


GPUS = obj("DeviceClass", V1, "gpu", spec={"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]})


def said(*objects: Object, version: str = "v1.36.3") -> dict[str, str]:
    """Why each node does not take the only pod, or an empty text."""
    answers = list(fit(world(*objects, version=version)))
    assert len(answers) == 1
    return {one.node: "; ".join(f"{no.plugin}: {no.message}" for no in one.rejections) for one in answers[0].nodes}


def world(*objects: Object, version: str = "v1.36.3") -> World:
    return captured([GPUS, *objects], EVERYTHING, version)


def captured(items: list[Object], kinds: tuple[str, ...], version: str) -> World:
    manifest = f'formatVersion: "1.0"\nkubernetesVersion: {version}\nkinds: [{", ".join(kinds)}]\n'
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    return read_snapshot({"cluster.json": json.dumps(listed).encode(), "snapshot.yaml": manifest.encode()})


def on_n1(*objects: Object) -> str:
    """Why node n1 does not take the only pod."""
    return said(node("n1"), *objects)["n1"]


NO = "DynamicResources: "


def test_devices_of_the_node() -> None:
    """Two are there, three are not; a node without a slice has none."""
    two = devices("n1", gpu(0), gpu(1))
    assert said(node("n1"), node("n2"), two, web("c"), claim("c", request(count=2))) == {
        "n1": "",
        "n2": f"{NO}claim c: request r needs 2 of 0 devices here, 0 can be had",
    }
    assert on_n1(two, web("c"), claim("c", request(count=3))) == f"{NO}claim c: request r needs 3 of 2 devices here, 2 can be had"


def test_selectors_name_what_they_refuse() -> None:
    """The class selects by driver, the request by model: the reason counts devices by what refuses them."""
    other = obj("DeviceClass", V1, "nic", spec={"selectors": [{"cel": {"expression": 'device.driver == "nic.example.com"'}}]})
    slices = devices("n1", gpu(0, "a100"), gpu(1, "h100"))
    h100 = f'device.attributes["{DRIVER}"].model == "h100"'
    assert on_n1(slices, web("c"), claim("c", request("r", 1, h100))) == ""
    assert on_n1(slices, web("c"), claim("c", request("r", 2, h100))) == (
        f"{NO}claim c: request r needs 2 of 2 devices here, 1 can be had (1 not selected by selector 1 of request r)"
    )
    assert on_n1(slices, other, web("c"), claim("c", request(deviceClassName="nic"))) == (
        f"{NO}claim c: request r needs 1 of 2 devices here, 0 can be had (2 not selected by selector 1 of DeviceClass nic)"
    )


def test_what_others_have() -> None:
    """A device that a claim has is taken, unless for administrators."""
    taken = allocated("theirs", {}, on="n1")
    assert on_n1(devices("n1", gpu(0)), taken, web("c"), claim("c", request())) == (
        f"{NO}claim c: request r needs 1 of 1 devices here, 0 can be had (1 allocated)"
    )
    assert on_n1(devices("n1", gpu(0)), taken, web("c"), claim("c", request(adminAccess=True))) == ""
    assert on_n1(devices("n1", gpu(0)), allocated("theirs", {"adminAccess": True}), web("c"), claim("c", request())) == ""


def test_one_device_is_not_handed_out_twice() -> None:
    """Two claims of one pod want a device each. One device is there, or two."""
    pods = web("c", "d"), claim("c", request()), claim("d", request())
    assert on_n1(devices("n1", gpu(0)), *pods) == f"{NO}its claims (c, d) cannot be met together"
    assert on_n1(devices("n1", gpu(0), gpu(1)), *pods) == ""


def test_a_search_goes_back() -> None:
    """The first request takes any device. Only gpu-0 will do for the second, so the first must take gpu-1 in the end."""
    asked = claim("c", request("any"), request("h100", 1, f'device.attributes["{DRIVER}"].model == "h100"'))
    assert on_n1(devices("n1", gpu(0, "h100"), gpu(1)), web("c"), asked) == ""


def test_a_claim_that_has_devices_pins_the_pod() -> None:
    """Its devices are of n1; without a selector, every node can use them."""
    assert said(node("n1"), node("n2"), web("c"), allocated("c", {}, on="n1")) == {
        "n1": "",
        "n2": f"{NO}claim c has devices that other nodes reach",
    }
    assert said(node("n1"), node("n2"), web("c"), allocated("c", {})) == {"n1": "", "n2": ""}


def test_alternatives() -> None:
    """The first of them that can be had: two a100, else one h100."""
    either = {
        "name": "r",
        "firstAvailable": [
            {"name": "two", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
            {
                "name": "one",
                "deviceClassName": "gpu",
                "allocationMode": "ExactCount",
                "count": 1,
                "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "h100"'}}],
            },
        ],
    }
    assert on_n1(devices("n1", gpu(0), gpu(1)), web("c"), claim("c", either)) == ""
    assert on_n1(devices("n1", gpu(0, "h100")), web("c"), claim("c", either)) == ""
    assert on_n1(devices("n1", gpu(0)), web("c"), claim("c", either)) == (
        f"{NO}claim c: request r/two needs 2 of 1 devices here, 1 can be had or "
        "request r/one needs 1 of 1 devices here, 0 can be had (1 not selected by selector 1 of request one)"
    )


def test_all_devices() -> None:
    """All that the selectors select, at least one, and none of them taken."""
    slices = devices("n1", gpu(0), gpu(1, "h100"))
    h100 = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "h100"'}}]
    assert on_n1(slices, web("c"), claim("c", every())) == ""
    assert on_n1(slices, allocated("theirs", {}), web("c"), claim("c", every())).startswith(
        f"{NO}claim c: request r needs 2 of 2"
    )
    assert on_n1(slices, allocated("theirs", {}), web("c"), claim("c", every(selectors=h100))) == ""
    assert said(node("n1"), node("n2"), slices, web("c"), claim("c", every()))["n2"].startswith(NO)


def test_more_than_a_claim_can_have() -> None:
    """32 devices are the limit; the attempt ends with the error, on all nodes."""
    many = devices("n1", *(gpu(number) for number in range(40)))
    assert said(node("n1"), many, web("c"), claim("c", request(count=32)))["n1"] == ""
    found = said(node("n1"), node("n2"), many, web("c"), claim("c", request(count=33)))
    assert found["n1"] == f"{NO}claim c asks for 33 devices, more than the limit of 32"


def test_constraints() -> None:
    """Two devices of one root, or of different ones."""
    same, other = devices("n1", gpu(0), gpu(1)), devices("n1", gpu(0), gpu(1, root="r1"))
    match = claim("c", request(count=2), constraints=[{"matchAttribute": "example.com/root"}])
    differ = claim("c", request(), request("s"), constraints=[{"distinctAttribute": "example.com/root"}])
    one = claim("c", request(), request("s"), constraints=[{"matchAttribute": "example.com/root", "requests": ["s"]}])
    unknown = claim("c", request(), constraints=[{"matchAttribute": "example.com/numa"}])
    together = f"{NO}its claims (c) cannot be met together"
    assert on_n1(same, web("c"), match) == ""
    assert on_n1(other, web("c"), match) == together
    assert on_n1(same, web("c"), differ) == together
    assert on_n1(other, web("c"), differ) == ""
    assert on_n1(other, web("c"), one) == ""
    assert on_n1(same, web("c"), unknown) == together


def test_taints() -> None:
    """NoSchedule and NoExecute keep requests away that do not tolerate them; other effects only inform."""
    tainted = devices("n1", gpu(taints=[{"key": "broken", "value": "x", "effect": "NoExecute"}]))
    informed = devices("n1", gpu(taints=[{"key": "broken", "value": "x", "effect": "None"}]))
    refused = f"{NO}claim c: request r needs 1 of 1 devices here, 0 can be had (1 tainted)"
    assert on_n1(informed, web("c"), claim("c", request())) == ""
    assert on_n1(tainted, web("c"), claim("c", request())) == refused
    for toleration, text in (
        ({"operator": "Exists"}, ""),
        ({"key": "broken", "operator": "Equal", "value": "x"}, ""),
        ({"key": "broken", "operator": "Equal", "value": "y"}, refused),
        ({"key": "broken", "operator": "Exists", "effect": "NoSchedule"}, refused),
    ):
        assert on_n1(tainted, web("c"), claim("c", request(tolerations=[toleration]))) == text


def test_counters() -> None:
    """A board of 8 that parts of 5 and 3 share; a part of 5 is taken, so one of 3 is left, and no second one of 5."""
    use = [{"counterSet": "board", "counters": {"units": {"value": amount}}} for amount in ("5", "3", "5")]
    parts = [gpu(number, consumesCounters=[one]) for number, one in enumerate(use)]
    board = obj(
        "ResourceSlice",
        V1,
        "board",
        spec={
            "driver": DRIVER,
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 2},
            "nodeName": "n1",
            "sharedCounters": [{"name": "board", "counters": {"units": {"value": "8"}}}],
        },
    )
    slices = board, devices("n1", *parts, pool={"resourceSliceCount": 2})
    assert on_n1(*slices, web("c"), claim("c", request(count=2))) == ""
    assert on_n1(*slices, web("c"), claim("c", request(count=3))) == f"{NO}its claims (c) cannot be met together"
    assert on_n1(*slices, allocated("theirs", {}), web("c"), claim("c", request())) == ""
    assert on_n1(*slices, allocated("theirs", {}), web("c"), claim("c", request(count=2))) == (
        f"{NO}claim c: request r needs 2 of 3 devices here, 1 can be had (1 allocated, 1 without enough counters)"
    )


@pytest.mark.parametrize(
    ("policy", "asked", "taken", "fits"),
    [
        # Without a policy the request gets what it asks for; without an amount, the whole.
        (None, "10Gi", "30Gi", True),
        (None, "10Gi", "31Gi", False),
        (None, None, None, True),
        (None, None, "1Gi", False),
        ({"default": "4Gi"}, None, "36Gi", True),
        ({"default": "4Gi"}, None, "37Gi", False),
        # 5Gi is rounded to 1 + 3 + 3 = 7Gi; with 33Gi of 40 taken, 7 are left.
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "40Gi", "step": "3Gi"}}, "5Gi", "33Gi", True),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "40Gi", "step": "3Gi"}}, "5Gi", "34Gi", False),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi"}}, "5Gi", None, False),
        ({"default": "2Gi", "validRange": {"min": "2Gi", "max": "4Gi"}}, "1Gi", "38Gi", True),
        ({"default": "2Gi", "validValues": ["2Gi", "8Gi"]}, "3Gi", "32Gi", True),
        ({"default": "2Gi", "validValues": ["2Gi", "8Gi"]}, "3Gi", "33Gi", False),
        ({"default": "2Gi", "validValues": ["2Gi", "8Gi"]}, "9Gi", None, False),
    ],
)
def test_parts_of_a_capacity(policy: Object | None, asked: str | None, taken: str | None, fits: bool) -> None:
    """A device of 40Gi that several claims may have parts of."""
    memory = {"value": "40Gi", **({"requestPolicy": policy} if policy else {})}
    slices = devices("n1", gpu(allowMultipleAllocations=True, capacity={"memory": memory}))
    others = [allocated("theirs", {"shareID": "1", "consumedCapacity": {"memory": taken}})] if taken else []
    wanted = request(**({"capacity": {"requests": {"memory": asked}}} if asked else {}))
    refused = f"{NO}claim c: request r needs 1 of 1 devices here, 0 can be had (1 without enough capacity)"
    assert on_n1(slices, *others, web("c"), claim("c", wanted)) == ("" if fits else refused)


def test_parts_for_one_pod() -> None:
    """Two claims of one pod have parts of one device; the second part must fit beside the first."""
    slices = devices("n1", gpu(allowMultipleAllocations=True))
    for amount, text in (("20Gi", ""), ("21Gi", f"{NO}its claims (c, d) cannot be met together")):
        half = {"capacity": {"requests": {"memory": amount}}}
        assert on_n1(slices, web("c", "d"), claim("c", request(**half)), claim("d", request(**half))) == text
    nothing = {"capacity": {"requests": {"bandwidth": "1"}}}
    assert on_n1(slices, web("c"), claim("c", request(**nothing))).endswith("(1 without enough capacity)")


def test_incomplete_pools() -> None:
    """Nobody takes devices of a pool with slices missing; all devices cannot be asked for at all."""
    half = devices("n1", gpu(0), pool={"resourceSliceCount": 2})
    assert on_n1(half, web("c"), claim("c", request())) == (
        f"{NO}claim c: request r needs 1 of 0 devices here, 0 can be had (pool {DRIVER}/n1 is incomplete)"
    )
    assert on_n1(half, web("c"), claim("c", every())) == (
        f"{NO}request r asks for all devices, and pool {DRIVER}/n1 is being updated"
    )


def test_old_generations() -> None:
    """The newest generation counts, even where it has fewer devices. A node that it leaves out has none.

    The allocator has one habit: where one node has all slices of an old generation, it does not look for a newer one elsewhere.
    """
    old = devices("n1", gpu(0), gpu(1))
    new = devices("n1", gpu(0), pool={"generation": 2})
    assert on_n1(old, new, web("c"), claim("c", request())) == ""
    assert on_n1(old, new, web("c"), claim("c", request(count=2))).startswith(f"{NO}claim c: request r needs 2 of 1 devices")
    moved = devices("x", gpu(0), gpu(1), gpu(2), pool={"name": "n1", "generation": 2}, nodeName="n2")
    part = devices("n1", gpu(0), pool={"resourceSliceCount": 2})
    for left, text in ((part, f"{NO}claim c: request r needs 1 of 0 devices here, 0 can be had"), (old, "")):
        assert said(node("n1"), node("n2"), left, moved, web("c"), claim("c", request()))["n1"] == text


def test_invalid_pools() -> None:
    """Two devices of one name, or counters that are not there: nobody takes devices of that pool."""
    twice = devices("n1", gpu(0), gpu(0))
    assert "two devices are named gpu-0" in on_n1(twice, web("c"), claim("c", request()))
    lost = devices("n1", gpu(0, consumesCounters=[{"counterSet": "board", "counters": {}}]))
    assert "consumes counters of board, which is not there" in on_n1(lost, web("c"), claim("c", request()))


def test_devices_that_several_nodes_reach() -> None:
    """By a selector, all nodes, or nodes of each device; one claim takes a device for all of them."""
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
    nodes = node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"})
    asked = web("c"), claim("c", request())
    for where, names in (
        ({"nodeSelector": zone}, ["n1"]),
        ({"allNodes": True}, ["n1", "n2"]),
        ({"perDeviceNodeSelection": True}, ["n2"]),
    ):
        device = gpu(**({"nodeName": "n2"} if "perDeviceNodeSelection" in where else {}))
        slices = devices("shared", device, **where)
        assert [name for name, text in said(*nodes, slices, *asked).items() if not text] == names
        taken = allocated("theirs", {"pool": "shared"})
        assert all(text for text in said(*nodes, slices, taken, *asked).values())


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([web("c")], "claim c does not exist"),
        (
            [web("c"), claim("c", request(), meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            "claim c is being deleted",
        ),
        (
            [web("c"), claim("c", request(deviceClassName="none"))],
            "request r of claim c: device class none does not exist",
        ),
        ([web("c"), claim("c", {"name": "r"})], "request r of claim c is of an unknown kind"),
        ([pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])], "the claim for gpu is not made yet"),
    ],
)
def test_no_node_will_do(objects: list[Object], text: str) -> None:
    """What is wrong with a claim is wrong on every node."""
    assert said(node("n1"), node("n2"), devices("n1", gpu(0)), *objects) == {"n1": NO + text, "n2": NO + text}


def test_claims_made_for_the_pod() -> None:
    """A claim from a template is for the pod that owns it. Where its controller found none needed, none is looked for."""
    claims = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    status = {"phase": "Pending", "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "web-1-gpu"}]}
    mine = pod("web-1", resourceClaims=claims, status=status, meta={"uid": "u1"})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "controller": True}
    made = [claim("web-1-gpu", request(), meta={"ownerReferences": [{**owner, "uid": uid}]}) for uid in ("u1", "u2")]
    assert on_n1(devices("n1", gpu(0)), mine, made[0]) == ""
    assert on_n1(devices("n1", gpu(0)), mine, made[1]) == f"{NO}claim web-1-gpu was made for another pod"
    needless = {"phase": "Pending", "resourceClaimStatuses": [{"name": "gpu"}]}
    assert on_n1(pod("web-1", resourceClaims=claims, status=needless)) == ""


def test_an_error_is_one_of_the_pod() -> None:
    """The selector fails on n1. kube-scheduler then gives up the attempt, though n2 has what the pod wants.

    Not if n1 does not take the pod anyway: no filter after the first no is asked.
    """
    size = f'device.attributes["{DRIVER}"].size == 1'
    lacking, having = devices("n1", gpu(0)), devices("n2", {**gpu(0), "attributes": {"size": {"int": 1}}})
    asked = web("c"), claim("c", request("r", 1, size))
    failed = "selector 1 of request r: no such key: size"
    assert said(node("n1"), node("n2"), lacking, having, *asked) == {
        "n1": f"{NO}{failed}",
        "n2": f"{NO}on n1, {failed}: kube-scheduler gives up the whole attempt",
    }
    assert said(node("n1", spec={"unschedulable": True}), node("n2"), lacking, having, *asked)["n2"] == ""


def test_no_error_where_promised_pods_are_in_the_way() -> None:
    """The selector would fail on n1. A pod of 4 cpus is promised to n1, so that NodeResourcesFit says no before."""
    lacking, having = devices("n1", gpu(0)), devices("n2", {**gpu(0), "attributes": {"size": {"int": 1}}})
    asked = web("c"), claim("c", request("r", 1, f'device.attributes["{DRIVER}"].size == 1'))
    big = pod("big", status={"phase": "Pending", "nominatedNodeName": "n1"}, containers=[container("4")])
    found = world(node("n1"), node("n2"), lacking, having, *asked, big)
    answers = {one.pod: {node.node: [no.plugin for no in node.rejections] for node in one.nodes} for one in fit(found)}
    assert answers["shop/web-1"] == {"n1": ["DynamicResources", "NodeResourcesFit"], "n2": []}


def test_what_is_not_modelled() -> None:
    """A selector or a device that is not understood: the pod fits nowhere that could hang on it."""
    odd = claim("c", request("r", 1, "device.attributes.exists(d, true)"))
    found = said(node("n1"), node("n2"), devices("n1", gpu(0)), web("c"), odd)
    assert found["n1"] == "NotModelled: resource claims: selector 1 of request r: 'd' at character 26"
    listed = devices("n1", {"name": "gpu-0", "attributes": {"models": {"strings": ["a"]}}})
    having = devices("n2", gpu(0))
    found = said(node("n1"), node("n2"), listed, having, web("c"), claim("c", request()))
    assert found == {
        "n1": "NotModelled: resource claims: the value of attribute models of device gpu-0",
        "n2": "NotModelled: on n1, resource claims: the value of attribute models of device gpu-0: "
        "kube-scheduler may give up the whole attempt",
    }


@pytest.mark.parametrize("missing", ["DeviceClass", "ResourceClaim", "ResourceSlice"])
def test_kinds_that_were_not_captured(missing: str) -> None:
    """Without one of the three kinds nobody knows."""
    objects = [node("n1"), web("c"), GPUS, claim("c", request()), devices("n1", gpu(0))]
    given = [item for item in objects if item["kind"] != missing]
    kinds = tuple(kind for kind in EVERYTHING if kind != missing)
    ((answer,),) = [pod.nodes for pod in fit(captured(given, kinds, "v1.36.3"))]
    assert [said.message for said in answer.rejections] == [f"resource claims ({missing} not captured)"]


def test_older_releases() -> None:
    """Before 1.36 other features are on."""
    objects = node("n1"), devices("n1", gpu(0)), web("c"), claim("c", request())
    assert said(*objects, version="v1.35.4") == {"n1": "NotModelled: resource claims (Kubernetes before 1.36)"}


def test_binding_conditions_and_full_claims() -> None:
    """Both hang on more than devices: conditions that a driver reports, and 256 users, of which the API server takes no more."""
    waits = allocated("c", {"bindingConditions": ["Attached"]}, on="n1")
    assert on_n1(web("c"), waits) == "NotModelled: binding conditions of claim c"
    result = waits["status"]["allocation"]["devices"]["results"][0]
    result["bindingFailureConditions"] = ["Failed"]
    attached, failed = {"type": "Attached", "status": "True"}, {"type": "Failed", "status": "True"}
    said = waits["status"]["devices"] = [{key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [failed]}]
    assert on_n1(web("c"), waits) == f"{NO}a driver cannot make the devices of claim c ready"
    said[0]["conditions"] = [attached]
    assert on_n1(web("c"), waits) == ""
    users = [{"resource": "pods", "name": f"p{number}", "uid": f"v{number}"} for number in range(256)]
    assert on_n1(web("c"), allocated("c", {}, reservedFor=users)) == "NotModelled: claim c, which 256 users have reserved"
    mine = [*users[1:], {"resource": "pods", "name": "web-1", "uid": "u1"}]
    assert on_n1(web("c"), allocated("c", {}, reservedFor=mine)) == ""


def test_extended_resources_of_a_class() -> None:
    """A node that lists the resource serves it itself; else a class does, by the resource's name or its own."""
    served = obj("DeviceClass", V1, "card", spec={"extendedResourceName": "example.com/card"})
    listing = node("n2", status={"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110", "example.com/card": "1"}})
    for name, answers in (
        ("example.com/card", {"n1": "", "n2": ""}),
        ("deviceclass.resource.kubernetes.io/card", {"n1": "", "n2": f"{NO}claim extended resources: request "}),
    ):
        amounts = {"cpu": "1", name: "1"}
        asking = pod(containers=[{"name": "main", "resources": {"requests": amounts, "limits": amounts}}])
        found = said(node("n1"), listing, served, devices("n1", gpu(0)), asking)
        assert {key: text[: len(answers[key])] if answers[key] else text for key, text in found.items()} == answers


def test_verdicts_of_fit_hand_out_no_devices() -> None:
    """The state that `fit` asks places no pod with a claim."""
    state = SchedulingState(world(node("n1"), devices("n1", gpu(0)), web("c"), claim("c", request())), devices=True)
    assert state.modelled(0) == "DynamicResources"
    assert state.place(0, 1) == ()
    assert not state.fits(0, 0)
