"""A snapshot that may leave the house: what decisions read stays, typed, and everything else goes.

What is kept of an object are the fields that the reader of snapshots decodes, no more. Of these, numbers, amounts and instants
stay where they are nothing else; words that Kubernetes or the policy use stay (see `Pseudonyms`), as do the names of nodes,
namespaces, targets, machines and classes, which plans and policies call by name, unless they are to be hidden as well; every
other word becomes a pseudonym. Words that a person wrote go. A pod's name becomes a number and a pseudonym: the number keeps the
order of the names, since ties are broken by name and the plan must come out the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from reconciler.cluster.platform_reading import readings
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing, Object, name_of
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, is_instant, is_quantity
from reconciler.cluster.snapshots.read_annotations import read_annotations
from reconciler.cluster.targets.owner_evidence import tells_who_keeps, without_words_of_others
from reconciler.cluster.wire import meta, pod, replicas, workload
from reconciler.cluster.workloads import autoscaler
from reconciler.cluster.workloads.autoscaler import runs_autoscaler
from reconciler.values.whole_number import whole_number

_CALLED_BY_NAME = ("Node", "Namespace", "PriorityClass", "StorageClass", "CSIDriver")
_INSTANTS = frozenset({"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "time"})
_WRITTEN_BY_PEOPLE = frozenset({"message", "failureMessage", "failureReason"})
_TOKENS = frozenset({"providerID", "providerIDList"})
_PARTS: dict[tuple[type, str], Any] = {
    (meta.ManagedField, "fieldsV1"): replicas.FieldSet,
    (replicas.ReplicasField, "f:replicas"): pod.Present,
    (pod.PodMeta, "labels"): dict[str, str],
    (pod.PodMeta, "ownerReferences"): list[meta.OwnerReference],
    (pod.TemplateMeta, "labels"): dict[str, str],
    (pod.ContainerResources, "requests"): pod.Amounts,
    (pod.ContainerResources, "limits"): pod.Amounts,
    (pod.Container, "ports"): list[pod.ContainerPort],
    (pod.Container, "restartPolicyRules"): list[pod.RestartRule],
    (pod.PodSpec, "nodeSelector"): dict[str, str],
    (pod.PodSpec, "affinity"): pod.Affinity,
    (pod.PodSpec, "tolerations"): list[pod.Toleration],
    (pod.PodSpec, "topologySpreadConstraints"): list[pod.SpreadConstraint],
    (pod.PodSpec, "overhead"): pod.Amounts,
    (pod.PodSpec, "resourceClaims"): list[pod.ResourceClaim],
    (pod.ContainerStatus, "allocatedResources"): pod.Amounts,
    (pod.PodStatus, "allocatedResources"): pod.Amounts,
}
"""What the parts that a first decoding leaves as bytes are read as later. One that is missing here is dropped."""
_ATTACHABLE = "attachable-volumes-csi-"
_GONE = object()


def redacted(listings: Iterable[Listing], pseudonyms: Pseudonyms, capi_group: str = "") -> list[Listing]:
    """The same lists with what decisions read. A kind of which nothing is read is left out. The plan of the result is the plan
    of the original, but for names of pods and of what belongs to them, and for the words of holds."""
    found = list(listings)
    words = pseudonyms.add((*_forms(found), *_words())).name(_names(found))
    cleaner = _Cleaner(words, found, capi_group)
    shown_by = {kind.envelope.list_key: kind.shown for one in readings() for kind in one.kinds if kind.envelope is not None}
    intake = Intake(capi_group)
    result = []
    for listing in found:
        head = Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], is_list=True)
        read = intake.wire_type(head)
        if read is None:
            continue
        show = shown_by.get(listing.list_key)
        items = [cleaner.item(listing.kind, read, item) if show is None else show(item, words) for item in listing.items]
        result.append(msgspec.structs.replace(listing, items=sorted(items, key=name_of)))
    return result


def _words() -> Iterator[str]:
    """The kinds of each platform, its group, and what its facts compare."""
    for reading in readings():
        yield from (*reading.words, reading.group, *(kind.kind for kind in reading.kinds))


def _forms(listings: Iterable[Listing]) -> set[str]:
    """Kinds, versions and groups of what is called by name, and words by which a cloud's answers refer to each other."""
    found: set[str] = set()
    of_platforms = [kind for reading in readings() for kind in reading.kinds]
    told = {kind.envelope.list_key: kind.words_of for kind in of_platforms if kind.envelope is not None}
    for listing in listings:
        if listing.list_key in told:
            found |= {word for item in listing.items for word in told[listing.list_key](item)}
        if _called_by_name(listing):
            found |= {listing.kind, listing.api_version, meta.api_group(listing.api_version)}
    return found


def _names(listings: Iterable[Listing]) -> set[str]:
    """Namespaces, and names of what plans and policies call by name."""
    found: set[str] = set()
    for listing in listings:
        if _called_by_name(listing):
            found |= {name_of(item)[1] for item in listing.items}
        found |= {name_of(item)[0] for item in listing.items}
    return found


def _called_by_name(listing: Listing) -> bool:
    of_platforms = [kind for reading in readings() for kind in reading.kinds]
    called = {*_CALLED_BY_NAME, *(kind.kind for kind in of_platforms)}
    return listing.kind in called or listing.kind.endswith(tuple(kind.kind for kind in of_platforms if kind.any_kind_ending_so))


class _Cleaner:
    """Keeps of decoded JSON what decoding it as a wire type reads, word by word."""

    def __init__(self, pseudonyms: Pseudonyms, listings: Iterable[Listing], capi_group: str) -> None:
        self._words = pseudonyms
        self._capi_group = capi_group
        items = {kind: [item for listing in listings if listing.kind == kind for item in listing.items] for kind in _NAMED_HERE}
        self._pods = self._pod_names(items["Pod"])
        self._claims = self._claim_names(items["PersistentVolumeClaim"])

    def item(self, kind: str, read: Any, item: Object) -> Object:  # noqa: ANN401 - a wire type
        """One object of a list."""
        made: Object = self._struct(read, item)
        head: Object = item.get("metadata") or {}
        found: Object = made.get("metadata", {})
        namespace, name = name_of(item)
        if kind == "Pod":
            found["name"] = self._pods[namespace, name]
        elif kind == "PersistentVolumeClaim" and (namespace, name) in self._claims:
            found["name"] = self._claims[namespace, name]
        elif kind == "PersistentVolume":
            self._renamed((item.get("spec") or {}).get("claimRef"), made["spec"].get("claimRef"))
        elif read is workload.Deployment:
            _running(made, item)
        if "annotations" in head:
            given = {str(key): str(text) for key, text in (head["annotations"] or {}).items()}
            found["annotations"] = read_annotations(given, self._words, self._capi_group)
        for reference, shown in zip(head.get("ownerReferences") or (), found.get("ownerReferences") or (), strict=True):
            if shown.get("kind") == "Pod":
                shown["name"] = self._pods.get((namespace, str(reference.get("name"))), shown["name"])
        return made

    def _renamed(self, holder: object, shown: Object | None) -> None:
        if isinstance(holder, dict) and shown is not None:
            key = str(holder.get("namespace", "")), str(holder.get("name", ""))
            shown["name"] = self._claims.get(key, shown.get("name", ""))

    def _pod_names(self, pods: Iterable[Object]) -> dict[tuple[str, str], str]:
        """(namespace, name) -> another name, in the same order within the namespace."""
        by_namespace: dict[str, list[str]] = {}
        for namespace, name in sorted(map(name_of, pods)):
            by_namespace.setdefault(namespace, []).append(name)
        return {
            (namespace, name): f"pod-{number:0{len(str(len(names)))}d}-{self._words.digest(f'{namespace}/{name}')}"
            for namespace, names in by_namespace.items()
            for number, name in enumerate(names)
        }

    def _claim_names(self, claims: Iterable[Object]) -> dict[tuple[str, str], str]:
        """The same for claims that were made for one pod: their names are the pod's and the volume's."""
        found = {}
        for item in claims:
            namespace, name = name_of(item)
            references = item["metadata"].get("ownerReferences") or ()
            owner = next((str(ref.get("name", "")) for ref in references if ref.get("kind") == "Pod"), "")
            if (namespace, owner) in self._pods and name.startswith(f"{owner}-"):
                volume = self._words.word(name.removeprefix(f"{owner}-"))
                found[namespace, name] = f"{self._pods[namespace, owner]}-{volume}"
        return found

    def _clean(self, kind: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - JSON of any form
        """`value` as `kind` under `key`; `_GONE`: it does not stay."""
        if value is None or isinstance(value, bool | int | float):
            return value
        for part in _parts(kind):
            cleaned = self._as(part, value, key)
            if cleaned is not _GONE:
                return cleaned
        return _GONE

    def _as(self, kind: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - JSON of any form
        if isinstance(value, str):
            return self._text(value, key) if kind is str else _GONE
        if isinstance(value, list):
            if get_origin(kind) is not list:
                return _GONE
            cleaned = (self._clean(get_args(kind)[0], item, key) for item in value)
            return [item for item in cleaned if item is not _GONE]
        if get_origin(kind) is dict:
            return self._amounts(value) if kind == pod.Amounts else self._labels(value)
        return self._struct(kind, value) if _is_struct(kind) else _GONE

    def _text(self, text: str, key: str) -> Any:  # noqa: ANN401 - a word or `_GONE`
        if key in _WRITTEN_BY_PEOPLE:
            return _GONE
        if key in _INSTANTS:
            return text if is_instant(text) else _GONE
        if key == "resourceVersion" and whole_number(text) is not None:
            return text
        return self._words.tokens(text) if key in _TOKENS else self._words.word(text)

    def _labels(self, labels: Mapping[str, Any]) -> dict[str, str]:
        return {self._label(key): self._words.value(key, text) for key, text in labels.items() if isinstance(text, str)}

    def _label(self, key: str) -> str:
        word = self._words.word(key)
        return without_words_of_others(key) if word != key and tells_who_keeps(key) else word

    def _amounts(self, amounts: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: amount for key, amount in amounts.items() if isinstance(amount, int | float) or is_quantity(str(amount))}
        return {self._resource(key): amount for key, amount in kept.items()}

    def _resource(self, name: str) -> str:
        driver = name.removeprefix(_ATTACHABLE)
        return name if self._words.word(name) == name else (_ATTACHABLE if driver != name else "") + self._words.word(driver)

    def _struct(self, kind: type[msgspec.Struct], value: Any) -> Any:  # noqa: ANN401 - JSON of any form
        if not isinstance(value, dict):
            return _GONE
        made: Object = {}
        for field in msgspec.structs.fields(kind):
            name = field.encode_name
            if name in value and name != "annotations":
                read = _PARTS.get((kind, name)) if field.type is Raw else field.type
                cleaned = self._clean(read, value[name], name)
                if cleaned is not _GONE:
                    made[name] = cleaned
        key = value.get("key")
        if isinstance(key, str):
            # A taint, a toleration, a requirement: what may stay depends on the key.
            if isinstance(value.get("value"), str):
                made["value"] = self._words.value(key, value["value"])
            if isinstance(value.get("values"), list):
                made["values"] = [self._words.value(key, text) for text in value["values"] if isinstance(text, str)]
        elif "annotations" in value and kind is pod.TemplateMeta:
            given = {str(name): str(text) for name, text in (value["annotations"] or {}).items()}
            made["annotations"] = read_annotations(given, self._words, self._capi_group)
        return made


def _running(made: Object, item: Object) -> None:
    """Of what a Deployment runs it stays whether that is a Cluster Autoscaler."""
    found = msgspec.convert(item, workload.Deployment).containers
    made.get("spec", {}).pop("template", None)
    if any(runs_autoscaler(one.image, one.command or (), one.args or ()) for one in found):
        made["spec"]["template"] = {"spec": {"containers": [{"image": autoscaler.NAME}]}}


_NAMED_HERE = ("Pod", "PersistentVolumeClaim")


def _parts(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type that a wire struct names
    origin = get_origin(kind)
    union = origin is UnionType or (origin is not None and getattr(origin, "__name__", "") == "Union")
    return get_args(kind) if union else (kind,)


def _is_struct(kind: Any) -> bool:  # noqa: ANN401 - any type
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
