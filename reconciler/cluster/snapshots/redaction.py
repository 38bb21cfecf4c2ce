"""A redacted snapshot for other people: fields that decisions read stay, typed, and everything else is removed.

Of each object, only those fields stay that the reader of snapshots decodes. Pure numbers, amounts and instants stay. Words of
Kubernetes or the policy stay (see `Pseudonyms`). Names of nodes, namespaces, targets, machines and classes stay, because plans
and policies use them, unless they are to be hidden. Every other word becomes a pseudonym, and free text is removed. A pod's name
becomes a number and a pseudonym. The number keeps the order of the names: names break ties, and the plan must stay the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from reconciler.cluster.nodes.node import ATTACH_LIMIT
from reconciler.cluster.platform_reading import KindObjects, kind_objects, objects_of, readings
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.listing import Listing, Object, encoder, name_of
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, is_instant
from reconciler.cluster.snapshots.read_annotations import HIDDEN, read_annotations
from reconciler.cluster.targets.owner_evidence import tells_who_keeps, without_words_of_others
from reconciler.cluster.wire import admission, meta, pod, replicas_fields, workload
from reconciler.cluster.wire import capacity_buffer as buffer_wire
from reconciler.cluster.wire import capacity_quota as quota_wire
from reconciler.cluster.wire import pod_group as group_wire
from reconciler.cluster.wire import provisioning_request as request_wire
from reconciler.cluster.workloads import autoscaler
from reconciler.cluster.workloads.autoscaler import runs_autoscaler
from reconciler.cluster.workloads.capacity_buffer import capacity_buffer
from reconciler.cluster.workloads.capacity_quota import capacity_quota
from reconciler.cluster.workloads.pod_group import pod_group
from reconciler.cluster.workloads.pod_quota import QUOTA_REQUESTS, resource_quota
from reconciler.cluster.workloads.provisioning_request import provisioning_request
from reconciler.values.decoding import convert, decode
from reconciler.values.quantity import is_quantity
from reconciler.values.whole_number import whole_number

_CALLED_BY_NAME = ("CapacityBuffer", "CapacityQuota", "Node", "Namespace", "PriorityClass", "StorageClass", "CSIDriver")
_INSTANTS = frozenset({"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "time"})
_QUANTITIES = frozenset({"capacity", "maximumVolumeSize"})
"""Fields of a CSIStorageCapacity. They are texts next to its metadata."""
_WRITTEN_BY_PEOPLE = frozenset({"message", "failureMessage", "failureReason"})
_TOKENS = frozenset({"providerID", "providerIDList"})
NEVER_SHARED = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
"""Kinds that are left out. What selects devices is a program over their attributes, and a pseudonym would break it. Without these
kinds, pods with resource claims stay `NotModelled`."""
_PARTS: dict[tuple[type, str], Any] = {
    (meta.ManagedField, "fieldsV1"): replicas_fields.FieldSet,
    (replicas_fields.ReplicasField, "f:replicas"): pod.Present,
    (buffer_wire.AnsweringManager, "fieldsV1"): buffer_wire.StatusFieldSet,
    (buffer_wire.StatusFields, "f:conditions"): pod.Present,
    (buffer_wire.StatusFields, "f:replicas"): pod.Present,
    (buffer_wire.CapacityBuffer, "spec"): buffer_wire.BufferSpec,
    (buffer_wire.PodTemplateObject, "template"): pod.PodTemplate,
    (request_wire.ProvisioningRequest, "spec"): request_wire.RequestSpec,
    (request_wire.ProvisioningRequest, "status"): request_wire.RequestStatus,
    (group_wire.PodGroup, "spec"): group_wire.PodGroupSpec,
    (workload.ReplicaSpec, "template"): pod.PodTemplate,
    (workload.ReplicationControllerSpec, "template"): pod.PodTemplate,
    (workload.DeploymentSpec, "template"): pod.PodTemplate,
    (workload.JobSpec, "template"): pod.PodTemplate,
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
    (pod.PodStatus, "resourceClaimStatuses"): list[pod.ResourceClaimStatus],
    (quota_wire.CapacityQuota, "spec"): quota_wire.QuotaSpec,
    (admission.LimitRangeItem, "default"): pod.Amounts,
    (admission.LimitRangeItem, "defaultRequest"): pod.Amounts,
    (admission.Overhead, "podFixed"): pod.Amounts,
}
"""What the parts that a first decoding leaves as bytes are read as later. One that is missing here is dropped."""
_OF_PODS = frozenset(pod.WholePodSpec.__struct_encode_fields__)
_GONE = object()


def redacted(listings: Iterable[Listing], pseudonyms: Pseudonyms, capi_group: str = "") -> list[Listing]:
    """The same lists with what decisions read. Kinds that decisions do not read are left out. The result gives the same plan as
    the original, except for the names of pods and their objects and the words of holds."""
    redacted_listings = list(listings)
    words = pseudonyms.add((*_forms(redacted_listings), *_words())).name(_names(redacted_listings))
    cleaner = _Cleaner(words, redacted_listings, capi_group)
    shown_by = {key: kind.shown for key, kind in _of_clouds()}
    intake = Intake(capi_group)
    result = []
    for listing in redacted_listings:
        head = Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], is_list=True)
        read = intake.wire_type(head)
        if read is None or listing.kind in NEVER_SHARED:
            continue
        show = shown_by.get(listing.list_key)
        items = [cleaner.item(listing.kind, read, item) if show is None else show(item, words) for item in listing.items]
        result.append(msgspec.structs.replace(listing, items=sorted(items, key=name_of)))
    return result


def _of_clouds() -> Iterator[tuple[str, KindObjects]]:
    """The clouds' own lists by their keys."""
    for reading in readings():
        for kind in reading.kinds:
            if kind.envelope is not None:
                yield kind.envelope.list_key, kind_objects(reading, kind)


def _words() -> Iterator[str]:
    """The kinds of each platform, its group, and what its facts compare."""
    for reading in readings():
        yield from (*objects_of(reading.name).words, reading.group, *(kind.kind for kind in reading.kinds))


def _forms(listings: Iterable[Listing]) -> set[str]:
    """Kinds, versions and groups of what is called by name, and words by which a cloud's answers refer to each other."""
    forms: set[str] = set()
    words_of = {key: kind.words_of for key, kind in _of_clouds()}
    for listing in listings:
        if listing.list_key in words_of:
            forms |= {word for item in listing.items for word in words_of[listing.list_key](item)}
        if _called_by_name(listing):
            forms |= {listing.kind, listing.api_version, meta.api_group(listing.api_version)}
    return forms


def _names(listings: Iterable[Listing]) -> set[str]:
    """Namespaces, and names of what plans and policies call by name."""
    names: set[str] = set()
    for listing in listings:
        if _called_by_name(listing):
            names |= {name_of(item)[1] for item in listing.items}
        names |= {name_of(item)[0] for item in listing.items}
    return names


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
        metadata: Object = made.get("metadata", {})
        namespace, name = name_of(item)
        if kind == "Pod":
            metadata["name"] = self._pods[namespace, name]
        elif kind == "PersistentVolumeClaim" and (namespace, name) in self._claims:
            metadata["name"] = self._claims[namespace, name]
        elif kind == "PersistentVolume":
            self._renamed((item.get("spec") or {}).get("claimRef"), made["spec"].get("claimRef"))
        elif read is workload.Deployment:
            _running(made, item)
        elif read is quota_wire.CapacityQuota and capacity_quota(decode(encoder.encode(item), quota_wire.CapacityQuota)).problem:
            # Without what nobody understands it would be another quota.
            made.pop("spec", None)
        elif _not_understood(read, item):
            made.pop("spec", None)
        elif read is buffer_wire.ResourceQuota and resource_quota(decode(encoder.encode(item), read)).problem:
            made["spec"] = {"hard": {"cpu": HIDDEN}}
        if "annotations" in head:
            given = {str(key): str(text) for key, text in (head["annotations"] or {}).items()}
            metadata["annotations"] = read_annotations(given, self._words, self._capi_group)
        for reference, shown in zip(head.get("ownerReferences") or (), metadata.get("ownerReferences") or (), strict=True):
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
        names = {}
        for item in claims:
            namespace, name = name_of(item)
            references = item["metadata"].get("ownerReferences") or ()
            owner = next((str(ref.get("name", "")) for ref in references if ref.get("kind") == "Pod"), "")
            if (namespace, owner) in self._pods and name.startswith(f"{owner}-"):
                volume = self._words.word(name.removeprefix(f"{owner}-"))
                names[namespace, name] = f"{self._pods[namespace, owner]}-{volume}"
        return names

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
        if (key == "resourceVersion" and whole_number(text) is not None) or (key in _QUANTITIES and is_quantity(text)):
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
        if self._words.word(name) == name:
            return name
        prefix = next((known for known in (ATTACH_LIMIT, QUOTA_REQUESTS) if name.startswith(known)), "")
        return prefix + self._words.word(name.removeprefix(prefix))

    def _struct(self, kind: type[msgspec.Struct], value: Any) -> Any:  # noqa: ANN401 - JSON of any form
        if not isinstance(value, dict):
            return _GONE
        if kind is pod.SchedulingGroup and value.keys() - {"podGroupName"}:
            return HIDDEN
        made: Object = {}
        for field in msgspec.structs.fields(kind):
            name = field.encode_name
            if name in value and name != "annotations":
                read = _part(kind, name) if field.type is Raw else field.type
                cleaned = self._clean(read, value[name], name)
                if cleaned is not _GONE:
                    made[name] = cleaned
        if kind is pod.WholePodSpec:
            # The name alone says that the pod is not modelled.
            made |= {name: HIDDEN for name in value if name not in _OF_PODS}
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


def _part(kind: type[msgspec.Struct], name: str) -> Any:  # noqa: ANN401 - a wire type
    """What a part of a struct, or of one that it extends, is read as."""
    return next((_PARTS[one, name] for one in kind.__mro__ if (one, name) in _PARTS), None)


def _not_understood(read: Any, item: Object) -> bool:  # noqa: ANN401 - a wire type
    """Whether an object that says who needs room cannot be understood."""
    if read is buffer_wire.CapacityBuffer:
        return bool(capacity_buffer(decode(encoder.encode(item), buffer_wire.CapacityBuffer)).problem)
    if read is request_wire.ProvisioningRequest:
        return bool(provisioning_request(decode(encoder.encode(item), request_wire.ProvisioningRequest)).problem)
    if read is group_wire.PodGroup:
        group = pod_group(decode(encoder.encode(item), group_wire.PodGroup))
        return bool(group.problem or group.not_modelled)
    return False


def _running(made: Object, item: Object) -> None:
    """Of what a Deployment runs it stays whether that is a Cluster Autoscaler."""
    containers = convert((item.get("spec") or {}).get("template") or {}, workload.DeployedTemplate).containers
    if any(runs_autoscaler(one.image, one.command or (), one.args or ()) for one in containers):
        made["spec"]["template"] = {"spec": {"containers": [{"image": autoscaler.NAME}]}}


_NAMED_HERE = ("Pod", "PersistentVolumeClaim")


def _parts(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type that a wire struct names
    origin = get_origin(kind)
    union = origin is UnionType or (origin is not None and getattr(origin, "__name__", "") == "Union")
    return get_args(kind) if union else (kind,)


def _is_struct(kind: Any) -> bool:  # noqa: ANN401 - any type
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
