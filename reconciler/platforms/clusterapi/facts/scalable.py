"""What MachineDeployments, MachineSets and MachinePools have in common: size, options, template, owner evidence."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.nodes.node_rows import taint_set
from reconciler.cluster.target import OwnerEvidence, RolloutPace, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.targets import capacity, owner_evidence
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE, near_misses, scaling_bounds
from reconciler.cluster.targets.target_options import OPTIONS, read_options
from reconciler.cluster.values.resources import PODS
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.parents import writers
from reconciler.platforms.clusterapi.facts.template_offer import offered
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL

_OPTION_PREFIX = "autoscaling-options-"
_TOPOLOGY = "topology.cluster.x-k8s.io/"
OWNED_LABEL = _TOPOLOGY + "owned"


def facts(
    item: wire.Scalable,
    kind: str,
    view: ClusterApiView,
    *,
    zone: str = "",
    zones: tuple[str, ...] = (),
    rolling_out: bool = False,
    rollout: RolloutPace | None = None,
    selectable: bool = True,
) -> TargetFacts:
    """The facts of one Cluster API target. Never raises: what cannot be read becomes a sentence in `problems`."""
    meta = item.metadata
    annotations = meta.annotations or {}
    bounds = scaling_bounds(annotations, view.group)
    options, option_problems = read_options(annotations.items(), f"{view.group}/{_OPTION_PREFIX}")
    template, template_problems = _template(item, view, zone, zones)
    owner = _evidence(item, kind, view)
    problems = [
        *(("spec.replicas is missing: its desired replicas are unknown",) if item.spec.replicas is None else ()),
        *bounds.problems,
        *option_problems,
        *template_problems,
        *owner.unreadable,
        *near_misses(_without_options(annotations, view.group), _known_keys(view.group)),
    ]
    return TargetFacts(
        ref=TargetRef(kind=kind, namespace=meta.namespace, name=meta.name),
        uid=meta.uid,
        resource_version=meta.resource_version,
        generation=meta.generation,
        replicas=item.spec.replicas,
        labels=label_pairs(meta.labels),
        annotations=tuple(sorted(pair for pair in annotations.items() if pair[0] != owner_evidence.LAST_APPLIED)),
        cluster_name=item.spec.cluster_name,
        min_size=bounds.min_size,
        max_size=bounds.max_size,
        size_origin=bounds.origin,
        options=options,
        template=template,
        owner=owner,
        writers=writers(item, kind, view, _cluster_name(item, view)),
        rolling_out=rolling_out,
        rollout=rollout,
        selectable=selectable,
        problems=tuple(problems),
        api_group=view.group,
    )


def _template(
    item: wire.Scalable, view: ClusterApiView, zone: str, zones: tuple[str, ...]
) -> tuple[TargetTemplate, tuple[str, ...]]:
    """The capacity of the infrastructure template, overridden by annotations, as upstream."""
    annotations = item.metadata.annotations or {}
    machine = item.spec.template
    reference = machine.spec.infrastructure_ref
    offer = offered(view.template(reference, item.metadata.namespace), reference)
    written = capacity.annotated(annotations)
    origins = (*((offer.origin,) if offer.amounts else ()), *(("capacity annotations",) if written.amounts else ()))
    resources, incomplete = capacity.complete({**offer.amounts, **written.amounts}, " and ".join(origins))
    labels, label_problems = capacity.label_list(annotations.get(capacity.LABELS_KEY, ""), capacity.LABELS_KEY)
    taints, taint_problems = capacity.taint_list(annotations.get(capacity.TAINTS_KEY, ""), capacity.TAINTS_KEY)
    managed = dict(_managed(machine.metadata.labels if machine.metadata else None))
    merged = {**offer.labels, **({ZONE_LABEL: zone} if zone else {}), **managed, **labels}
    template = TargetTemplate(
        capacity=resources,
        labels=label_pairs(merged),
        taints=capacity.merged_taints(taint_set(machine.spec.taints), taints),
        architecture=labels.get("kubernetes.io/arch", offer.architecture),
        zone=merged.get(ZONE_LABEL, ""),
        zones=() if ZONE_LABEL in merged else zones,
        origins=origins,
        attach_limits=written.attach_limits,
        devices=written.devices,
        pods_guessed=resources is not None and PODS not in {**offer.amounts, **written.amounts},
    )
    return template, (*offer.problems, *written.problems, *incomplete, *label_problems, *taint_problems)


def _managed(labels: dict[str, str] | None) -> Iterable[tuple[str, str]]:
    """The Machine labels that Cluster API copies to Nodes."""
    for key, value in (labels or {}).items():
        domain, slash, _ = key.partition("/")
        if slash and (
            domain == "node-role.kubernetes.io"
            or any(
                domain == name or domain.endswith(f".{name}")
                for name in ("node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
            )
        ):
            yield key, value


def _evidence(item: wire.Scalable, kind: str, view: ClusterApiView) -> OwnerEvidence:
    """The evidence of any object, plus the topology, a pool's own controller, and what pauses it."""
    evidence = owner_evidence.evidence(item.metadata, ("Cluster", view.group))
    annotations, labels = item.metadata.annotations or {}, item.metadata.labels or {}
    owned = OWNED_LABEL in labels
    name = labels.get(_TOPOLOGY + ("pool-name" if kind == MACHINE_POOL else "deployment-name"), "")
    read, replicas = _topology(item, kind, view, name) if owned else (True, None)
    external = annotations.get(f"{view.group}/replicas-managed-by", "")
    controller = evidence.controller
    if not controller and kind == MACHINE_POOL and external:
        controller = f"annotation {view.group}/replicas-managed-by: {external}"
    return msgspec.structs.replace(
        evidence,
        topology_owned=owned,
        topology_deployment=name,
        topology_read=read,
        topology_replicas=replicas,
        controller=controller,
        paused=_paused(item, kind, view),
    )


def _topology(item: wire.Scalable, kind: str, view: ClusterApiView, name: str) -> tuple[bool, int | None]:
    """Whether the Cluster's entry for this target could be read, and the replicas in it."""
    cluster = view.clusters.get((item.metadata.namespace, _cluster_name(item, view)))
    workers = cluster.spec.topology.workers if cluster and cluster.spec.topology else None
    if workers is None:
        return False, None
    entries = workers.machine_pools if kind == MACHINE_POOL else workers.machine_deployments
    entry = next((entry for entry in entries or () if entry.name == name), None)
    return entry is not None, entry.replicas if entry else None


def _paused(item: wire.Scalable, kind: str, view: ClusterApiView) -> str:
    key = f"{view.group}/paused"
    # Cluster API looks only at the annotation's key: "false" pauses as well.
    if key in (item.metadata.annotations or {}):
        return f"annotation {key} on the {kind}"
    if item.spec.paused:
        return f"spec.paused of the {kind}"
    name = _cluster_name(item, view)
    cluster = view.clusters.get((item.metadata.namespace, name))
    if cluster is not None and cluster.spec.paused:
        return f"spec.paused of the Cluster {item.metadata.namespace}/{name}"
    if cluster is not None and key in (cluster.metadata.annotations or {}):
        return f"annotation {key} on the Cluster {item.metadata.namespace}/{name}"
    return ""


def _cluster_name(item: wire.Scalable, view: ClusterApiView) -> str:
    return item.spec.cluster_name or (item.metadata.labels or {}).get(f"{view.group}/cluster-name", "")


def _known_keys(group: str) -> tuple[str, ...]:
    return (
        f"{group}/{MIN_SIZE}",
        f"{group}/{MAX_SIZE}",
        *(f"{group}/{_OPTION_PREFIX}{name}" for name in OPTIONS),
        *capacity.KEYS,
        owner_evidence.HOLD,
    )


def _without_options(annotations: dict[str, str], group: str) -> Iterable[str]:
    """All keys except those that were already judged with the options."""
    return (key for key in annotations if not key.startswith(f"{group}/{_OPTION_PREFIX}"))
