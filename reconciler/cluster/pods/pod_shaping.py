"""From a pod as the API gives it to its shape: everything that scheduling looks at, in one canonical form."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, required
from reconciler.cluster.pods.pod import (
    AffinityTerm,
    ClaimUse,
    HostPort,
    Owner,
    PodShape,
    PodTraits,
    SpreadConstraint,
    SpreadFrom,
    Toleration,
    VolumeUse,
)
from reconciler.cluster.values import quantity
from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.values.resources import CPU, MEMORY, PODS
from reconciler.cluster.values.selection import NodeSelectorTerm, label_pairs, label_selector, node_terms
from reconciler.cluster.wire import meta, pod
from reconciler.cluster.wire import pod as wire
from reconciler.cluster.wire.meta import EMPTY, api_group
from reconciler.cluster.wire.volume import in_tree_disks
from reconciler.values.label_selector import Requirement

# What a pod asks for, counted as kube-scheduler 1.36 counts it (KEP-753 sidecars, KEP-2837 pod level, KEP-1287 resize).
#
# Amounts are summed exactly, in billionths, and rounded up once at the end.

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


_Labels = dict[str, str]
_DAEMON_TOLERATIONS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)

_labels = RawPart(_Labels, "metadata.labels")
_node_selector = RawPart(_Labels, "spec.nodeSelector")
_affinity = RawPart(wire.Affinity, "spec.affinity")
_tolerations = RawPart(list[wire.Toleration], "spec.tolerations")
_spread = RawPart(list[wire.SpreadConstraint], "spec.topologySpreadConstraints")
_ports = RawPart(list[wire.ContainerPort], "spec.containers[].ports")
_claims = RawPart(list[wire.ResourceClaim], "spec.resourceClaims")
_claim_statuses = RawPart(list[wire.ResourceClaimStatus], "status.resourceClaimStatuses")


class ShapeDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A shape whose priority may still hang on a PriorityClass: `priority_class` names it, None when it is settled."""

    shape: PodShape
    priority_class: str | None
    problems: tuple[str, ...] = ()


def draft_shape(
    namespace: str,
    name: str,
    labels: msgspec.Raw,
    spec: wire.PodSpec,
    status: wire.PodStatus | None,
    *,
    template: bool = False,
) -> ShapeDraft:
    """The shape of a pod, or of the pods that a template will make. Raises `UnreadableError`.

    When the API server creates a pod, it folds `matchLabelKeys` and `mismatchLabelKeys` of affinity terms into their selectors.
    kube-scheduler reads only the selectors, so they are folded for templates and not for pods. kube-scheduler itself reads
    `matchLabelKeys` of spread constraints, so these are folded for both.
    """
    own = _labels.read(labels) or {}
    spread = _spread.read(spec.topology_spread_constraints) or ()
    affinity = _affinity.read(spec.affinity) or wire.Affinity()
    node_selector = label_pairs(_node_selector.read(spec.node_selector))
    terms = node_terms(affinity.node_affinity.required) if affinity.node_affinity else None
    requests = pod_requests(spec, status if spec.node_name else None)
    shape = PodShape(
        namespace=namespace,
        labels=label_pairs(own),
        requests=requests.resources,
        node_selector=node_selector,
        required_terms=terms,
        tolerations=_toleration_set(_tolerations.read(spec.tolerations) or ()),
        host_ports=_host_ports(spec),
        spread=_hard_spread(spread, own),
        spread_from=SpreadFrom.POD if spread else SpreadFrom.NOWHERE,
        affinity=_pod_terms(affinity.pod_affinity, own if template else {}, namespace),
        anti_affinity=_pod_terms(affinity.pod_anti_affinity, own if template else {}, namespace),
        volumes=volume_uses(name, spec.volumes or ()),
        claims=_claim_uses(_claims.read(spec.resource_claims) or (), status),
        priority=spec.priority or 0,
        scheduler_name=spec.scheduler_name or "default-scheduler",
        host_name_bound=_names_host(node_selector, terms),
        required_features=required(spec),
    )
    if isinstance(spec, wire.WholePodSpec):
        group = spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else ""
        shape = msgspec.structs.replace(shape, pod_group=group, not_modelled=spec.not_modelled)
    settled = spec.priority is not None
    return ShapeDraft(shape=shape, priority_class=None if settled else spec.priority_class_name or "", problems=requests.problems)


def daemon_draft(namespace: str, name: str, template: wire.PodTemplate) -> ShapeDraft:
    """The shape of the pods that a DaemonSet makes, with the tolerations that its controller adds to each."""
    labels = template.metadata.labels if template.metadata else EMPTY
    draft = draft_shape(namespace, name, labels, template.spec, None, template=True)
    added = [Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect) for key, effect in _DAEMON_TOLERATIONS]
    if template.spec.host_network:
        added.append(Toleration("node.kubernetes.io/network-unavailable", "Exists", "", "NoSchedule"))
    tolerations = tuple(sorted({*draft.shape.tolerations, *added}))
    return msgspec.structs.replace(draft, shape=msgspec.structs.replace(draft.shape, tolerations=tolerations))


def _claim_uses(claims: Iterable[wire.ResourceClaim], status: wire.PodStatus | None) -> tuple[ClaimUse, ...]:
    """The claims of a pod. Source: `resourceclaim.Name` of dynamic-resource-allocation."""
    uses: list[ClaimUse] = []
    for item in claims:
        if item.resource_claim_name is not None:
            uses.append(ClaimUse(name=item.name, claim=item.resource_claim_name))
            continue
        made = (_claim_statuses.read(status.resource_claim_statuses) or ()) if status else ()
        found = next((one for one in made if one.name == item.name), None)
        needless = found is not None and found.resource_claim_name is None
        claim = (found.resource_claim_name or "") if found else ""
        template = item.resource_claim_template_name or ""
        uses.append(ClaimUse(name=item.name, claim=claim, generated=True, template=template, needless=needless))
    return tuple(uses)


def volume_uses(pod_name: str, volumes: Iterable[wire.Volume]) -> tuple[VolumeUse, ...]:
    """The volumes that take part in scheduling; a claim made for the pod is named `pod-volume` by its controller."""
    uses: set[VolumeUse] = set()
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            source = volume.persistent_volume_claim
            uses.add(VolumeUse(kind="PersistentVolumeClaim", claim=source.claim_name, read_only=source.read_only))
        elif volume.ephemeral is not None:
            uses.add(VolumeUse(kind="PersistentVolumeClaim", claim=f"{pod_name}-{volume.name}", ephemeral=True))
        else:
            uses.update(_in_tree(volume))
    return tuple(sorted(uses))


def _in_tree(volume: wire.Volume) -> Iterable[VolumeUse]:
    """Disks named in the pod. An RBD image has one use for each monitor: two conflict when they share one."""
    for kind, disk, identity in in_tree_disks(volume):
        if disk is not None:
            yield VolumeUse(kind=kind, identity=getattr(disk, identity) or "", read_only=bool(disk.read_only))
    if volume.rbd is not None:
        image = f"{volume.rbd.pool or 'rbd'}/{volume.rbd.image or ''}"
        for monitor in volume.rbd.monitors or ():
            yield VolumeUse(kind="RBD", identity=f"{monitor} {image}", read_only=bool(volume.rbd.read_only))


def _toleration_set(tolerations: Iterable[wire.Toleration]) -> tuple[Toleration, ...]:
    distinct = {Toleration(item.key or "", item.operator or "Equal", item.value or "", item.effect or "") for item in tolerations}
    return tuple(sorted(distinct))


def _host_ports(spec: wire.PodSpec) -> tuple[HostPort, ...]:
    ports: set[HostPort] = set()
    sidecars = [item for item in spec.init_containers or () if item.restart_policy == "Always"]
    for container in (*spec.containers, *sidecars):
        for port in _ports.read(container.ports) or ():
            # On the host's network a container port is the host port: the API server writes it so.
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number:
                ports.add(HostPort(number, port.protocol or "TCP", port.host_ip or "0.0.0.0"))  # noqa: S104 - the API's wildcard
    return tuple(sorted(ports))


def _hard_spread(constraints: Iterable[wire.SpreadConstraint], labels: _Labels) -> tuple[SpreadConstraint, ...]:
    distinct = {
        SpreadConstraint(
            topology_key=item.topology_key,
            max_skew=item.max_skew,
            min_domains=1 if item.min_domains is None else item.min_domains,
            selector=label_selector(item.label_selector, _own_values(item.match_label_keys, "In", labels)),
            node_affinity_policy=item.node_affinity_policy or "Honor",
            node_taints_policy=item.node_taints_policy or "Ignore",
        )
        for item in constraints
        if item.when_unsatisfiable == "DoNotSchedule"
    }
    return tuple(sorted(distinct, key=msgspec.json.encode))


def _pod_terms(wire_terms: wire.PodAffinity | None, labels: _Labels, namespace: str) -> tuple[AffinityTerm, ...]:
    terms: set[AffinityTerm] = set()
    for term in (wire_terms.required if wire_terms else None) or ():
        added = (*_own_values(term.match_label_keys, "In", labels), *_own_values(term.mismatch_label_keys, "NotIn", labels))
        namespaces = tuple(sorted(set(term.namespaces or ())))
        if not namespaces and term.namespace_selector is None:
            namespaces = (namespace,)
        terms.add(
            AffinityTerm(
                topology_key=term.topology_key,
                selector=label_selector(term.label_selector, added),
                namespaces=namespaces,
                namespace_selector=label_selector(term.namespace_selector),
            )
        )
    return tuple(sorted(terms, key=msgspec.json.encode))


def _own_values(keys: list[str] | None, operator: str, labels: _Labels) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels)


def _names_host(selector: tuple[tuple[str, str], ...], terms: tuple[NodeSelectorTerm, ...] | None) -> bool:
    if any(key == HOSTNAME_LABEL for key, _ in selector):
        return True
    return any(term.fields or any(item.key == HOSTNAME_LABEL for item in term.expressions) for term in terms or ())


# From a pod as the API gives it to its traits: what a drain must know.

_owners = RawPart(list[meta.OwnerReference], "metadata.ownerReferences")


def traits(metadata: pod.PodMeta, spec: pod.PodSpec, local_volumes: tuple[str, ...]) -> PodTraits:
    """The traits of one pod. Raises `UnreadableError`."""
    controller = controlling_owner(_owners.read(metadata.owner_references))
    marks = metadata.annotations or pod.PodAnnotations()
    by_daemonset = controller is not None and controller.kind == "DaemonSet" and controller.api_group == "apps"
    grace = spec.termination_grace_period_seconds
    return PodTraits(
        namespace=metadata.namespace,
        controller=controller,
        safe_to_evict=marks.safe_to_evict,
        safe_local_volumes=tuple(sorted({name.strip() for name in (marks.safe_local_volumes or "").split(",")} - {""})),
        local_volumes=local_volumes,
        mirror=marks.mirror is not None,
        daemonset=by_daemonset or marks.daemonset_pod == "true",
        restart_policy=spec.restart_policy or "Always",
        grace_seconds=30 if grace is None else grace,
        annotations=_read_by_decisions(marks),
    )


def local_volume_names(volumes: list[pod.Volume]) -> tuple[str, ...]:
    """Volumes whose content would be lost: hostPath, and emptyDir unless its medium is Memory. Sorted."""
    return tuple(
        sorted(
            volume.name
            for volume in volumes
            if volume.host_path is not None or (volume.empty_dir is not None and volume.empty_dir.medium != "Memory")
        )
    )


def controlling_owner(references: list[meta.OwnerReference] | None) -> Owner | None:
    """The reference with `controller: true`, or None."""
    for reference in references or ():
        if reference.controller:
            return Owner(api_group(reference.api_version), reference.kind, reference.name, reference.uid)
    return None


def _read_by_decisions(marks: pod.PodAnnotations) -> tuple[tuple[str, str], ...]:
    annotations = (
        (pod.CONSUMES, marks.consumes or marks.consumes_before),
        ("cluster-autoscaler.kubernetes.io/enable-ds-eviction", marks.enable_ds_eviction),
        ("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", marks.pod_scale_up_delay),
        (pod.KARPENTER_DO_NOT_DISRUPT, marks.karpenter_do_not_disrupt),
        (pod.DO_NOT_DISRUPT, marks.do_not_disrupt),
    )
    return tuple((key, value) for key, value in annotations if value is not None)
