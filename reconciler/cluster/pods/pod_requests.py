"""What a pod requests, counted as kube-scheduler counts it (KEP-753 sidecars, KEP-2837 pod level, KEP-1287 resize).

Amounts are summed exactly, in billionths, and rounded up once at the end.
SOURCE: `PodRequests` of k8s.io/component-helpers, 1.36 and 1.37. Until 1.36, each container counts with the most of spec, status
and allocation. Since 1.37, the sums of all containers by spec, by status and by allocation are compared.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Raw

from reconciler.cluster.values import quantity
from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.values.release import Resizes
from reconciler.cluster.values.resources import CPU, MEMORY, PODS, Resources
from reconciler.cluster.wire import pod as wire

Nanos = dict[str, int]

_SIDECAR = "Always"
_HUGE_PAGES = "hugepages-"
_amounts = RawPart(wire.Amounts, "resources")


class PodRequests(msgspec.Struct, frozen=True):
    """The requests of one pod, with `pods` 1, by the rules of `Resizes`. `whole_pod` is None where the rules agree."""

    each_container: quantity.Vector
    whole_pod: quantity.Vector | None = None

    def by(self, rule: Resizes) -> quantity.Vector:
        """The requests by one rule."""
        if self.whole_pod is None or rule is Resizes.EACH_CONTAINER:
            return self.each_container
        if rule is Resizes.WHOLE_POD:
            return self.whole_pod
        most: Nanos = {}
        for one in (self.each_container, self.whole_pod):
            _raise(most, dict(one.resources.items()))
        return quantity.Vector(Resources.of(most), tuple({*self.each_container.problems, *self.whole_pod.problems}))


class _AmountsOf(Protocol):
    def __call__(self, container: wire.Container, path: str, *, runs_once: bool) -> Mapping[str, int]: ...


def pod_requests(spec: wire.PodSpec, status: wire.PodStatus | None) -> PodRequests:
    """The requests of a pod.

    `status` is None for pods that are on no node: only there can a resize be under way. Raises `UnreadableError`.
    """
    by_spec = _sum(spec, lambda container, path, runs_once: _wanted(container, path))
    wanted = _nanos(spec.resources.requests, "spec.resources.requests") if spec.resources is not None else {}
    if status is None:
        return PodRequests(_finished(by_spec | _supported(wanted), spec))
    resize = _Resize(status)
    first = _finished(resize.by_container(spec, wanted), spec)
    second = _finished(resize.by_pod(spec, by_spec, wanted), spec)
    return PodRequests(first, None if second == first else second)


class _Resize:
    """A pod on a node, whose status may differ from its spec. A resize that can never happen asks for nothing. Until any other is
    done the node must hold the most of what is asked for, set and allocated."""

    def __init__(self, status: wire.PodStatus) -> None:
        self._containers = {
            item.name: item for item in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
        }
        pending = next((item for item in status.conditions or () if item.type == "PodResizePending"), None)
        self._infeasible = pending is not None and pending.reason == "Infeasible"
        self._of_pod = status.resources is not None
        self._set_now = _nanos(status.resources.requests, "status.resources.requests") if status.resources else {}
        self._allocated = _nanos(status.allocated_resources, "status.allocatedResources")

    def by_container(self, spec: wire.PodSpec, wanted: Nanos) -> Nanos:
        """Each container by itself, and the pod's own requests in their place. Statuses of what runs once do not count."""

        def effective(container: wire.Container, path: str, *, runs_once: bool) -> Nanos:
            asked, actual = _wanted(container, path), self._containers.get(container.name)
            if runs_once or actual is None or actual.resources is None:
                return asked
            return self._most(asked, self._of_status(actual.resources, path), self._of_allocation(actual, path))

        total = _sum(spec, effective)
        held = self._most(wanted, self._set_now, self._allocated) if self._of_pod else wanted
        return total | {name: held.get(name, 0) for name in _supported(wanted)}

    def by_pod(self, spec: wire.PodSpec, by_spec: Nanos, wanted: Nanos) -> Nanos:
        """The sums of all containers, those that run once included, and the pod's own requests in their place."""

        def allocated(container: wire.Container, path: str, *, runs_once: bool) -> Nanos:
            actual = self._containers.get(container.name)
            return (actual and self._of_allocation(actual, path)) or self._otherwise(container, path)

        def set_now(container: wire.Container, path: str, *, runs_once: bool) -> Nanos:
            actual = self._containers.get(container.name)
            there = actual and actual.resources and self._of_status(actual.resources, path)
            return there or allocated(container, path, runs_once=runs_once)

        if self._set_now and self._allocated:
            total = self._most(by_spec, self._set_now, self._allocated)
        else:
            total = self._most(by_spec, _sum(spec, set_now), _sum(spec, allocated))
        if not _supported(wanted):
            return total
        return total | _supported(self._most(wanted, self._set_now, self._allocated) if self._of_pod else wanted)

    def _otherwise(self, container: wire.Container, path: str) -> Nanos:
        return {} if self._infeasible else _wanted(container, path)

    def _most(self, wanted: Nanos, set_now: Nanos, allocated: Nanos) -> Nanos:
        most = dict(set_now)
        _raise(most, allocated)
        if not self._infeasible:
            _raise(most, wanted)
        return most

    def _of_status(self, resources: wire.ContainerResources, path: str) -> Nanos:
        return _nanos(resources.requests, f"status of {path}: resources.requests")

    def _of_allocation(self, actual: wire.ContainerStatus, path: str) -> Nanos:
        return _nanos(actual.allocated_resources, f"status of {path}: allocatedResources")


def _sum(spec: wire.PodSpec, amounts_of: _AmountsOf) -> Nanos:
    """What the containers of a pod need at most at any time. Those that run once come one after the other."""
    total: Nanos = {}
    for index, container in enumerate(spec.containers):
        _add(total, amounts_of(container, f"spec.containers[{index}]", runs_once=False))
    sidecars: Nanos = {}
    peak: Nanos = {}
    for index, container in enumerate(spec.init_containers or ()):
        runs_once = container.restart_policy != _SIDECAR
        amounts = amounts_of(container, f"spec.initContainers[{index}]", runs_once=runs_once)
        step = dict(sidecars)
        _add(step, amounts)
        _raise(peak, step)
        if not runs_once:
            sidecars = step
            _add(total, amounts)
    _raise(total, peak)
    return total


def _finished(total: Nanos, spec: wire.PodSpec) -> quantity.Vector:
    _add(total, _nanos(spec.overhead, "spec.overhead"))
    total[PODS] = quantity.NANO
    return quantity.vector(total)


def _supported(wanted: Nanos) -> Nanos:
    """What a pod as a whole may request."""
    return {name: amount for name, amount in wanted.items() if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)}


def _wanted(container: wire.Container, path: str) -> Nanos:
    """Requests of a container; a resource with only a limit requests the limit, as the API server defaults pods."""
    resources = container.resources
    if resources is None:
        return {}
    wanted = _nanos(resources.requests, f"{path}.resources.requests")
    for name, amount in _nanos(resources.limits, f"{path}.resources.limits").items():
        wanted.setdefault(name, amount)
    return wanted


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
