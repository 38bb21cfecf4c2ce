"""Cluster Autoscaler's table cases about what stands on Cluster API objects: bounds, capacities, provider ids.

The tables are data of Cluster Autoscaler 1.31.5 (see data/README.md). Where this project differs on purpose, the case is
named in `DIFFERENT` with the reason.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.capacity import annotated
from reconciler.cluster.targets.machine_rows import normalized_provider_id
from reconciler.cluster.targets.size_annotations import scaling_bounds
from reconciler.cluster.values.quantity import milli, whole
from reconciler.cluster.values.resources import CPU, MEMORY, PODS
from reconciler.platforms.clusterapi.facts.view import CAPI_GROUP

DATA = Path(__file__).parent / "data"
GPU = "example.com/gpu"
GPU_TYPE = {"capacity.cluster-autoscaler.kubernetes.io/gpu-type": GPU}
# Upstream takes one annotation without the other for "not autoscaled" and says nothing. Here the user is told: the pair
# is incomplete, and it is not used either.
DIFFERENT = ("missing max annotation defaults to 0 and no error", "missing min annotation defaults to 0 and no error")


def table(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / f"{name}.json").read_text()))


BOUNDS = table("TestUtilParseScalingBounds")
PROVIDER_IDS = table("TestUtilNormalizedProviderID")
FROM_ZERO = table("TestCanScaleFromZero")
CPUS, MEMORIES = table("TestParseCPUCapacity"), table("TestParseMemoryCapacity")
GPUS, MAX_PODS = table("TestParseGPUCapacity"), table("TestParseMaxPodsCapacity")


@pytest.mark.parametrize("name", [name for name in BOUNDS if name not in DIFFERENT])
def test_scaling_bounds(name: str) -> None:
    """The same bounds; where upstream has an error, no bounds and a sentence that names the same annotation."""
    case = BOUNDS[name]
    found = scaling_bounds(case["annotations"], CAPI_GROUP)
    if case["error"] is None:
        assert (found.min_size, found.max_size, found.problems) == (case["min"], case["max"], ())
        return
    which = case["error"]["error"].split()[1]
    assert (found.min_size, found.max_size) == (None, None)
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"{CAPI_GROUP}/cluster-api-autoscaler-node-group-{which}-size: ")


@pytest.mark.parametrize("name", DIFFERENT)
def test_one_bound_without_the_other(name: str) -> None:
    """Differs on purpose: not used, as upstream, and reported."""
    found = scaling_bounds(BOUNDS[name]["annotations"], CAPI_GROUP)
    assert (found.min_size, found.max_size) == (None, None)
    assert "it applies only with both" in found.problems[0]


@pytest.mark.parametrize("name", PROVIDER_IDS)
def test_normalized_provider_id(name: str) -> None:
    """The same part of a provider id identifies the instance."""
    assert normalized_provider_id(PROVIDER_IDS[name]["providerID"]) == PROVIDER_IDS[name]["expectedID"]


@pytest.mark.parametrize(
    ("cases", "resource", "unit", "more"),
    [(CPUS, CPU, milli, {}), (MEMORIES, MEMORY, whole, {}), (GPUS, GPU, whole, GPU_TYPE), (MAX_PODS, PODS, whole, {})],
    ids=["cpu", "memory", "gpu", "maxPods"],
)
def test_capacities(cases: dict[str, Any], resource: str, unit: Any, more: dict[str, str]) -> None:
    """The same amounts, and a problem where upstream has an error. A GPU count needs a type beside it to count."""
    assert cases
    for name, case in cases.items():
        # A missing count beside a type is a problem of its own here and not this table's matter.
        found = annotated({**case["annotations"], **(more if case["annotations"] else {})})
        assert found.amounts.get(resource, 0) == unit(case["expectedQuantity"]), name
        assert bool(found.problems) is case["expectedError"], name


def scalable(case: dict[str, Any], kind: str) -> TargetFacts:
    reference = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "XMachineTemplate", "name": "t"}
    items = [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta1",
            "kind": kind,
            "metadata": {"name": "pool", "namespace": "ns", "annotations": case["annotations"]},
            "spec": {"replicas": 0, "template": {"spec": {"infrastructureRef": reference}}},
        },
        {
            "apiVersion": reference["apiVersion"],
            "kind": reference["kind"],
            "metadata": {"name": "t", "namespace": "ns"},
            "status": {"capacity": case["capacity"]},
        },
    ]
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    return read_snapshot({"all.json": body}).targets[0]


@pytest.mark.parametrize("name", FROM_ZERO)
def test_scale_from_zero(name: str) -> None:
    """Capacity is known from annotations, the infrastructure template, or both together; cpu and memory are needed."""
    case = FROM_ZERO[name]
    found = scalable(case, name.split(maxsplit=1)[0])
    assert (found.template.capacity is not None) is case["canScale"]
    partly = bool(case["annotations"] or case["capacity"]) and not case["canScale"]
    assert any("the capacity of a new node is unknown" in problem for problem in found.problems) is partly
