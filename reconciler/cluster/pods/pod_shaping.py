"""From a pod as the API gives it to its shape: everything that scheduling looks at, in one canonical form."""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.declared_features import required
from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.pods.pod import (
    PREEMPTS,
    AffinityTerm,
    ClaimUse,
    HostPort,
    PodShape,
    SpreadConstraint,
    SpreadFrom,
    Toleration,
    VolumeUse,
)
from reconciler.cluster.pods.pod_requests import PodRequests, pod_requests
from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.values.release import Release
from reconciler.cluster.values.selection import NodeSelectorTerm, label_pairs, label_selector, node_terms
from reconciler.cluster.wire import pod as wire
from reconciler.cluster.wire.meta import EMPTY
from reconciler.cluster.wire.volume import in_tree_disks
from reconciler.values.label_selector import Requirement, selects

_Labels = dict[str, str]
_DAEMON_TOLERATIONS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)

_OPEN_SELECTOR = "affinity.namespaceSelector, which releases of Kubernetes read differently"

_labels = RawPart(_Labels, "metadata.labels")
_node_selector = RawPart(_Labels, "spec.nodeSelector")
_affinity = RawPart(wire.Affinity, "spec.affinity")
_tolerations = RawPart(list[wire.Toleration], "spec.tolerations")
_spread = RawPart(list[wire.SpreadConstraint], "spec.topologySpreadConstraints")
_ports = RawPart(list[wire.ContainerPort], "spec.containers[].ports")
_claims = RawPart(list[wire.ResourceClaim], "spec.resourceClaims")
_claim_statuses = RawPart(list[wire.ResourceClaimStatus], "status.resourceClaimStatuses")


class ShapeDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A shape that may still hang on other objects. `priority_class` names the PriorityClass that gives its priority, None when
    that is settled. Which of `requests` count hangs on the release of kube-scheduler; `shape` has those of the first rule."""

    shape: PodShape
    priority_class: str | None
    requests: PodRequests

    @property
    def differs_by_release(self) -> bool:
        """Whether the shape that `settled` gives is another one in another release."""
        return self.requests.whole_pod is not None or _negated(self.shape)

    def settled(self, priorities: Mapping[str, int], release: Release) -> PodShape:
        """The shape with the priority of its class and by the rules of a release. `priorities` are by class name, with the global
        default under the empty name. Which namespaces a negative selector means is left open if nobody knows the release."""
        changed: dict[str, object] = {}
        if self.priority_class is not None:
            changed["priority"] = priorities.get(self.priority_class, priorities.get("", 0))
        if self.requests.whole_pod is not None:
            changed["requests"] = self.requests.by(release.resizes).resources
        if not release.known and _negated(self.shape):
            changed["not_modelled"] = (*self.shape.not_modelled, _OPEN_SELECTOR)
        return msgspec.structs.replace(self.shape, **changed) if changed else self.shape


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
        requests=requests.each_container.resources,
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
        preempts = (spec.preemption_policy or PREEMPTS) if group else ""
        shape = msgspec.structs.replace(shape, pod_group=group, preemption_policy=preempts, not_modelled=spec.not_modelled)
    settled = spec.priority is not None
    return ShapeDraft(shape=shape, priority_class=None if settled else spec.priority_class_name or "", requests=requests)


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


def _negated(shape: PodShape) -> bool:
    """Whether a namespace selector of the pod has only requirements that a namespace without labels meets."""
    selectors = [term.namespace_selector for term in (*shape.affinity, *shape.anti_affinity)]
    return any(one is not None and one.requirements and selects(one, {}) for one in selectors)
