"""What a MachineSet tells about one new node. The sources in order: annotations in both spellings, the size in its providerSpec,
and its instance type if AWS's table has it."""

from collections.abc import Mapping

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.nodes.node_rows import taint_set
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.targets import capacity
from reconciler.cluster.values.resources import CPU, MEMORY, PODS
from reconciler.cluster.values.selection import label_pairs
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.aws.facts.instance_types import KnownType, known_types
from reconciler.platforms.aws.facts.node_sizing import Machine
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.kinds import GROUP

INTERRUPTIBLE = f"{GROUP}/interruptible-instance"
# SOURCE: OpenShift's Cluster Autoscaler: the upstream key wins, a value of zero counts as none, memory is in MiB, and GPUs are
# always NVIDIA's. If a driver of dynamic resource allocation is named, they are its devices.
_GPU = "nvidia.com/gpu"
OLD_KEYS = {
    f"{GROUP}/vCPU": capacity.CPU_KEY,
    f"{GROUP}/memoryMb": capacity.MEMORY_KEY,
    f"{GROUP}/GPU": capacity.GPU_COUNT_KEY,
    f"{GROUP}/maxPods": capacity.MAX_PODS_KEY,
}
_INSTANCE_TYPE, _ARCH = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
_MIB = 1 << 20


def template(item: wire.MachineSet) -> tuple[TargetTemplate, tuple[str, ...]]:
    """The template with its origins, and sentences about what could not be read."""
    annotations = item.metadata.annotations or {}
    spec = item.spec.template.spec
    value = spec.provider_spec.value or wire.ProviderValue()
    written = capacity.annotated(_one_spelling(annotations))
    sized, size_problems = _sized(value)
    listed = _listed(value) if not (written.amounts or sized) else None
    amounts, origin = written.amounts or sized, "capacity annotations" if written.amounts else "providerSpec"
    if listed is not None:
        amounts, origin = _amounts(listed.machine), listed.origin
    resources, incomplete = capacity.complete(amounts, origin)
    labels, label_problems = capacity.label_list(annotations.get(capacity.LABELS_KEY, ""), capacity.LABELS_KEY)
    taints, taint_problems = capacity.taint_list(annotations.get(capacity.TAINTS_KEY, ""), capacity.TAINTS_KEY)
    kind, zone = instance_type(value), _zone(value)
    merged = {
        **({_INSTANCE_TYPE: kind} if kind else {}),
        **({ZONE_LABEL: zone} if zone else {}),
        **({INTERRUPTIBLE: ""} if _interruptible(value) else {}),
        **({_ARCH: listed.machine.architecture} if listed is not None else {}),
        **((spec.metadata.labels if spec.metadata else None) or {}),
        **labels,
    }
    target_template = TargetTemplate(
        capacity=resources,
        labels=label_pairs(merged),
        taints=capacity.merged_taints(taint_set(spec.taints), taints),
        architecture=merged.get(_ARCH, ""),
        zone=merged.get(ZONE_LABEL, ""),
        origins=(origin,) if amounts else (),
        attach_limits=written.attach_limits,
        devices=written.devices,
        pods_guessed=resources is not None and PODS not in amounts,
    )
    return target_template, (*written.problems, *size_problems, *incomplete, *label_problems, *taint_problems)


def instance_type(value: wire.ProviderValue) -> str:
    """The cloud's name for the size of the instance; empty if it has none."""
    candidates = (value.instance_type, value.vm_size, value.machine_type, value.flavor)
    return next((name for name in candidates if isinstance(name, str) and name), "")


def _one_spelling(annotations: Mapping[str, str]) -> dict[str, str]:
    """All annotations, each upstream key filled from the older one if it is missing or zero."""
    spelled = {key: text for key, text in annotations.items() if not _zero(text)}
    for old, key in OLD_KEYS.items():
        text = annotations.get(old, "")
        if key not in spelled and text:
            spelled[key] = f"{text}Mi" if key == capacity.MEMORY_KEY else text
    spelled.pop(capacity.GPU_TYPE_KEY, None)
    if capacity.GPU_COUNT_KEY in spelled and capacity.DEVICES_KEY not in spelled:
        spelled[capacity.GPU_TYPE_KEY] = _GPU
    return spelled


def _zero(text: str) -> bool:
    return text.strip() in ("", "0")


def _sized(value: wire.ProviderValue) -> tuple[dict[str, int], tuple[str, ...]]:
    """Amounts if the providerSpec has them: vSphere and Nutanix. Cpu in milli, memory in bytes."""
    if isinstance(value.num_cpus, int) and isinstance(value.memory_mib, int):
        return {CPU: value.num_cpus * 1000, MEMORY: value.memory_mib * _MIB}, ()
    if isinstance(value.vcpu_sockets, int) and isinstance(value.vcpus_per_socket, int):
        cpu_milli = value.vcpu_sockets * value.vcpus_per_socket * 1000
        try:
            return {CPU: cpu_milli, MEMORY: capacity.amount(MEMORY, str(value.memory_size))}, ()
        except UnreadableError as error:
            return {}, (f"providerSpec.value.memorySize: {error}",)
    return {}, ()


def _listed(value: wire.ProviderValue) -> KnownType | None:
    """The type in AWS's table, from which its own controller would write the annotations, with the table's full memory."""
    return known_types().get(value.instance_type) if isinstance(value.instance_type, str) else None


def _amounts(machine: Machine) -> dict[str, int]:
    return {CPU: machine.vcpus * 1000, MEMORY: machine.memory_mib * _MIB, **dict(machine.devices)}


def _zone(value: wire.ProviderValue) -> str:
    placed = value.placement.get("availabilityZone") if isinstance(value.placement, dict) else None
    return next((zone for zone in (placed, value.zone) if isinstance(zone, str)), "")


def _interruptible(value: wire.ProviderValue) -> bool:
    unset = (value.spot_market_options, value.spot_vm_options)
    return any(isinstance(options, dict) for options in unset) or value.preemptible is True
