"""Limits over nodes, and which objects of the cluster are limits, headroom and requests as well."""

from enum import StrEnum
from typing import Annotated

import msgspec

from reconciler.policy.field import Kind, Loosens
from reconciler.policy.keys import Key
from reconciler.policy.values.label_selector import Selector
from reconciler.values.money import PRICE_HOURS

_LIMITED = ("nodes", "cpu", "memory", "ephemeral-storage", "pods")
_DEVICES = "devices-"


class QuotaReading(StrEnum):
    """Whether CapacityQuota objects of the cluster are limits."""

    READ = "Read"
    IGNORE = "Ignore"


class BufferReading(StrEnum):
    """Whether CapacityBuffer objects of the cluster are headroom."""

    READ = "Read"
    IGNORE = "Ignore"


class RequestReading(StrEnum):
    """Whether ProvisioningRequest objects of the cluster are answered."""

    READ = "Read"
    IGNORE = "Ignore"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A named bound over nodes. `groups` and `nodes` select; both empty means all nodes, unmanaged ones included.

    Amounts: `nodes` as a count, cpu in milli, memory in bytes, extended resources in their unit.
    """

    name: Annotated[str, Key("The name of this limit in plans.", "cluster", kind=Kind.NAME, loosens=Loosens.SAFE)]
    groups: Annotated[Selector | None, Key("Only the nodes of groups with these labels.")] = None
    nodes: Annotated[Selector | None, Key("Only nodes with these labels.")] = None
    max: Annotated[
        tuple[tuple[str, int], ...],
        Key(
            "What the sum must not exceed. `nodes` is the number of nodes. `pricePerHour` and `pricePerMonth` (730 "
            "hours) sum the prices of groups in `currency`. Each group that they select needs a price. "
            "`devices-DRIVER` is the number of devices in ResourceSlices of that driver, with the parts of devices.",
            "nodes: 500",
            "cpu: 4000",
            "memory: 16Ti",
            "devices-gpu.example.com: 64",
            resources=(*_LIMITED, *PRICE_HOURS),
            resource_prefix=_DEVICES,
            loosens=Loosens.UP,
            cluster_autoscaler="--max-nodes-total, --cores-total, --memory-total, --gpu-total",
        ),
    ] = ()
    min: Annotated[
        tuple[tuple[str, int], ...],
        Key(
            "What removals must keep of the sum.",
            "cpu: 16",
            resources=_LIMITED,
            resource_prefix=_DEVICES,
            loosens=Loosens.DOWN,
            cluster_autoscaler="--cores-total, --memory-total, --gpu-total",
        ),
    ] = ()


class LimitsFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster are limits in addition to those of the policy."""

    capacity_quotas: Annotated[
        QuotaReading,
        Key(
            "Whether CapacityQuota objects (`autoscaling.x-k8s.io`) are limits. With Read, one that cannot be read or "
            "understood stops the growth of all groups.",
            "Read",
            loosens=QuotaReading.IGNORE,
        ),
    ] = QuotaReading.IGNORE


class HeadroomFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster are headroom in addition to that of the policy."""

    capacity_buffers: Annotated[
        BufferReading,
        Key(
            "Whether CapacityBuffer objects (`autoscaling.x-k8s.io`) are headroom. With Read, any group may grow for them, "
            "within its maximum and the limits.",
            "Read",
            loosens=BufferReading.IGNORE,
        ),
    ] = BufferReading.IGNORE

    @property
    def reads_buffers(self) -> bool:
        """Whether CapacityBuffers count."""
        return self.capacity_buffers is BufferReading.READ


class RequestsFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster ask for room for pods that are about to be created."""

    provisioning_requests: Annotated[
        RequestReading,
        Key(
            "Whether ProvisioningRequest objects (`autoscaling.x-k8s.io`) are answered. With Read, any group may grow for "
            "those of class best-effort-atomic-scale-up, within its maximum and the limits.",
            "Read",
            loosens=RequestReading.IGNORE,
        ),
    ] = RequestReading.IGNORE

    @property
    def reads_requests(self) -> bool:
        """Whether ProvisioningRequests are answered."""
        return self.provisioning_requests is RequestReading.READ
