"""How much of an EC2 machine its pods get: the published formulas of Amazon Linux 2023, in whole numbers.

SOURCE: awslabs/amazon-eks-ami (nodeadm: pods by network interfaces, reserved CPU and memory, eviction thresholds). Karpenter is
the source for the share of memory that the machine does not show. A test reproduces all 1,363 rows of the instance table.
"""

import msgspec

from reconciler.cluster.values.resources import Resources

MIB, GIB = 1 << 20, 1 << 30
DEFAULT_DISK_GIB = 20
# Thousandths of memory that firmware and hypervisor keep, and what arm64 keeps in addition.
_HIDDEN_PERMILLE, _HIDDEN_ARM64_MIB = 75, 64
_EVICTION_MEMORY_MIB, _EVICTION_DISK_PERCENT = 100, 10
_RESERVED_MIB_PER_POD, _RESERVED_MIB = 11, 255
_RESERVED_DISK_GIB = 1


class Machine(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One instance type. `devices` by Kubernetes resource name, sorted; `disk_gib` is its root volume."""

    vcpus: int
    memory_mib: int
    architecture: str
    max_pods: int
    devices: tuple[tuple[str, int], ...] = ()
    disk_gib: int = DEFAULT_DISK_GIB


def max_pods(interfaces: int, addresses: int) -> int:
    """The number of pods that get an address. The interfaces of the default network card keep one address each. Two more pods use
    the host's network."""
    return interfaces * (addresses - 1) + 2


def reserved_cpu_milli(vcpus: int) -> int:
    """6 percent of the first core, 1 of the second, 0.5 of the third and fourth, 0.25 of all others; rounded down."""
    fixed = 60 * min(vcpus, 1) + 10 * min(max(vcpus - 1, 0), 1) + 5 * min(max(vcpus - 2, 0), 2)
    return fixed + 25 * max(vcpus - 4, 0) // 10


def reserved_memory_mib(pods: int) -> int:
    """What the kubelet and the container runtime need for that many pods."""
    return _RESERVED_MIB_PER_POD * pods + _RESERVED_MIB


def capacity(machine: Machine) -> Resources:
    """The capacity that a node of this type shows."""
    shown = machine.memory_mib - (_HIDDEN_ARM64_MIB if machine.architecture == "arm64" else 0)
    hidden = -(-shown * _HIDDEN_PERMILLE // 1000)
    return Resources(
        cpu_milli=machine.vcpus * 1000,
        memory_bytes=(shown - hidden) * MIB,
        ephemeral_bytes=machine.disk_gib * GIB,
        pods=machine.max_pods,
        extended=machine.devices,
    )


def allocatable(machine: Machine) -> Resources:
    """The amounts that its pods may request."""
    whole = capacity(machine)
    reserved = reserved_memory_mib(machine.max_pods) + _EVICTION_MEMORY_MIB
    disk = whole.ephemeral_bytes * (100 - _EVICTION_DISK_PERCENT) // 100 - _RESERVED_DISK_GIB * GIB
    return msgspec.structs.replace(
        whole,
        cpu_milli=whole.cpu_milli - reserved_cpu_milli(machine.vcpus),
        memory_bytes=max(0, whole.memory_bytes - reserved * MIB),
        ephemeral_bytes=max(0, disk),
    )
