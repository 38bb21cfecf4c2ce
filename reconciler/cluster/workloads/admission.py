"""What the API server writes into a new pod: defaults of limit ranges, additions of its runtime class, and requests that follow
from limits.

SOURCE: Kubernetes 1.36. The admission plugin LimitRanger (`mergePodResourceRequirements`) fills only what a container omits, from
one limit range after the other. The plugin RuntimeClass has `setOverhead` and `setScheduling`. With `SetDefaults_Pod` of
`core/v1`, a missing request is the limit. For the whole pod, that applies only if no container requests the resource.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.wire import admission as wire
from reconciler.cluster.wire.meta import EMPTY
from reconciler.cluster.wire.pod import Amounts, Container, ContainerResources, PodSpec, PodTemplate, Toleration

_amounts = RawPart(Amounts, "resources")
_node_selector = RawPart(dict[str, str], "spec.nodeSelector")
_tolerations = RawPart(list[Toleration], "spec.tolerations")
_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"

Written = dict[str, int | str | float]


def admitted(template: PodTemplate, ranges: Iterable[wire.LimitRange], classes: Mapping[str, wire.RuntimeClass]) -> PodTemplate:
    """The template with what a pod of it will say. `ranges` are the limit ranges of its namespace, `classes` all runtime classes
    by name. Raises `UnreadableError`."""
    spec = template.spec
    defaults = [
        (_read(item.default), _read(item.default_request))
        for one in ranges
        for item in one.spec.limits or ()
        if item.type == "Container"
    ]
    spec = msgspec.structs.replace(
        spec,
        containers=[_container(one, defaults) for one in spec.containers],
        init_containers=[_container(one, defaults) for one in spec.init_containers or ()] or None,
    )
    if spec.resources is not None:
        spec = msgspec.structs.replace(spec, resources=_of_the_pod(spec, spec.resources))
    runtime_class = classes.get(spec.runtime_class_name or "")
    return msgspec.structs.replace(template, spec=spec if runtime_class is None else _of_runtime(spec, runtime_class))


def _container(item: Container, defaults: list[tuple[Written, Written]]) -> Container:
    requests, limits = _both(item.resources)
    requests = {**limits, **requests}
    for default, default_request in defaults:
        limits = {**default, **limits}
        requests = {**default_request, **requests}
    if not (requests or limits):
        return item
    return msgspec.structs.replace(item, resources=ContainerResources(_raw(requests), _raw(limits)))


def _of_the_pod(spec: PodSpec, resources: ContainerResources) -> ContainerResources:
    """A limit of the pod that no container's request and no request of the pod answers is requested."""
    requests, limits = _both(resources)
    asked = {name for one in (*spec.containers, *(spec.init_containers or ())) for name in _both(one.resources)[0]}
    for name, amount in limits.items():
        if name not in requests and name not in asked and (name in _POD_LEVEL or name.startswith(_HUGE_PAGES)):
            requests[name] = amount
    return ContainerResources(_raw(requests), _raw(limits))


def _of_runtime(spec: PodSpec, runtime_class: wire.RuntimeClass) -> PodSpec:
    if runtime_class.overhead is not None:
        spec = msgspec.structs.replace(spec, overhead=runtime_class.overhead.pod_fixed)
    if runtime_class.scheduling is not None:
        selector = {**(_node_selector.read(spec.node_selector) or {}), **(runtime_class.scheduling.node_selector or {})}
        tolerations = [*(_tolerations.read(spec.tolerations) or ()), *(runtime_class.scheduling.tolerations or ())]
        spec = msgspec.structs.replace(spec, node_selector=_raw(selector), tolerations=_raw(tolerations))
    return spec


def _both(resources: ContainerResources | None) -> tuple[Written, Written]:
    """Requests and limits."""
    return ({}, {}) if resources is None else (_read(resources.requests), _read(resources.limits))


def _read(part: Raw) -> Written:
    return dict(_amounts.read(part) or {})


def _raw(value: object) -> Raw:
    return Raw(msgspec.json.encode(value)) if value else EMPTY
