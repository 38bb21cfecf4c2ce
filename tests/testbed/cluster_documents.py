"""Cluster API's objects as users write them: plain clusters, classes with topologies, groups of machines, templates."""

from collections.abc import Mapping, Sequence

import msgspec

from tests.testbed.api import Object
from tests.testbed.build import KUBERNETES_VERSION
from tests.testbed.stand_in.kinds import (
    BOOTSTRAP_TEMPLATE,
    CLUSTER,
    CLUSTER_TEMPLATE,
    CONTROL_PLANE,
    CONTROL_PLANE_TEMPLATE,
    MACHINE_TEMPLATE,
    VERSION,
    SimKind,
)

CORE = "cluster.x-k8s.io/v1beta2"
MIN_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
BOOTSTRAP = "sim-bootstrap"
CLASS = "sim"
WORKER_CLASS = "default"


class Shape(msgspec.Struct, frozen=True):
    """What one machine of a template offers. `annotations` go on the template: the stand-in's behaviour."""

    capacity: Mapping[str, str] = msgspec.field(default_factory=lambda: {"cpu": "4", "memory": "16Gi", "pods": "110"})
    allocatable: Mapping[str, str] = {}
    zone: str = ""
    labels: Mapping[str, str] = {}
    taints: Sequence[Mapping[str, str]] = ()
    architecture: str = "amd64"
    annotations: Mapping[str, str] = {}
    publish_capacity: bool = True


ANY_SHAPE = Shape()


class Group(msgspec.Struct, frozen=True):
    """A group of machines: replicas (None: the field is left out), the two size annotations, further annotations."""

    name: str
    replicas: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    annotations: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}

    def all_annotations(self) -> dict[str, str]:
        """The annotations with those of the size."""
        sizes = ((MIN_SIZE, self.min_size), (MAX_SIZE, self.max_size))
        return {key: str(size) for key, size in sizes if size is not None} | dict(self.annotations)


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def machine_template(namespace: str, name: str, shape: Shape) -> Object:
    """A SimMachineTemplate."""
    spec: Object = {
        "capacity": dict(shape.capacity),
        "allocatable": dict(shape.allocatable),
        "labels": dict(shape.labels),
        "taints": [dict(taint) for taint in shape.taints],
        "architecture": shape.architecture,
        "publishCapacity": shape.publish_capacity,
    }
    if shape.zone:
        spec["zone"] = shape.zone
    item = _template(MACHINE_TEMPLATE, namespace, name, spec)
    item["metadata"]["annotations"] = dict(shape.annotations)
    return item


def bootstrap_template(namespace: str) -> Object:
    """The one SimBootstrapConfigTemplate of a namespace."""
    return _template(BOOTSTRAP_TEMPLATE, namespace, BOOTSTRAP, {})


def plain_cluster(namespace: str, name: str) -> list[Object]:
    """A Cluster without topology, with its infrastructure and control plane."""
    control_plane = _sim(CONTROL_PLANE, namespace, name) | {"spec": {"version": KUBERNETES_VERSION}}
    spec = {
        "infrastructureRef": {"apiGroup": CLUSTER.group, "kind": CLUSTER.kind, "name": name},
        "controlPlaneRef": {"apiGroup": CONTROL_PLANE.group, "kind": CONTROL_PLANE.kind, "name": name},
    }
    return [_sim(CLUSTER, namespace, name) | {"spec": {}}, control_plane, _core("Cluster", namespace, name, spec)]


def machine_deployment(namespace: str, cluster: str, group: Group, template: str) -> Object:
    """A MachineDeployment of a cluster on a SimMachineTemplate."""
    return _machines("MachineDeployment", namespace, cluster, group, template)


def machine_set(namespace: str, cluster: str, group: Group, template: str) -> Object:
    """A MachineSet that no MachineDeployment owns."""
    return _machines("MachineSet", namespace, cluster, group, template)


def cluster_class(namespace: str, worker_template: str) -> list[Object]:
    """A ClusterClass with one class of workers, and the templates that it names (the machine template aside)."""
    control_plane, infrastructure = "sim-control-plane", "sim-cluster"
    spec = {
        "controlPlane": {"templateRef": _template_ref(CONTROL_PLANE_TEMPLATE, control_plane)},
        "infrastructure": {"templateRef": _template_ref(CLUSTER_TEMPLATE, infrastructure)},
        "workers": {
            "machineDeployments": [
                {
                    "class": WORKER_CLASS,
                    "bootstrap": {"templateRef": _template_ref(BOOTSTRAP_TEMPLATE, BOOTSTRAP)},
                    "infrastructure": {"templateRef": _template_ref(MACHINE_TEMPLATE, worker_template)},
                }
            ]
        },
    }
    return [
        _template(CONTROL_PLANE_TEMPLATE, namespace, control_plane, {}),
        _template(CLUSTER_TEMPLATE, namespace, infrastructure, {}),
        _core("ClusterClass", namespace, CLASS, spec),
    ]


def topology_cluster(namespace: str, name: str, groups: Sequence[Group]) -> Object:
    """A Cluster whose MachineDeployments are made and held by its topology."""
    topology: Object = {"classRef": {"name": CLASS}, "version": KUBERNETES_VERSION}
    if groups:
        topology["workers"] = {"machineDeployments": [topology_group(group) for group in groups]}
    return _core("Cluster", namespace, name, {"topology": topology})


def topology_group(group: Group) -> Object:
    """One entry of spec.topology.workers.machineDeployments."""
    item: Object = {"class": WORKER_CLASS, "name": group.name}
    if group.replicas is not None:
        item["replicas"] = group.replicas
    if group.all_annotations() or group.labels:
        item["metadata"] = {"annotations": group.all_annotations(), "labels": dict(group.labels)}
    return item


def _machines(kind: str, namespace: str, cluster: str, group: Group, template: str) -> Object:
    labels = {"cluster.x-k8s.io/cluster-name": cluster, "group": group.name}
    machine = {
        "clusterName": cluster,
        "version": KUBERNETES_VERSION,
        "bootstrap": {"configRef": {"apiGroup": BOOTSTRAP_TEMPLATE.group, "kind": BOOTSTRAP_TEMPLATE.kind, "name": BOOTSTRAP}},
        "infrastructureRef": {"apiGroup": MACHINE_TEMPLATE.group, "kind": MACHINE_TEMPLATE.kind, "name": template},
    }
    spec: Object = {
        "clusterName": cluster,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": machine},
    }
    if group.replicas is not None:
        spec["replicas"] = group.replicas
    item = _core(kind, namespace, group.name, spec)
    item["metadata"] |= {"annotations": group.all_annotations(), "labels": dict(group.labels)}
    return item


def _core(kind: str, namespace: str, name: str, spec: Object) -> Object:
    return {"apiVersion": CORE, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _sim(kind: SimKind, namespace: str, name: str) -> Object:
    metadata: Object = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{kind.group}/{VERSION}", "kind": kind.kind, "metadata": metadata}


def _template(kind: SimKind, namespace: str, name: str, spec: Object) -> Object:
    return _sim(kind, namespace, name) | {"spec": {"template": {"spec": spec}}}


def _template_ref(kind: SimKind, name: str) -> Object:
    return {"apiVersion": f"{kind.group}/{VERSION}", "kind": kind.kind, "name": name}
