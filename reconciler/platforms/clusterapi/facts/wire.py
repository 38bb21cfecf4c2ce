"""Cluster API objects, pruned. v1beta1 and v1beta2 differ in few of the fields that are read; both forms are here."""

import msgspec

from reconciler.cluster.wire.meta import Condition, ObjectMeta, TargetMeta, api_group
from reconciler.cluster.wire.node import NodeTaint
from reconciler.cluster.wire.pod import Amounts


class ObjectReference(msgspec.Struct, rename="camel"):
    """A reference: v1beta1 names an `apiVersion` and a namespace, v1beta2 an `apiGroup`."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_version: str = ""
    api_group: str = ""

    @property
    def group(self) -> str:
        """The API group, from whichever field has it."""
        return self.api_group or api_group(self.api_version)


class TemplateMeta(msgspec.Struct, rename="camel"):
    """`metadata` of a machine template."""

    labels: dict[str, str] | None = None


class MachineTemplateSpec(msgspec.Struct, rename="camel"):
    """`spec` of a machine template."""

    failure_domain: str | None = None
    infrastructure_ref: ObjectReference = msgspec.field(default_factory=ObjectReference)
    taints: list[NodeTaint] | None = None


class MachineTemplate(msgspec.Struct, rename="camel"):
    """`spec.template` of a scalable object."""

    metadata: TemplateMeta | None = None
    spec: MachineTemplateSpec = msgspec.field(default_factory=MachineTemplateSpec)


class RollingUpdate(msgspec.Struct, rename="camel"):
    """`rollingUpdate` of a strategy: numbers of machines, or percentages of the replicas."""

    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class Strategy(msgspec.Struct, rename="camel"):
    """How a MachineDeployment replaces its machines: RollingUpdate (also if it is empty) or OnDelete."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class Rollout(msgspec.Struct, rename="camel"):
    """`spec.rollout`, where v1beta2 has the strategy."""

    strategy: Strategy | None = None


class ScalableSpec(msgspec.Struct, rename="camel"):
    """`spec` of a MachineDeployment, MachineSet or MachinePool."""

    cluster_name: str = ""
    replicas: int | None = None
    paused: bool = False
    template: MachineTemplate = msgspec.field(default_factory=MachineTemplate)
    failure_domains: list[str] | None = None
    provider_ids: list[str] | None = msgspec.field(default=None, name="providerIDList")
    strategy: Strategy | None = None
    rollout: Rollout | None = None


class ScalableStatus(msgspec.Struct, rename="camel"):
    """`status` of the same."""

    replicas: int | None = None
    node_refs: list[ObjectReference] | None = None


class Scalable(msgspec.Struct, rename="camel"):
    """A MachineDeployment, MachineSet or MachinePool."""

    metadata: TargetMeta
    spec: ScalableSpec
    status: ScalableStatus | None = None
    kind: str = ""


class MachineSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Machine."""

    provider_id: str | None = msgspec.field(default=None, name="providerID")
    failure_domain: str | None = None


class OldStatus(msgspec.Struct, rename="camel"):
    """The place where v1beta2 keeps what v1beta1 called a failure."""

    failure_reason: str | None = None
    failure_message: str | None = None
    conditions: list[Condition] | None = None


class Deprecated(msgspec.Struct, rename="camel"):
    """`status.deprecated`."""

    v1beta1: OldStatus | None = None


class MachineStatus(OldStatus, rename="camel"):
    """`status` of a Machine."""

    phase: str = ""
    node_ref: ObjectReference | None = None
    failure_domain: str | None = None
    deprecated: Deprecated | None = None


class Machine(msgspec.Struct, rename="camel"):
    """A Machine."""

    metadata: ObjectMeta
    spec: MachineSpec
    status: MachineStatus | None = None
    kind: str = ""


class TopologyEntry(msgspec.Struct, rename="camel"):
    """One MachineDeployment or MachinePool of a Cluster's topology."""

    name: str
    replicas: int | None = None


class TopologyWorkers(msgspec.Struct, rename="camel"):
    """`spec.topology.workers`."""

    machine_deployments: list[TopologyEntry] | None = None
    machine_pools: list[TopologyEntry] | None = None


class Topology(msgspec.Struct, rename="camel"):
    """`spec.topology`."""

    workers: TopologyWorkers | None = None


class ClusterSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Cluster."""

    paused: bool = False
    topology: Topology | None = None


class Cluster(msgspec.Struct, rename="camel"):
    """A Cluster."""

    metadata: ObjectMeta
    spec: ClusterSpec
    kind: str = ""


class ParentPool(msgspec.Struct, rename="camel"):
    """An entry of `spec.rkeConfig.machinePools` of Rancher's Cluster."""

    name: str = ""
    quantity: int | None = None


class ParentRke(msgspec.Struct, rename="camel"):
    """`spec.rkeConfig` of the same."""

    machine_pools: list[ParentPool] | None = None


class RancherSpec(msgspec.Struct, rename="camel"):
    """`spec` of Rancher's Cluster."""

    rke_config: ParentRke | None = None


class RancherCluster(msgspec.Struct, rename="camel"):
    """Rancher's Cluster: the parts that declare sizes."""

    metadata: ObjectMeta
    spec: RancherSpec = msgspec.field(default_factory=RancherSpec)
    kind: str = ""


class ParentRange(msgspec.Struct, rename="camel"):
    """`spec.autoScaling` of a NodePool."""

    min: int | None = None
    max: int | None = None


class NodePoolSpec(msgspec.Struct, rename="camel"):
    """`spec` of a NodePool."""

    cluster_name: str = ""
    replicas: int | None = None
    auto_scaling: ParentRange | None = None


class NodePool(msgspec.Struct, rename="camel"):
    """HyperShift's NodePool: the parts that declare sizes."""

    metadata: ObjectMeta
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)
    kind: str = ""


class ManagedScaling(msgspec.Struct, rename="camel"):
    """`spec.scaling` of an AWSManagedMachinePool."""

    min_size: int | None = None
    max_size: int | None = None


class ManagedPoolSpec(msgspec.Struct, rename="camel"):
    """`spec` of the same."""

    scaling: ManagedScaling | None = None


class ManagedPool(msgspec.Struct, rename="camel"):
    """An AWSManagedMachinePool: the parts that declare sizes."""

    metadata: ObjectMeta
    spec: ManagedPoolSpec = msgspec.field(default_factory=ManagedPoolSpec)
    kind: str = ""


class NodeInfo(msgspec.Struct, rename="camel"):
    """`status.nodeInfo` of an infrastructure template."""

    architecture: str = ""
    operating_system: str = ""


class InfrastructureStatus(msgspec.Struct, rename="camel"):
    """`status` of an infrastructure template, as the scale-from-zero contract defines it."""

    capacity: Amounts | None = None
    node_info: NodeInfo | None = None


class InfrastructureTemplate(msgspec.Struct, rename="camel"):
    """A machine template of any infrastructure provider."""

    metadata: ObjectMeta
    status: InfrastructureStatus | None = None
    kind: str = ""
