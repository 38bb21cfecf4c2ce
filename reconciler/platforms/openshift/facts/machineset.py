"""MachineSets of OpenShift's Machine API as targets."""

from collections.abc import Iterable, Mapping

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.targets import capacity, owner_evidence
from reconciler.cluster.targets.size_annotations import (
    MAX_SIZE,
    MIN_SIZE,
    OPTIONS,
    Bounds,
    near_misses,
    read_options,
    scaling_bounds,
)
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.facts.other_writers import writers
from reconciler.platforms.openshift.facts.shape import OLD_KEYS, template
from reconciler.platforms.openshift.kinds import GROUP, MACHINE_SET

# Why no node of a set may be removed now, whatever runs on it.

_CONFIG = "machineconfiguration.openshift.io/"


def failed_beside(names: Iterable[str]) -> str:
    """A Failed Machine ties with one that is marked for deletion. SOURCE: measured on the controller of MachineSets: it
    deletes the one with the earlier name (12 of 12 runs). That may be either."""
    machines = sorted(names)
    if not machines:
        return ""
    named = ", ".join(machines[:3]) + (f" and {len(machines) - 3} more" if len(machines) > 3 else "")
    return f"Machine {named} failed and could go instead of the chosen one. Delete the failed Machine first"


def updated_beside(nodes: Iterable[Node]) -> str:
    """The machine config operator cordons, drains and restarts one node after the other. No second one is removed meanwhile.

    SOURCE: the annotations of the operator's daemon. A node is done if its current config is the desired one, the
    last requested drain was done, and its state is Done.
    """
    for node in nodes:
        annotations = dict(node.annotations)
        state = annotations.get(f"{_CONFIG}state", "")
        config = [annotations.get(f"{_CONFIG}{name}", "") for name in ("currentConfig", "desiredConfig")]
        drain = [annotations.get(f"{_CONFIG}{name}", "") for name in ("lastAppliedDrain", "desiredDrain")]
        if config[0] != config[1] or drain[0] != drain[1] or state not in ("", "Done"):
            return f"the machine config operator is updating node {node.name} of the same role (state {state or 'unset'})"
    return ""


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


# Machines of OpenShift's Machine API.

# Its controllers read both spellings; the Cluster Autoscaler writes both.
DELETE_MARKS = (f"{GROUP}/delete-machine", f"{GROUP}/cluster-api-delete-machine")
_ZONE = f"{GROUP}/zone"
_BEING_MADE = ("Provisioning", "Provisioned")


def machine(item: wire.Machine) -> Machine:
    """One Machine with its target. Raises `UnreadableError`."""
    meta, status = item.metadata, item.status or wire.MachineStatus()
    annotations = meta.annotations or {}
    return Machine(
        namespace=meta.namespace,
        name=meta.name,
        target=target_of(item),
        node=status.node_ref.name if status.node_ref else "",
        provider_id=item.spec.provider_id or "",
        created_seconds=unix_seconds_or_zero(meta.creation_timestamp),
        deleting=meta.deletion_timestamp is not None,
        delete_marked=any(key in annotations for key in DELETE_MARKS),
        failed=failure(item),
        last_error=_error(status) if status.phase in _BEING_MADE else "",
        phase=_phase(item),
        zone=(meta.labels or {}).get(_ZONE, ""),
    )


def target_of(item: wire.Machine) -> TargetRef | None:
    """The set that sizes it; None for a Machine of the control plane, which no set sizes."""
    owner = next((one for one in item.metadata.owner_references or () if one.controller), None)
    if owner is None or owner.kind != "MachineSet" or not owner.api_version.startswith(f"{GROUP}/"):
        return None
    return reference(item.metadata.namespace, owner.name)


def failure(item: wire.Machine) -> str:
    """Why it never becomes a node, or no longer is one. Failed is final: its controller does not look at it again.

    SOURCE: machine-api-operator. A Machine that is still being made keeps the last error of its provider. The provider tries
    again until the phase is Failed (bare metal: no host is free yet).
    """
    status = item.status or wire.MachineStatus()
    if status.phase in _BEING_MADE:
        return ""
    return _error(status) or ("phase Failed" if status.phase == "Failed" else "")


def _error(status: wire.MachineStatus) -> str:
    return ": ".join(text for text in (status.error_reason, status.error_message) if text)


def _phase(item: wire.Machine) -> str:
    """The phase, with what keeps a Machine that is being deleted, maybe for days."""
    phase = (item.status.phase if item.status else None) or ""
    if item.metadata.deletion_timestamp is None or item.spec.lifecycle_hooks is None:
        return phase
    hooks = [*(item.spec.lifecycle_hooks.pre_drain or ()), *(item.spec.lifecycle_hooks.pre_terminate or ())]
    return f"{phase}, kept by lifecycle hook {hooks[0].name} of {hooks[0].owner}" if hooks else phase
