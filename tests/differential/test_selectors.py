"""Selectors of devices as kube-scheduler evaluates them, with the expressions whose values `tests/scheduling` has by hand."""

from collections.abc import Iterator

import pytest

from tests.differential.oracle import Object, Oracle
from tests.scheduling.devices.test_device_selectors import DRIVER, FAILING, SELECTED

AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "10"}
GPU: Object = {
    "name": "gpu-0",
    "attributes": {
        "index": {"int": 3},
        "model": {"string": "a100"},
        "other.example.com/healthy": {"bool": True},
        "version": {"version": "1.10.0-rc.1"},
    },
    "capacity": {"memory": {"value": "40Gi"}},
    "allowMultipleAllocations": True,
}
POOL = {"name": "n", "generation": 1, "resourceSliceCount": 1}
EVERYTHING: list[Object] = [
    {"kind": "Node", "metadata": {"name": "n"}, "spec": {}, "status": {"capacity": AMOUNTS, "allocatable": AMOUNTS}},
    {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
    {
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": DRIVER, "nodeName": "n", "pool": POOL, "devices": [GPU]},
    },
    {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "uid": "u"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
        "status": {},
    },
]


def cluster(expression: str) -> Object:
    """One node with one device, and a pod whose claim selects it by the expression."""
    asked = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    spec = {"devices": {"requests": [{"name": "r", "exactly": asked}]}}
    claim = {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "shop"}, "spec": spec}
    return {"kind": "List", "items": [*EVERYTHING, claim]}


@pytest.fixture(scope="module")
def talking(oracle: Oracle) -> Iterator[Oracle]:
    """The plugins with what each of them says."""
    del oracle  # it skips where no oracle can be had
    with Oracle("-messages") as running:
        yield running


def answer(oracle: Oracle, expression: str) -> tuple[bool, str]:
    """Does the pod fit, and what does the plugin say?"""
    ((node,),) = [pod["nodes"] for pod in oracle.ask(cluster(expression))["pods"]]
    return node["fits"], node.get("messages", {}).get("DynamicResources", "")


def test_what_is_selected(talking: Oracle) -> None:
    """The pod fits where the expression selects the only device, and no expression fails."""
    for expression, selects in SELECTED:
        assert answer(talking, expression) == (selects, "" if selects else "Filter: cannot allocate all claims"), expression


def test_what_fails(talking: Oracle) -> None:
    """The plugin ends with an error of the evaluation."""
    for expression, _ in FAILING:
        assert "CEL" in answer(talking, expression)[1], expression
