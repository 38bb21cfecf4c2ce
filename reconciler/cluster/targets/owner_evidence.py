"""Everything on an object that tells who decides its `spec.replicas`."""

import msgspec

from reconciler.cluster.snapshots.unreadable import UnreadableError
from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.raw_part import DECODING_ERRORS, RawPart
from reconciler.cluster.wire import replicas as wire
from reconciler.cluster.wire.meta import ManagedField, OwnerReference, TargetMeta

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HOLD = "reconciler.dev/hold"
_REPLICAS = b'"f:replicas"'
_fields = RawPart(wire.FieldSet, "metadata.managedFields[].fieldsV1")
_last_applied = msgspec.json.Decoder(wire.LastApplied)


def evidence(meta: TargetMeta) -> OwnerEvidence:
    """What the metadata of any object with `spec.replicas` say. `unreadable` says what could not be read, and is a problem of the
    target too; never raises."""
    annotations, labels = meta.annotations or {}, meta.labels or {}
    unreadable: list[str] = []
    owners: tuple[FieldOwner, ...] = ()
    last_applied: int | None = None
    try:
        owners = replicas_owners(meta.managed_fields)
        last_applied = last_applied_replicas(annotations)
    except UnreadableError as error:
        unreadable.append(f"who owns spec.replicas cannot be told: {error}")
    return OwnerEvidence(
        # Evidence that cannot be read is no evidence: nobody may conclude from it that the field is free.
        managed_fields_present=bool(meta.managed_fields) and not unreadable,
        owners=owners,
        last_applied_replicas=last_applied,
        tracking=tracking(labels, annotations),
        controller=controller(meta.owner_references, meta.namespace),
        deleting=meta.deletion_timestamp is not None,
        hold=annotations.get(HOLD, ""),
        unreadable=tuple(unreadable),
    )


def replicas_owners(entries: list[ManagedField] | None) -> tuple[FieldOwner, ...]:
    """The entries that hold `spec.replicas`, sorted. Raises `UnreadableError`."""
    owners: set[FieldOwner] = set()
    for entry in entries or ():
        # Field sets are large, and few of them name replicas at all.
        if _REPLICAS not in bytes(entry.fields_v1):
            continue
        fields = _fields.read(entry.fields_v1)
        if fields is None or fields.spec is None or not bytes(fields.spec.replicas):
            continue
        time = unix_seconds(entry.time) if entry.time else 0
        owners.add(FieldOwner(manager=entry.manager, operation=entry.operation, subresource=entry.subresource, time_seconds=time))
    return tuple(sorted(owners))


def last_applied_replicas(annotations: dict[str, str]) -> int | None:
    """The replicas in a client-side last-applied manifest, or None. Raises `UnreadableError`."""
    text = annotations.get(LAST_APPLIED)
    if text is None:
        return None
    try:
        manifest = _last_applied.decode(text)
    except DECODING_ERRORS:
        raise UnreadableError(f"the annotation {LAST_APPLIED} is no manifest that can be read") from None
    return manifest.spec.replicas if manifest.spec else None


def tracking(labels: dict[str, str], annotations: dict[str, str]) -> tuple[str, ...]:
    """The GitOps and packaging tools that say they keep the object (`argocd:NAME`, `flux:NAME`, `helm:NAME`)."""
    found: set[str] = set()
    argo = annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0] or labels.get("argocd.argoproj.io/instance")
    if argo:
        found.add(f"argocd:{argo}")
    for key in ("kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"):
        if labels.get(key):
            found.add(f"flux:{labels[key]}")
    release = annotations.get("meta.helm.sh/release-name")
    if release:
        found.add(f"helm:{release}")
    return tuple(sorted(found))


def controller(references: list[OwnerReference] | None, namespace: str) -> str:
    """`Kind namespace/name` of the controlling owner, or empty."""
    for item in references or ():
        if item.controller:
            return f"{item.kind} {namespace}/{item.name}"
    return ""
