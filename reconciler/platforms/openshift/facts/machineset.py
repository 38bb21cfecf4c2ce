"""MachineSets of OpenShift's Machine API as targets."""

from collections.abc import Iterable, Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.targets import capacity, owner_evidence
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE, Bounds, near_misses, scaling_bounds
from reconciler.cluster.targets.target_options import OPTIONS, read_options
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.facts.other_writers import writers
from reconciler.platforms.openshift.facts.shape import OLD_KEYS, template
from reconciler.platforms.openshift.kinds import GROUP, MACHINE_SET

_OPTION_PREFIX = f"{GROUP}/autoscaling-options-"
_CLUSTER = f"{GROUP}/cluster-api-cluster"


def reference(namespace: str, name: str) -> TargetRef:
    """The target of this name."""
    return TargetRef(kind=MACHINE_SET, namespace=namespace, name=name)


def facts(
    item: wire.MachineSet,
    autoscaler: wire.MachineAutoscaler | None = None,
    keeps_nodes: str = "",
    but: tuple[str, ...] = (),
    *,
    unseen: str = "",
) -> TargetFacts:
    """The facts of one MachineSet. `autoscaler` is the MachineAutoscaler that names it. `keeps_nodes` states why no node may be
    removed now, except the nodes `but`. `unseen` is `TargetFacts.unseen`. Never raises: a value that cannot be read becomes a
    sentence in `problems`."""
    meta = item.metadata
    annotations, labels = meta.annotations or {}, meta.labels or {}
    bounds = _bounds(annotations, autoscaler)
    options, option_problems = read_options(annotations.items(), _OPTION_PREFIX)
    offer, offer_problems = template(item)
    owner = owner_evidence.evidence(meta)
    missing = "spec.replicas is missing: its desired replicas are unknown"
    return TargetFacts(
        ref=reference(meta.namespace, meta.name),
        uid=meta.uid,
        resource_version=meta.resource_version,
        generation=meta.generation,
        replicas=item.spec.replicas,
        labels=label_pairs(labels),
        annotations=tuple(sorted(pair for pair in annotations.items() if pair[0] != owner_evidence.LAST_APPLIED)),
        cluster_name=labels.get(_CLUSTER, ""),
        min_size=bounds.min_size,
        max_size=bounds.max_size,
        size_origin=bounds.origin,
        options=options,
        template=offer,
        owner=owner,
        writers=writers(item, autoscaler),
        unseen=unseen,
        keeps_nodes=keeps_nodes,
        keeps_nodes_but=but,
        beyond_autoscaler=autoscaler is None and not any(f"{GROUP}/{key}" in annotations for key in (MIN_SIZE, MAX_SIZE)),
        problems=(
            *((missing,) if item.spec.replicas is None else ()),
            *bounds.problems,
            *option_problems,
            *offer_problems,
            *owner.unreadable,
            *near_misses(_without_options(annotations), _KNOWN_KEYS),
        ),
        api_group=GROUP,
    )


def _bounds(annotations: dict[str, str], autoscaler: wire.MachineAutoscaler | None) -> Bounds:
    if autoscaler is None:
        return scaling_bounds(annotations, GROUP)
    origin = f"MachineAutoscaler {autoscaler.metadata.namespace}/{autoscaler.metadata.name}"
    return Bounds(autoscaler.spec.min_replicas, autoscaler.spec.max_replicas, origin)


_KNOWN_KEYS = (
    f"{GROUP}/{MIN_SIZE}",
    f"{GROUP}/{MAX_SIZE}",
    *(f"{_OPTION_PREFIX}{name}" for name in OPTIONS),
    *capacity.KEYS,
    *OLD_KEYS,
    owner_evidence.HOLD,
)


def _without_options(annotations: Mapping[str, str]) -> Iterable[str]:
    """All keys except those that were already judged with the options."""
    return (key for key in annotations if not key.startswith(_OPTION_PREFIX))
