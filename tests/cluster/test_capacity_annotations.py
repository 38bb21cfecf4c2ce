"""The annotations of the Cluster API provider of the Cluster Autoscaler, and those of OpenShift.

The keys are those of `clusterapi_utils.go` and README.md of kubernetes/autoscaler, and of OpenShift's fork, in November 2026.
"""

import pytest

from reconciler.cluster.devices.resource_slice import Attribute, AttributeKind, Device, ResourceSlice
from reconciler.cluster.targets.capacity import annotated
from tests.cluster.objects import scalable, world_of
from tests.openshift.objects import GROUP as OPENSHIFT
from tests.openshift.objects import machine_set, only

_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
_GPU = Attribute("type", AttributeKind.STRING, "gpu")
_SIZED = {f"{_CAPACITY}cpu": "16", f"{_CAPACITY}memory": "64Gi"}
_DOCUMENTED = {
    **_SIZED,
    f"{_CAPACITY}ephemeral-disk": "100Gi",
    f"{_CAPACITY}maxPods": "200",
    f"{_CAPACITY}gpu-count": "2",
    f"{_CAPACITY}labels": "a=b",
    f"{_CAPACITY}taints": "a=b:NoSchedule",
    f"{_CAPACITY}csi-driver": "ebs.csi.aws.com=25",
}
_OPTIONS = {
    "scaledownutilizationthreshold": "0.5",
    "scaledowngpuutilizationthreshold": "0.5",
    "scaledownunneededtime": "10m0s",
    "scaledownunreadytime": "20m0s",
    "maxnodeprovisiontime": "20m0s",
    "maxnodestartuptime": "20m0s",
    "ignoredaemonsetsutilization": "true",
}
_SIZES = {"cluster-api-autoscaler-node-group-min-size": "0", "cluster-api-autoscaler-node-group-max-size": "4"}


def _gpus(**annotations: str) -> dict[str, str]:
    return {_CAPACITY + key.replace("_", "-"): text for key, text in annotations.items()}


def _slices(count: int) -> tuple[ResourceSlice, ...]:
    devices = tuple(Device(name=f"gpu-{number}", attributes=(_GPU,)) for number in range(count))
    return (ResourceSlice(name="gpu.nvidia.com", driver="gpu.nvidia.com", pool="template", slice_count=1, devices=devices),)


@pytest.mark.parametrize("gpus", [_gpus(gpu_type="nvidia.com/gpu"), _gpus(dra_driver="gpu.nvidia.com")])
def test_every_documented_annotation_is_read_without_a_hint(gpus: dict[str, str]) -> None:
    """Both ways of writing GPUs, on an object of Cluster API and on one of OpenShift."""
    for group, prefix in (("cluster.x-k8s.io", "cluster.x-k8s.io"), (OPENSHIFT, OPENSHIFT)):
        annotations = {
            **_DOCUMENTED,
            **gpus,
            **{f"{prefix}/{key}": text for key, text in _SIZES.items()},
            **{f"cluster.x-k8s.io/autoscaling-options-{key}": text for key, text in _OPTIONS.items() if group != OPENSHIFT},
        }
        if group == OPENSHIFT:
            annotations |= {f"{OPENSHIFT}/{key}": "4" for key in ("vCPU", "memoryMb", "GPU", "maxPods")}
            found = only(machine_set("a", annotations=annotations))
        else:
            found = world_of(scalable(annotations=annotations)).targets[0]
        assert found.problems == ()
        assert found.template.capacity is not None


def test_the_option_that_only_a_policy_may_set_is_named() -> None:
    """It may add many nodes at once."""
    (found,) = world_of(scalable(annotations={"cluster.x-k8s.io/autoscaling-options-zeroormaxnodescaling": "true"})).targets
    assert found.problems == (
        "cluster.x-k8s.io/autoscaling-options-zeroormaxnodescaling: is not read: write scaleUp.growth: ZeroOrMax in the policy",
    )


def test_the_devices_of_a_driver() -> None:
    """As upstream: gpu-0 and gpu-1, each with its type. They are no resource of a device plugin."""
    found = annotated({**_SIZED, **_gpus(dra_driver="gpu.nvidia.com", gpu_count="2")})
    assert (found.devices, found.problems) == (_slices(2), ())
    assert sorted(found.amounts) == ["cpu", "memory"]


def test_no_gpus_are_no_devices() -> None:
    """A count of zero says that there are none."""
    assert annotated(_gpus(dra_driver="gpu.nvidia.com", gpu_count="0")).devices == ()


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        (_gpus(gpu_count="2"), "gpu-count is ignored: it needs"),
        (_gpus(dra_driver="gpu.nvidia.com"), "dra-driver is ignored: "),
        (_gpus(dra_driver="gpu.nvidia.com", gpu_count="two"), 'gpu-count: "two" is not a whole number'),
        (_gpus(dra_driver="gpu.nvidia.com", gpu_count="129"), "gpu-count: 129 is more than the 128 devices"),
        (_gpus(dra_driver="gpu.nvidia.com", gpu_count="999999999999999999"), "is more than the 128 devices"),
    ],
)
def test_what_gives_no_devices_is_told(annotations: dict[str, str], told: str) -> None:
    """Each has one sentence, and no number of devices is too large to be read."""
    found = annotated(annotations)
    assert found.devices == ()
    assert [told in problem for problem in found.problems] == [True]


def test_gpus_of_both_kinds_are_told() -> None:
    """Upstream counts them twice. Pods of either kind get their node, and the target says that one is too much."""
    found = annotated(_gpus(dra_driver="gpu.nvidia.com", gpu_type="nvidia.com/gpu", gpu_count="2"))
    assert (found.devices, found.amounts) == (_slices(2), {"nvidia.com/gpu": 2})
    assert ["both count the GPUs" in problem for problem in found.problems] == [True]


def test_the_count_of_openshift_is_of_the_devices_of_a_driver() -> None:
    """OpenShift writes the number under a key of its own, and its type is NVIDIA's unless a driver is named."""
    old = {f"{OPENSHIFT}/vCPU": "4", f"{OPENSHIFT}/memoryMb": "16384", f"{OPENSHIFT}/GPU": "2"}
    for more, devices, resource in (({}, (), 2), (_gpus(dra_driver="gpu.nvidia.com"), _slices(2), 0)):
        found = only(machine_set("a", annotations={**old, **more}))
        assert found.template.capacity is not None
        assert (found.template.devices, found.template.capacity.get("nvidia.com/gpu")) == (devices, resource)
        assert found.problems == ()
