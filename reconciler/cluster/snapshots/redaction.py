"""A snapshot that may leave the house: what decisions read stays, everything else goes, pods lose their names.

What is kept of an object is what the reader of snapshots decodes of it, no more: environment, commands, images, volume
sources, addresses and whatever a later release of Kubernetes adds go because nothing reads them. Beyond that only those
annotations stay that size, hold or place something, and a name that tells whose pod it is becomes a number and a hash. The
number keeps the order of the names: ties are broken by name, and the plan must come out the same.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from reconciler.cluster.platform_reading import read_annotations
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing, Object, name_of
from reconciler.cluster.targets.hold_mark import without_reason
from reconciler.cluster.targets.owner_evidence import HOLD, LAST_APPLIED
from reconciler.cluster.values.raw_part import DECODING_ERRORS
from reconciler.cluster.wire.replicas import LastApplied

HIDDEN = "redacted"
_KEPT_ANNOTATIONS = (
    "argocd.argoproj.io/",
    "capacity.cluster-autoscaler.kubernetes.io/",
    "cluster-autoscaler.kubernetes.io/",
    "delay-deletion.cluster-autoscaler.kubernetes.io/",
    "kubernetes.io/config.mirror",
    "meta.helm.sh/",
    "pv.kubernetes.io/",
    "storage.alpha.kubernetes.io/",
    "storageclass.beta.kubernetes.io/",
    "storageclass.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
)
_POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_Prune = Callable[[Any], Any]


def redacted(listings: Iterable[Listing], capi_group: str = "") -> list[Listing]:
    """The same lists with what decisions read. A kind of which nothing is read is left out. The plan of the result is the plan
    of the original, but for names of pods and the words of holds."""
    found = list(listings)
    pods = _pod_names(_items(found, "Pod"))
    claims = _claim_names(_items(found, "PersistentVolumeClaim"), pods)
    intake = Intake(capi_group)
    kept = (*_KEPT_ANNOTATIONS, *read_annotations(capi_group))
    result = []
    for listing in found:
        head = Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], is_list=True)
        read = intake.wire_type(head)
        if read is None:
            continue
        prune = _pruner(read)
        items = [_named(listing.kind, _marked(prune(item), kept), pods, claims) for item in listing.items]
        result.append(msgspec.structs.replace(listing, items=sorted(items, key=name_of)))
    return result


def _items(listings: Iterable[Listing], kind: str) -> Iterable[Object]:
    return (item for listing in listings if listing.kind == kind for item in listing.items)


def _pod_names(pods: Iterable[Object]) -> dict[tuple[str, str], str]:
    """(namespace, name) -> another name, in the same order within the namespace."""
    by_namespace: dict[str, list[str]] = {}
    for namespace, name in sorted(map(name_of, pods)):
        by_namespace.setdefault(namespace, []).append(name)
    return {
        (namespace, name): f"pod-{number:0{len(str(len(names)))}d}-{_hash(f'{namespace}/{name}')}"
        for namespace, names in by_namespace.items()
        for number, name in enumerate(names)
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _claim_names(claims: Iterable[Object], pods: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """The same for claims that were made for one pod: their names begin with the pod's."""
    found = {}
    for item in claims:
        namespace, name = name_of(item)
        owner = next((ref["name"] for ref in item["metadata"].get("ownerReferences") or () if ref.get("kind") == "Pod"), "")
        if (namespace, owner) in pods:
            found[namespace, name] = f"{pods[namespace, owner]}{name.removeprefix(owner)}"
    return found


def _named(kind: str, item: Object, pods: Mapping[tuple[str, str], str], claims: Mapping[tuple[str, str], str]) -> Object:
    """Put the other names where a pod's name stands: on the pod, in its label, on claims made for it and in their volumes."""
    meta = item["metadata"]
    namespace, name = name_of(item)
    if kind == "Pod":
        meta["name"] = pods[namespace, name]
        labels = meta.get("labels")
        if labels and labels.get(_POD_NAME_LABEL) == name:
            meta["labels"] = labels | {_POD_NAME_LABEL: meta["name"]}
    elif kind == "PersistentVolumeClaim":
        meta["name"] = claims.get((namespace, name), name)
        for reference in meta.get("ownerReferences") or ():
            if reference.get("kind") == "Pod":
                reference["name"] = pods.get((namespace, reference["name"]), HIDDEN)
    elif kind == "PersistentVolume":
        holder = item["spec"].get("claimRef") or {}
        key = str(holder.get("namespace", "")), str(holder.get("name", ""))
        if key in claims:
            holder["name"] = claims[key]
    return item


def _marked(item: Object, annotations: tuple[str, ...]) -> Object:
    """Keep the annotations that say something to a decision, and of field sets whether they name replicas."""
    meta = item["metadata"]
    if meta.get("annotations"):
        kept = {key: _annotation(key, text, annotations) for key, text in meta["annotations"].items()}
        meta["annotations"] = {key: text for key, text in kept.items() if text is not None}
    for entry in meta.get("managedFields") or ():
        entry["fieldsV1"] = _field_set(entry.get("fieldsV1"))
    return item


def _annotation(key: str, text: str, annotations: tuple[str, ...]) -> str | None:
    if key == HOLD:
        return without_reason(text, HIDDEN)
    if key == LAST_APPLIED:
        return _last_applied(text)
    return text if key.startswith(annotations) else None


def _last_applied(text: str) -> str:
    """The replicas of a manifest; one that cannot be read stays one, which says that nobody knows."""
    try:
        spec = msgspec.json.decode(text, type=LastApplied).spec
    except DECODING_ERRORS:
        return HIDDEN
    return "{}" if spec is None or spec.replicas is None else f'{{"spec":{{"replicas":{spec.replicas}}}}}'


def _field_set(fields: Any) -> Object:  # noqa: ANN401 - JSON of any form
    spec = (fields if isinstance(fields, dict) else {}).get("f:spec")
    return {"f:spec": {"f:replicas": {}}} if isinstance(spec, dict) and "f:replicas" in spec else {}


@lru_cache(maxsize=256)
def _pruner(kind: Any) -> _Prune:  # noqa: ANN401 - any type that a wire struct names
    """A function that keeps of a decoded JSON value what decoding it as `kind` reads."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct_pruner(kind)
    origin = get_origin(kind)
    if origin is list:
        inner = _pruner(get_args(kind)[0])
        return lambda value: [inner(item) for item in value] if isinstance(value, list) else value
    if origin is UnionType or (origin is not None and origin.__name__ == "Union"):
        structured = [part for part in get_args(kind) if get_origin(part) is list or _is_struct(part)]
        return _pruner(structured[0]) if structured else _kept
    return _kept


def _struct_pruner(kind: type[msgspec.Struct]) -> _Prune:
    fields = {field.encode_name: _kept if field.type is Raw else _pruner(field.type) for field in msgspec.structs.fields(kind)}

    def prune(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
        if not isinstance(value, dict):
            return value
        return {key: fields[key](part) for key, part in value.items() if key in fields}

    return prune


def _is_struct(kind: Any) -> bool:  # noqa: ANN401 - any type
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _kept(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    return value
