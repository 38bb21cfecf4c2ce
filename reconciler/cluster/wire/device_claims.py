"""Device claims of pods (resource.k8s.io), pruned."""

import msgspec

from reconciler.cluster.wire.devices import Amount, Selector
from reconciler.cluster.wire.meta import Condition, Int64, ObjectMeta
from reconciler.cluster.wire.pod import NodeSelector


class Toleration(msgspec.Struct, gc=False):
    """One toleration of a request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class CapacityRequests(msgspec.Struct, gc=False):
    """`capacity` of a request."""

    requests: dict[str, Amount] | None = None


class DeviceSubRequest(msgspec.Struct, rename="camel"):
    """One `firstAvailable` item, and the common part of `exactly`."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[Selector] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequests | None = None


class DeviceRequest(msgspec.Struct, rename="camel"):
    """One `requests` item."""

    name: str
    exactly: DeviceSubRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class Constraint(msgspec.Struct, rename="camel"):
    """One `constraints` item."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(msgspec.Struct):
    """`spec.devices` of a claim."""

    requests: list[DeviceRequest] | None = None
    constraints: list[Constraint] | None = None


class ResourceClaimSpec(msgspec.Struct):
    """`spec` of a ResourceClaim."""

    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class ClaimTemplateSpec(msgspec.Struct):
    """`spec` of a ResourceClaimTemplate."""

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(msgspec.Struct):
    """A ResourceClaimTemplate."""

    metadata: ObjectMeta
    spec: ClaimTemplateSpec
    kind: str = ""


class Result(msgspec.Struct, rename="camel"):
    """One device of an allocation."""

    driver: str
    pool: str
    device: str
    request: str = ""
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Amount] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None


class Results(msgspec.Struct):
    """`devices` of an allocation."""

    results: list[Result] | None = None


class Allocation(msgspec.Struct, rename="camel"):
    """`status.allocation` of a claim."""

    devices: Results = msgspec.field(default_factory=Results)
    node_selector: NodeSelector | None = None


class Consumer(msgspec.Struct, gc=False):
    """One `status.reservedFor` item."""

    uid: str = ""


class DeviceStatus(msgspec.Struct, rename="camel"):
    """What a driver says of a device that a claim has: a `status.devices` item."""

    driver: str
    pool: str
    device: str
    conditions: list[Condition] | None = None


class ResourceClaimStatus(msgspec.Struct, rename="camel"):
    """`status` of a ResourceClaim."""

    allocation: Allocation | None = None
    devices: list[DeviceStatus] | None = None
    reserved_for: list[Consumer] | None = None


class ResourceClaim(msgspec.Struct, rename="camel"):
    """A ResourceClaim."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec
    status: ResourceClaimStatus | None = None
    kind: str = ""
