"""Machines from the API, and the instances of pools without Machines."""

from collections.abc import Iterable, Mapping

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.targets.machine_rows import normalized_provider_id
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL

# SOURCE: Cluster API 1.14, `setMachinePhaseAndLastUpdated`: the phase says how far a Machine is. The provider tries again what a
# condition reports in these phases (bare metal: no host is free yet). The Machine has until `maxNodeProvisionTime`.
_BEING_MADE = ("Pending", "Provisioning", "Provisioned")
# SOURCE: Cluster API 1.12 (`machine_types.go`): the condition is True during an update in place. The owner of the Machine sets
# the annotations before: the second while it moves to another MachineSet, the first once the update has begun.
_UPDATING = "Updating"
_UPDATES = tuple(
    f"in-place-updates.internal.cluster.x-k8s.io/{name}" for name in ("update-in-progress", "pending-acknowledge-move")
)
_STEPS = ("InfrastructureReady", "BootstrapReady", "BootstrapConfigReady")


def machine(item: wire.Machine, view: ClusterApiView) -> Machine:
    """One Machine with its target. Raises `UnreadableError`."""
    meta, spec, status = item.metadata, item.spec, item.status or wire.MachineStatus()
    node = status.node_ref.name if status.node_ref else ""
    terminal, error = _terminal_error(status), _condition_error(status, has_node=bool(node))
    waits = status.phase in _BEING_MADE
    return Machine(
        namespace=meta.namespace,
        name=meta.name,
        target=view.target_of(meta.owner_references, meta.labels or {}, meta.namespace),
        node=node,
        provider_id=spec.provider_id or "",
        created_seconds=unix_seconds_or_zero(meta.creation_timestamp),
        deleting=meta.deletion_timestamp is not None,
        delete_marked=f"{view.group}/delete-machine" in (meta.annotations or {}),
        failed=terminal or ("" if waits else error),
        last_error=error if waits and not terminal else "",
        phase=status.phase,
        zone=status.failure_domain or spec.failure_domain or "",
        updating=_updating(meta.annotations or {}, status),
    )


def _updating(annotations: Mapping[str, str], status: wire.MachineStatus) -> bool:
    begun = any(name in annotations for name in _UPDATES)
    return begun or any(item.type == _UPDATING and item.status == "True" for item in status.conditions or ())


def pool_instances(item: wire.Scalable, nodes: Iterable[Node]) -> list[Machine]:
    """One row per instance of a MachinePool without Machines: its node references and then the remaining provider ids."""
    meta = item.metadata
    target = TargetRef(kind=MACHINE_POOL, namespace=meta.namespace, name=meta.name)
    by_name = {node.name: node for node in nodes}
    rows: list[Machine] = []
    seen: set[str] = set()
    for reference in (item.status.node_refs if item.status else None) or ():
        node = by_name.get(reference.name)
        provider_id = node.provider_id if node else ""
        seen.add(provider_id)
        rows.append(
            Machine(namespace=meta.namespace, name=reference.name, target=target, node=reference.name, provider_id=provider_id)
        )
    rows.extend(
        Machine(namespace=meta.namespace, name=normalized_provider_id(provider_id), target=target, provider_id=provider_id)
        for provider_id in sorted(set(item.spec.provider_ids or ()) - seen)
    )
    return rows


def _terminal_error(status: wire.MachineStatus) -> str:
    """Why the provider has given the Machine up, in its own words, or empty.

    SOURCE: the contract of infrastructure providers: `failureReason` and `failureMessage` report a problem that needs a person.
    v1beta2 keeps them as deprecated. The phase does not repeat it: since v1beta2 no phase is Failed.
    """
    old = (status.deprecated.v1beta1 if status.deprecated else None) or wire.OldStatus()
    for source in (status, old):
        words = [text for text in (source.failure_reason, source.failure_message) if text]
        if words:
            return ": ".join(words)
    return ""


def _condition_error(status: wire.MachineStatus, *, has_node: bool) -> str:
    """What the conditions report as gone wrong, in their own words, or empty.

    A step is False, with severity Error or a reason of failure, while the Machine has no node.
    """
    old = (status.deprecated.v1beta1 if status.deprecated else None) or wire.OldStatus()
    conditions = [*(status.conditions or ()), *(old.conditions or ())]
    if status.phase == "Failed":
        condition = next((item for item in conditions if item.status == "False" and item.message), None)
        return f"{condition.reason}: {condition.message}" if condition else "phase Failed"
    if has_node:
        return ""
    for item in conditions:
        # Cluster API writes InternalError if it could not read the object: nothing has failed yet.
        failing = item.reason.endswith(("Failed", "Error")) and item.reason != "InternalError"
        broken = item.severity == "Error" or failing
        if item.type in _STEPS and item.status == "False" and broken:
            return ": ".join(text for text in (item.reason, item.message) if text)
    return ""
