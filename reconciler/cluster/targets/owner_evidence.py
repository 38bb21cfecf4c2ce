"""Everything on an object that tells who decides its `spec.replicas`."""

from collections.abc import Iterable, Mapping

from msgspec import UNSET, UnsetType

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import replicas_fields
from reconciler.cluster.wire.meta import ManagedField, OwnerReference, TargetMeta, api_group
from reconciler.values.decoding import decoder

OWNER_UNKNOWN = "the owner of spec.replicas is unknown"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HOLD = "reconciler.dev/hold"
_ARGO_ID, _ARGO_INSTANCE = "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"
_TOOLS = {
    "kustomize.toolkit.fluxcd.io/name": "flux",
    "helm.toolkit.fluxcd.io/name": "flux",
    "meta.helm.sh/release-name": "helm",
    "kapp.k14s.io/app": "kapp",
    "app.kubernetes.io/managed-by": "managed-by",
}
_PLATFORMS = {
    "cattle.io": "rancher",
    "hypershift.openshift.io": "hypershift",
    "hive.openshift.io": "hive",
    "crossplane.io": "crossplane",
}
"""SOURCE: the metadata that each tool documents. Rancher: `objectset.rio.cattle.io/*`, `rke.cattle.io/*`; HyperShift:
`hypershift.openshift.io/nodePool`; Hive: `hive.openshift.io/managed`."""
_REPLICAS = b'"f:replicas"'
_HOLD_FIELD = f'"f:{HOLD}"'.encode()
_fields = RawPart(replicas_fields.FieldSet, "metadata.managedFields[].fieldsV1")
_last_applied = decoder(replicas_fields.LastApplied)


def evidence(meta: TargetMeta, whole: tuple[str, str] = ("", "")) -> OwnerEvidence:
    """What the metadata of any object with `spec.replicas` say. `whole` are the kind and API group of the object that owns all
    targets of the platform but sizes none of them. `unreadable` says what could not be read; the target has it as a problem, too.
    Never raises."""
    annotations, labels = meta.annotations or {}, meta.labels or {}
    unreadable: list[str] = []
    owners: tuple[FieldOwner, ...] = ()
    last_applied: int | None = None
    try:
        owners = replicas_owners(meta.managed_fields)
        last_applied = last_applied_replicas(annotations)
    except UnreadableError as error:
        unreadable.append(f"{OWNER_UNKNOWN}: {error}")
    return OwnerEvidence(
        # Evidence that cannot be read is no evidence: nobody may conclude from it that the field is free.
        managed_fields_present=bool(meta.managed_fields) and not unreadable,
        owners=owners,
        last_applied_replicas=last_applied,
        applied_without_replicas=True if LAST_APPLIED in annotations and last_applied is None and not unreadable else UNSET,
        tracking=tracking(labels, annotations, meta.owner_references or (), whole),
        controller=controller(meta.owner_references, meta.namespace),
        deleting=meta.deletion_timestamp is not None,
        hold=annotations.get(HOLD, ""),
        hold_by=_hold_by(meta.managed_fields) if HOLD in annotations else UNSET,
        unreadable=tuple(unreadable),
    )


def _hold_by(entries: list[ManagedField] | None) -> str | UnsetType:
    """Which field manager wrote the hold, and when."""
    found = [entry for entry in entries or () if _HOLD_FIELD in bytes(entry.fields_v1)]
    if not found:
        return UNSET
    last = max(found, key=lambda entry: entry.time or "")
    return f"{last.manager} since {last.time}" if last.time else last.manager


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
        raise UnreadableError(f"the annotation {LAST_APPLIED} is not a readable manifest") from None
    return manifest.spec.replicas if manifest.spec else None


def tracking(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    references: Iterable[OwnerReference] = (),
    whole: tuple[str, str] = ("", ""),
) -> tuple[str, ...]:
    """Who manages the object, as `WHO:WHAT`. A tool appears with its own name for the object (`argocd:shop`). A platform that
    sizes it from another object appears with the domain of its keys (`rancher:cattle.io`). An owner that does not control the
    object appears with its kind (`NodePool:a`), except `whole`, as in `evidence`."""
    marks = {**annotations, **labels}
    argo = annotations.get(_ARGO_ID, "").partition(":")[0] or labels.get(_ARGO_INSTANCE)
    trackers = {f"argocd:{argo}"} if argo else set()
    trackers.update(f"{tool}:{marks[key]}" for key, tool in _TOOLS.items() if marks.get(key))
    trackers.update(f"{_PLATFORMS[domain]}:{domain}" for key in marks if (domain := _platform_domain(key)))
    for item in references:
        if not item.controller and (item.kind, api_group(item.api_version)) != whole:
            trackers.add(f"{item.kind}:{item.name}")
    return tuple(sorted(trackers))


def tells_who_keeps(key: str) -> bool:
    """Whether `tracking` reads a label or an annotation of this key."""
    return key in (_ARGO_ID, _ARGO_INSTANCE) or key in _TOOLS or bool(_platform_domain(key))


def without_words_of_others(key: str) -> str:
    """The key with what a platform's user may have put into it hidden: its domain alone tells."""
    domain = _platform_domain(key)
    return f"{domain}/kept" if domain else key


def _platform_domain(key: str) -> str:
    host, slash, _ = key.partition("/")
    return next((domain for domain in _PLATFORMS if slash and f".{host}".endswith(f".{domain}")), "")


def controller(references: list[OwnerReference] | None, namespace: str) -> str:
    """`Kind namespace/name` of the controlling owner, or empty."""
    for item in references or ():
        if item.controller:
            return f"{item.kind} {namespace}/{item.name}"
    return ""
