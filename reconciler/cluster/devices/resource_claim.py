"""ResourceClaims and their templates: what pods ask of devices, and which devices they have."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.devices.device_class import expressions
from reconciler.cluster.devices.resource_slice import Amounts, exact_milli
from reconciler.cluster.values.selection import NodeSelectorTerm, node_terms
from reconciler.cluster.wire import device_claims
from reconciler.cluster.wire.meta import ObjectMeta

EXACT_COUNT, ALL = "ExactCount", "All"
MOST_RESERVED = 256
"""So many pods may share a claim. Source: `ResourceClaimReservedForMaxSize` of resource.k8s.io/v1."""
_OF_EXTENDED_RESOURCES = "resource.kubernetes.io/extended-resource-claim"
_MADE_FOR = "resource.kubernetes.io/pod-claim-name"
_FEWEST = 1


class DeviceToleration(msgspec.Struct, frozen=True, order=True, gc=False):
    """A toleration of a request; an empty `key` or `effect` means all of them."""

    key: str
    operator: str
    value: str
    effect: str


class Alternative(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What one request asks, or one of its alternatives. `selectors` are CEL expressions. `amounts` are the parts of capacities
    that it wants. `unmodelled` is empty, or what of it is not understood."""

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    mode: str = EXACT_COUNT
    count: int = _FEWEST
    admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    amounts: Amounts = ()
    unmodelled: str = ""


class DeviceRequest(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One request. `first_available`: the first of several alternatives that can be had; else there is exactly one. Without
    alternatives it is of a kind that nobody knows."""

    name: str
    first_available: bool = False
    alternatives: tuple[Alternative, ...] = ()


class Constraint(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """All devices of these requests (empty: of all) have the same value of an attribute, or different ones (`distinct`)."""

    attribute: str
    distinct: bool = False
    requests: tuple[str, ...] = ()


class Allocated(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One device that a claim has. `shared`: others may have parts of it; `consumed` is the part that this claim has."""

    driver: str
    pool: str
    device: str
    admin: bool = False
    shared: bool = False
    consumed: Amounts | None = None


class Allocation(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What a claim has. `terms` None: it can be used on every node. `waits`: binding conditions decide whether it lasts, and they
    are not met yet. `failed`: a driver says that it cannot make the devices ready."""

    devices: tuple[Allocated, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    waits: bool = False
    failed: bool = False
    unmodelled: str = ""


class ResourceClaim(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A claim. `owner_uid` is the pod that controls it (empty: none), and `made_for` is what that pod calls it.
    `reserved_for` are the uids of what uses it. `of_extended_resources`: the scheduler made it for a pod that asks for extended
    resources."""

    namespace: str
    name: str
    owner_uid: str = ""
    owner_name: str = ""
    made_for: str = ""
    deleting: bool = False
    of_extended_resources: bool = False
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    allocation: Allocation | None = None
    reserved_for: tuple[str, ...] = ()


class ClaimTemplate(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What the claims that are made from a ResourceClaimTemplate ask for. Its spec never changes."""

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()


def claim_template(item: device_claims.ResourceClaimTemplate) -> ClaimTemplate:
    """One template. Raises `UnreadableError`."""
    requests, constraints = _asked(item.spec.spec)
    return ClaimTemplate(namespace=item.metadata.namespace, name=item.metadata.name, requests=requests, constraints=constraints)


def resource_claim(item: device_claims.ResourceClaim) -> ResourceClaim:
    """One claim. Raises `UnreadableError`."""
    meta, status = item.metadata, item.status or device_claims.ResourceClaimStatus()
    owner = next((one for one in meta.owner_references or () if one.controller), None)
    requests, constraints = _asked(item.spec)
    return ResourceClaim(
        namespace=meta.namespace,
        name=meta.name,
        owner_uid=owner.uid if owner else "",
        owner_name=owner.name if owner else "",
        made_for=(meta.annotations or {}).get(_MADE_FOR, ""),
        deleting=meta.deletion_timestamp is not None,
        of_extended_resources=_of_extended_resources(meta),
        requests=requests,
        constraints=constraints,
        allocation=_allocation(status.allocation, status.devices or ()) if status.allocation else None,
        reserved_for=tuple(sorted(one.uid for one in status.reserved_for or ())),
    )


def _of_extended_resources(meta: ObjectMeta) -> bool:
    return (meta.annotations or {}).get(_OF_EXTENDED_RESOURCES) == "true"


def _asked(spec: device_claims.ResourceClaimSpec) -> tuple[tuple[DeviceRequest, ...], tuple[Constraint, ...]]:
    devices = spec.devices
    return tuple(map(_request, devices.requests or ())), tuple(map(_constraint, devices.constraints or ()))


def _request(item: device_claims.DeviceRequest) -> DeviceRequest:
    if item.exactly is not None:
        return DeviceRequest(name=item.name, alternatives=(_alternative(item.name, item.exactly),))
    several = tuple(_alternative(one.name, one) for one in item.first_available or ())
    return DeviceRequest(name=item.name, first_available=bool(several), alternatives=several)


def _alternative(name: str, item: device_claims.DeviceSubRequest) -> Alternative:
    amounts: list[tuple[str, int]] = []
    unmodelled = ""
    for key, text in sorted(((item.capacity.requests if item.capacity else None) or {}).items()):
        milli = exact_milli(text)
        if milli is None:
            unmodelled = unmodelled or f"the amount {text} of {key}"
        amounts.append((key, milli or 0))
    mode = item.allocation_mode or EXACT_COUNT
    return Alternative(
        name=name,
        device_class=item.device_class_name,
        selectors=expressions(item.selectors),
        mode=mode,
        # The API server writes 1 where a manifest leaves the count out.
        count=item.count or _FEWEST if mode == EXACT_COUNT else 0,
        admin=bool(item.admin_access),
        tolerations=tuple(DeviceToleration(one.key, one.operator, one.value, one.effect) for one in item.tolerations or ()),
        amounts=tuple(amounts),
        unmodelled=unmodelled or ("" if mode in (EXACT_COUNT, ALL) else f"the allocation mode {mode}"),
    )


def _constraint(item: device_claims.Constraint) -> Constraint:
    requests = tuple(item.requests or ())
    if item.match_attribute is not None:
        return Constraint(attribute=item.match_attribute, requests=requests)
    return Constraint(attribute=item.distinct_attribute or "", distinct=item.distinct_attribute is not None, requests=requests)


def _allocation(item: device_claims.Allocation, said: Sequence[device_claims.DeviceStatus]) -> Allocation:
    devices: list[Allocated] = []
    unmodelled = ""
    results = item.devices.results or ()
    for one in results:
        consumed = None
        if one.consumed_capacity is not None:
            read = [(name, text, exact_milli(text)) for name, text in sorted(one.consumed_capacity.items())]
            unmodelled = unmodelled or next((f"the amount {text} of {name}" for name, text, milli in read if milli is None), "")
            consumed = tuple((name, milli or 0) for name, _, milli in read)
        devices.append(
            Allocated(
                driver=one.driver,
                pool=one.pool,
                device=one.device,
                admin=bool(one.admin_access),
                shared=one.share_id is not None,
                consumed=consumed,
            )
        )
    waits, failed = _binding(results, said)
    return Allocation(
        devices=tuple(devices), terms=node_terms(item.node_selector), waits=waits, failed=failed, unmodelled=unmodelled
    )


def _binding(results: Sequence[device_claims.Result], said: Sequence[device_claims.DeviceStatus]) -> tuple[bool, bool]:
    """Do the devices wait for their binding conditions, and did one fail? The first that is not ready decides.

    Source: `isClaimReadyForBinding` of the DynamicResources plugin.
    """
    status: dict[tuple[str, str, str], device_claims.DeviceStatus] = {}
    for item in said:
        status.setdefault((item.driver, item.pool, item.device), item)
    for one in results:
        if not one.binding_conditions:
            continue
        found = status.get((one.driver, one.pool, one.device))
        true = {condition.type for condition in (found.conditions or () if found else ()) if condition.status == "True"}
        if not true.isdisjoint(one.binding_failure_conditions or ()):
            return False, True
        if not true.issuperset(one.binding_conditions):
            return True, False
    return False, False
