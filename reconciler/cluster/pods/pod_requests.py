"""What a pod requests, counted as kube-scheduler 1.36 counts it (KEP-753 sidecars, KEP-2837 pod level, KEP-1287 resize).

Amounts are summed exactly, in billionths, and rounded up once at the end.
"""

from collections.abc import Mapping

from msgspec import Raw

from reconciler.cluster.values import quantity
from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.values.resources import CPU, MEMORY, PODS
from reconciler.cluster.wire import pod as wire

Nanos = dict[str, int]

_SIDECAR = "Always"
_HUGE_PAGES = "hugepages-"
_amounts = RawPart(wire.Amounts, "resources")


def pod_requests(spec: wire.PodSpec, status: wire.PodStatus | None) -> quantity.Vector:
    """The requests of a pod, with `pods` 1.

    `status` is None for pods that are on no node: only there can a resize be under way. Raises `UnreadableError`.
    """
    actual = _statuses(status)
    infeasible = status is not None and _resize_infeasible(status)
    total: Nanos = {}
    for index, container in enumerate(spec.containers):
        _add(total, _container(container, f"spec.containers[{index}]", actual.get(container.name), infeasible=infeasible))
    sidecars: Nanos = {}
    peak: Nanos = {}
    for index, container in enumerate(spec.init_containers or ()):
        path = f"spec.initContainers[{index}]"
        if container.restart_policy == _SIDECAR:
            amounts = _container(container, path, actual.get(container.name), infeasible=infeasible)
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            step = dict(sidecars)
            _add(step, _container(container, path, None, infeasible=infeasible))
            _raise(peak, step)
    _raise(total, peak)
    _apply_pod_level(total, spec, status, infeasible=infeasible)
    _add(total, _nanos(spec.overhead, "spec.overhead"))
    total[PODS] = quantity.NANO
    return quantity.vector(total)


def _container(
    container: wire.Container, path: str, actual: wire.ContainerStatus | None, *, infeasible: bool
) -> Mapping[str, int]:
    wanted = _wanted(container.resources, f"{path}.resources")
    if actual is None or actual.resources is None:
        return wanted
    set_now = _nanos(actual.resources.requests, f"status of {path}: resources.requests")
    allocated = _nanos(actual.allocated_resources, f"status of {path}: allocatedResources")
    return _while_resizing(wanted, set_now, allocated, infeasible=infeasible)


def _while_resizing(wanted: Nanos, set_now: Nanos, allocated: Nanos, *, infeasible: bool) -> Nanos:
    # A resize that can never happen asks for nothing; until one is done the node must hold the larger of both.
    effective = dict(set_now)
    _raise(effective, allocated)
    if not infeasible:
        _raise(effective, wanted)
    return effective


def _apply_pod_level(total: Nanos, spec: wire.PodSpec, status: wire.PodStatus | None, *, infeasible: bool) -> None:
    if spec.resources is None:
        return
    wanted = _nanos(spec.resources.requests, "spec.resources.requests")
    supported = [name for name in wanted if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)]
    effective = wanted
    if supported and status is not None and status.resources is not None:
        set_now = _nanos(status.resources.requests, "status.resources.requests")
        allocated = _nanos(status.allocated_resources, "status.allocatedResources")
        effective = _while_resizing(wanted, set_now, allocated, infeasible=infeasible)
    for name in supported:
        total[name] = effective.get(name, 0)


def _wanted(resources: wire.ContainerResources | None, path: str) -> Nanos:
    """Requests of a container; a resource with only a limit requests the limit, as the API server defaults pods."""
    if resources is None:
        return {}
    wanted = _nanos(resources.requests, f"{path}.requests")
    for name, amount in _nanos(resources.limits, f"{path}.limits").items():
        wanted.setdefault(name, amount)
    return wanted


def _statuses(status: wire.PodStatus | None) -> dict[str, wire.ContainerStatus]:
    if status is None:
        return {}
    return {item.name: item for item in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))}


def _resize_infeasible(status: wire.PodStatus) -> bool:
    pending = next((item for item in status.conditions or () if item.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _nanos(part: Raw, path: str) -> Nanos:
    try:
        return quantity.nanos(_amounts.read(part, path))
    except quantity.QuantityError as error:
        raise error.at(path) from None


def _add(total: Nanos, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Nanos, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount > total.get(name, 0):
            total[name] = amount
