"""Every field of the objects that scheduling depends on is read, harmless, or makes a pod one that is not modelled."""

import msgspec
import pytest
from kubernetes.client import models

from reconciler.cluster.wire import node, pod
from tests.cluster.objects import Object, world_of
from tests.cluster.objects import pod as pod_object

HARMLESS: dict[tuple[type, type[msgspec.Struct]], set[str]] = {
    # What a container runs, how it is watched, and what it sees. Its volumes count for the pod.
    (models.V1Container, pod.Container): {
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "readinessProbe",
        "resizePolicy", "securityContext", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath",
        "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir",
    },
    # They need no certain node, and a drain loses nothing with them.
    (models.V1Volume, pod.Volume): {
        "azureFile", "cephfs", "configMap", "csi", "downwardAPI", "fc", "flexVolume", "flocker", "gitRepo", "glusterfs", "image",
        "nfs", "photonPersistentDisk", "projected", "quobyte", "scaleIO", "secret", "storageos",
    },
    # The claims of extended resources and of node resources count through the ResourceClaims themselves.
    (models.V1PodStatus, pod.PodStatus): {
        "ephemeralContainerStatuses", "extendedResourceClaimStatus", "hostIP", "hostIPs", "message",
        "nodeAllocatableResourceClaimStatuses", "observedGeneration", "podIP", "podIPs", "qosClass", "reason", "resize",
        "startTime", "volumeHealth",
    },
    # Removed from Kubernetes, addresses, and whether a resize may end other pods of the node.
    (models.V1NodeSpec, node.NodeSpec): {"configSource", "externalID", "podCIDR", "podCIDRs", "podPreemptionPolicy"},
    # Images only change the order of equal nodes. VolumeAttachments say what is attached.
    (models.V1NodeStatus, node.NodeStatus): {
        "addresses", "config", "daemonEndpoints", "features", "images", "phase", "runtimeHandlers", "volumesAttached",
        "volumesInUse",
    },
    (models.V1Affinity, pod.Affinity): set(),
    (models.V1TopologySpreadConstraint, pod.SpreadConstraint): set(),
    # It counts only for NoExecute, when the pod runs already.
    (models.V1Toleration, pod.Toleration): {"tolerationSeconds"},
    # Containers name claims of the pod, which count for the pod.
    (models.V1ResourceRequirements, pod.ContainerResources): {"claims"},
}  # fmt: skip


def fields_of(model: type) -> set[str]:
    """Of the Kubernetes client, which is generated from the newest API."""
    return set(vars(model)["attribute_map"].values())


@pytest.mark.parametrize(("model", "struct"), HARMLESS, ids=lambda one: one.__name__)
def test_every_field_is_read_or_harmless(model: type, struct: type[msgspec.Struct]) -> None:
    assert fields_of(model) - set(struct.__struct_encode_fields__) == HARMLESS[model, struct]


def test_fields_of_a_pod() -> None:
    """A new version of the client shows its new fields here; until they are classified, pods with them are not modelled."""
    assert fields_of(models.V1PodSpec) ^ set(pod.WholePodSpec.__struct_encode_fields__) == {"/"}


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"serviceAccountName": "x", "hostname": "y", "os": {"name": "linux"}}, ()),
        ({"schedulingGroup": {"podGroupName": "g"}}, ()),
        ({"zebra": 1, "antelope": "x"}, ("antelope", "zebra")),
        ({"zebra": None, "antelope": {}, "okapi": []}, ()),
    ],
)
def test_unknown_fields(spec: Object, named: tuple[str, ...]) -> None:
    """They are named, and all else of the pod is read."""
    world = world_of(pod_object("a", nodeSelector={"x": "y"}, **spec))
    (shape,) = world.pod_shapes
    assert (shape.not_modelled, shape.node_selector) == (named, (("x", "y"),))
    assert shape.unmodelled == bool(named)


def test_pods_that_differ_in_an_unknown_field() -> None:
    """They are two shapes, whichever comes first."""
    known, odd = pod_object("a"), pod_object("b", zebra=1)
    assert [one.not_modelled for one in world_of(known, odd).pod_shapes] == [(), ("zebra",)]
