"""Machines of OpenShift's Machine API."""

from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.facts.machineset import reference
from reconciler.platforms.openshift.kinds import DELETE_MARKS, GROUP

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
