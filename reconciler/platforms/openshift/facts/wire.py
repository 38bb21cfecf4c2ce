"""The objects of OpenShift's Machine API v1beta1, pruned.

SOURCE: openshift/api machine/v1beta1, its CRDs of 2026-07. Only the CRDs of the preview feature sets have `authoritativeAPI` and
`synchronizedGeneration`.
"""

from typing import Any

import msgspec

from reconciler.cluster.wire.meta import Condition, ObjectMeta, TargetMeta
from reconciler.cluster.wire.node import NodeTaint


class Labels(msgspec.Struct, rename="camel"):
    """Metadata, of which only labels count."""

    labels: dict[str, str] | None = None


class ProviderValue(msgspec.Struct, rename="camel"):
    """What a providerSpec of any cloud tells about the size of an instance. It has no common schema, so each key may have any
    JSON."""

    instance_type: Any = None  # AWS
    vm_size: Any = None  # Azure
    machine_type: Any = None  # Google
    flavor: Any = None  # OpenStack
    num_cpus: Any = msgspec.field(default=None, name="numCPUs")  # vSphere
    memory_mib: Any = msgspec.field(default=None, name="memoryMiB")  # vSphere
    vcpu_sockets: Any = None  # Nutanix
    vcpus_per_socket: Any = None  # Nutanix
    memory_size: Any = None  # Nutanix
    placement: Any = None  # AWS: {availabilityZone}
    zone: Any = None  # Azure, Google
    spot_market_options: Any = msgspec.UNSET  # AWS: {} is a spot instance
    spot_vm_options: Any = msgspec.field(default=msgspec.UNSET, name="spotVMOptions")  # Azure
    preemptible: Any = None  # Google


class ProviderSpec(msgspec.Struct):
    """`spec.providerSpec`."""

    value: ProviderValue | None = None


class Hook(msgspec.Struct):
    """One lifecycle hook: while it is there, a deleted Machine waits."""

    name: str = ""
    owner: str = ""


class Hooks(msgspec.Struct, rename="camel"):
    """`spec.lifecycleHooks`."""

    pre_drain: list[Hook] | None = None
    pre_terminate: list[Hook] | None = None


class MachineSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Machine, and of the template of a MachineSet. `metadata.labels` and `taints` go to the Node."""

    metadata: Labels | None = None
    taints: list[NodeTaint] | None = None
    provider_spec: ProviderSpec = msgspec.field(default_factory=ProviderSpec)
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    lifecycle_hooks: Hooks | None = None


class Template(msgspec.Struct):
    """`spec.template` of a MachineSet; `metadata.labels` are those of its Machines."""

    metadata: Labels | None = None
    spec: MachineSpec = msgspec.field(default_factory=MachineSpec)


class MachineSetSpec(msgspec.Struct, rename="camel"):
    """`spec` of a MachineSet."""

    replicas: int | None = None
    template: Template = msgspec.field(default_factory=Template)
    authoritative_api: str = msgspec.field(default="", name="authoritativeAPI")


class MachineSetStatus(msgspec.Struct, rename="camel"):
    """`status` of a MachineSet."""

    replicas: int | None = None
    authoritative_api: str = msgspec.field(default="", name="authoritativeAPI")
    synchronized_generation: int = 0
    conditions: list[Condition] | None = None


class MachineSet(msgspec.Struct):
    """A MachineSet."""

    metadata: TargetMeta
    spec: MachineSetSpec
    status: MachineSetStatus | None = None
    kind: str = ""


class NodeReference(msgspec.Struct):
    """`status.nodeRef`."""

    name: str = ""


class MachineStatus(msgspec.Struct, rename="camel"):
    """`status` of a Machine."""

    phase: str | None = None
    node_ref: NodeReference | None = None
    error_reason: str | None = None
    error_message: str | None = None
    conditions: list[Condition] | None = None


class Machine(msgspec.Struct):
    """A Machine."""

    metadata: ObjectMeta
    spec: MachineSpec = msgspec.field(default_factory=MachineSpec)
    status: MachineStatus | None = None
    kind: str = ""


class ScaleTarget(msgspec.Struct, rename="camel"):
    """`spec.scaleTargetRef` of a MachineAutoscaler."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class MachineAutoscalerSpec(msgspec.Struct, rename="camel"):
    """`spec` of a MachineAutoscaler."""

    min_replicas: int = 0
    max_replicas: int = 0
    scale_target_ref: ScaleTarget = msgspec.field(default_factory=ScaleTarget)


class MachineAutoscaler(msgspec.Struct):
    """A MachineAutoscaler: with a ClusterAutoscaler, it makes the autoscaler size its MachineSet."""

    metadata: ObjectMeta
    spec: MachineAutoscalerSpec
    kind: str = ""
