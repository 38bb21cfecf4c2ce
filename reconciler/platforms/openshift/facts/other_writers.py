"""Who else sizes a MachineSet, apart from field managers: autoscalers, a hub, another API."""

from collections.abc import Collection, Mapping

from reconciler.cluster.target import OtherWriter
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.kinds import AUTOSCALING_GROUP, GROUP, MACHINE_AUTOSCALER, TWIN

AUTOSCALER_MARK = "autoscaling.openshift.io/machineautoscaler"
HIVE_LABELS = ("hive.openshift.io/machine-pool", "hive.openshift.io/managed")
ROLE = f"{GROUP}/cluster-api-machine-role"
_OURS, _MIGRATION = "MachineAPI", "a migration between two APIs"


def unseen(captured: Collection[str]) -> str:
    """Which evidence of other writers was not captured; empty if all of it was. Other evidence is on the set itself."""
    if MACHINE_AUTOSCALER in captured:
        return ""
    return (
        "MachineAutoscaler was not captured, so it is unknown whether OpenShift's autoscaler sizes it: put the output of "
        f"`oc get machineautoscalers.{AUTOSCALING_GROUP} -A -o json` into the snapshot"
    )


def writers(item: wire.MachineSet, autoscaler: wire.MachineAutoscaler | None) -> tuple[OtherWriter, ...]:
    """All other writers. If there are none, only a manager of its fields may size it."""
    candidates = (_other_api(item), _autoscaled(item, autoscaler), _hub(item), _control_plane(item))
    return tuple(one for one in candidates if one is not None)


def _autoscaled(item: wire.MachineSet, autoscaler: wire.MachineAutoscaler | None) -> OtherWriter | None:
    if autoscaler is not None:
        meta, spec = autoscaler.metadata, autoscaler.spec
        name = f"MachineAutoscaler {meta.namespace}/{meta.name}"
        return OtherWriter(by=name, evidence=f"{name} sizes it between {spec.min_replicas} and {spec.max_replicas}")
    marked = (item.metadata.annotations or {}).get(AUTOSCALER_MARK, "")
    if marked:
        return OtherWriter(by=f"MachineAutoscaler {marked}", evidence=f"annotation {AUTOSCALER_MARK}: {marked}")
    return None


def _hub(item: wire.MachineSet) -> OtherWriter | None:
    labels: Mapping[str, str] = item.metadata.labels or {}
    label = next((f"label {key}: {labels[key]}" for key in HIVE_LABELS if key in labels), "")
    return OtherWriter(by="Hive", evidence=f"{label}: its hub resets replicas") if label else None


def _control_plane(item: wire.MachineSet) -> OtherWriter | None:
    template = item.spec.template.metadata
    role = ((template.labels if template else None) or {}).get(ROLE, "")
    if role not in ("master", "control-plane"):
        return None
    return OtherWriter(by="the control plane", evidence=f"its Machines have {ROLE}: {role}")


def _other_api(item: wire.MachineSet) -> OtherWriter | None:
    """SOURCE: openshift/cluster-capi-operator. Two APIs may hold one machine, and `status.authoritativeAPI` names the one that
    decides. Without the field there is one API. During a migration nobody writes."""
    status = item.status or wire.MachineSetStatus()
    wanted, there = item.spec.authoritative_api, status.authoritative_api
    if not wanted and not there:
        return None
    evidence = f"spec.authoritativeAPI is {wanted or 'unset'}, status.authoritativeAPI is {there or 'unset'}"
    if wanted != there or there == "Migrating":
        return OtherWriter(by=_MIGRATION, evidence=evidence)
    if there != _OURS:
        return OtherWriter(by=TWIN, evidence=evidence)
    condition = next((one for one in status.conditions or () if one.type == "Synchronized"), None)
    if condition is not None and condition.status != "True":
        why = f"condition Synchronized is {condition.status}: {condition.message}"
        return OtherWriter(by=_MIGRATION, evidence=f"{evidence}, {why}")
    if status.synchronized_generation and status.synchronized_generation < item.metadata.generation:
        return OtherWriter(by=_MIGRATION, evidence=f"{evidence}, generation {item.metadata.generation} is not synchronized yet")
    return None
