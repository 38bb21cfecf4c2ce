"""Our custom resources on an API server, followed as they change."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw

from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.reflector import Phase, RealPace, Reflector
from reconciler.policy.clusters import check_alone
from reconciler.policy.documents import API_GROUP, API_VERSION, NodeGroup, NodeGroupPolicy
from reconciler.policy.problems.findings import Findings, Problem, Severity, Source
from reconciler.policy.reading.draft import Draft
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.tree import read_node_group, read_node_group_policy
from reconciler.policy.yaml_nodes import Node, Place
from reconciler.values.decoding import decoder
from reconciler.values.defect import defect_text
from reconciler.values.shown_text import cut

_VERSION = API_VERSION.partition("/")[2]
POLICIES = Collection(group=API_GROUP, kind="NodeGroupPolicy", version=_VERSION, plural="nodegrouppolicies")
GROUPS = Collection(group=API_GROUP, kind="NodeGroup", version=_VERSION, plural="nodegroups")
Key = tuple[str, str]


class CustomObject(msgspec.Struct, frozen=True, kw_only=True):
    """One object. `spec` and `status` are as decoded from JSON; `created` is the instant as the server writes it. `unreadable` is
    why `spec` is None although there is one, with a digest of the object."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    created: str = ""
    labels: Mapping[str, str] = {}
    spec: Any = None
    status: Any = None
    unreadable: str = ""

    @property
    def api_version(self) -> str:
        """The version of all our kinds."""
        return API_VERSION

    @property
    def title(self) -> str:
        """Its name for people: `NodeGroup reconciler/general-a`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def path(self) -> str:
        """The path on the server."""
        collection = msgspec.structs.replace(POLICIES if self.kind == POLICIES.kind else GROUPS, namespace=self.namespace)
        return f"{collection.path}/{self.name}"

    def says(self) -> tuple[object, ...]:
        """The parts that a policy is read from; other changes have no effect."""
        return self.uid, self.generation, self.labels, self.spec


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    labels: dict[str, str] | None = None


class _Item(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: Raw = Raw(b"null")
    status: Raw = Raw(b"null")


_item = decoder(_Item)
MOST_LEVELS = 64
"""The deepest nesting of an object: twice as deep as a policy text may be, and shallow enough for all code that walks over it."""


class CustomStore:
    """The objects of one collection, whatever they contain. Faults are found when they are read as a policy."""

    def __init__(self, collection: Collection) -> None:
        self.objects: dict[Key, CustomObject] = {}
        self._kind = collection.kind

    def __len__(self) -> int:
        return len(self.objects)

    def put(self, item: Raw) -> bool:
        """Whether it has news. A written status does not count as news."""
        read = _item.decode(item)
        meta = read.metadata
        spec, unreadable = _decoded(read.spec)
        custom_object = CustomObject(
            kind=self._kind, name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version,
            generation=meta.generation, created=meta.creation_timestamp or "", labels=meta.labels or {}, spec=spec,
            status=_decoded(read.status)[0],
            unreadable=f"{unreadable} (sha256:{hashlib.sha256(item).hexdigest()})" if unreadable else "",
        )  # fmt: skip
        key = (custom_object.namespace, custom_object.name)
        before = self.objects.get(key)
        self.objects[key] = custom_object
        return before is None or before.says() != custom_object.says()

    def discard(self, item: Raw) -> bool:
        """Whether it was known."""
        meta = _item.decode(item).metadata
        return self.objects.pop((meta.namespace, meta.name), None) is not None


def _decoded(raw: Raw) -> tuple[Any, str]:
    """A part of an object. None, and the reason, if it cannot be walked over: it must not keep others from being read."""
    try:
        value = msgspec.json.decode(raw)
    except DECODING_ERRORS as error:
        return None, finding(error)
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return value, ""
    return None, f"it is nested deeper than {MOST_LEVELS} levels"


def _items(value: Any) -> Iterable[Any]:  # noqa: ANN401 - any JSON
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


class CustomObjects:
    """Follows the policies of a cluster, and its node groups in some namespaces (none named: in all). Start it only once."""

    def __init__(self, api: Api, namespaces: tuple[str, ...] = ()) -> None:
        self._pace = RealPace()
        self._lock = threading.Lock()
        self._changed: Callable[[], None] = lambda: None
        self._progress = threading.Condition()
        self._changes = 0
        self._stopped = False
        groups = [msgspec.structs.replace(GROUPS, namespace=namespace) for namespace in namespaces or ("",)]
        self._reflectors = [
            Reflector(api, collection, CustomStore, pace=self._pace, lock=self._lock, changed=self._notice)
            for collection in (POLICIES, *groups)
        ]
        self._started = False

    def start(self, changed: Callable[[], None] = lambda: None) -> None:
        """Begin to follow; `changed` is called in some thread after every change. A second call only sets another `changed`."""
        self._changed = changed
        if not self._started:
            self._started = True
            for reflector in self._reflectors:
                reflector.start()

    def stop(self, timeout_seconds: float = 5.0) -> bool:
        """Stop following; returns whether every thread has ended."""
        self._changed = lambda: None
        self._pace.stop()
        for reflector in self._reflectors:
            reflector.stop()
        with self._progress:
            self._stopped = True
            self._progress.notify_all()
        ended = [reflector.join(timeout_seconds) for reflector in self._reflectors]
        return all(ended)

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until everything was read once, or is known not to exist; false if the time ran out first."""
        deadline = self._pace.monotonic() + timeout_seconds
        while any(reflector.state().phase is Phase.WAITING for reflector in self._reflectors):
            left = deadline - self._pace.monotonic()
            if left <= 0:
                return False
            with self._progress:
                # A phase may change without a notice.
                self._progress.wait(min(left, 0.2))
        return True

    def settle(self, quiet_seconds: float, most_seconds: float) -> None:
        """Wait until nothing has changed for `quiet_seconds`, but at most `most_seconds`. Objects that are applied or pruned
        together arrive one after the other."""
        end = self._pace.monotonic() + most_seconds
        with self._progress:
            while not self._stopped and (left := end - self._pace.monotonic()) > 0:
                seen = self._changes
                if not self._progress.wait_for(lambda: self._stopped or self._changes != seen, min(quiet_seconds, left)):  # noqa: B023
                    return

    def doubt(self) -> str:
        """Why the known state may be outdated or incomplete; empty if it is not."""
        states = [reflector.state() for reflector in self._reflectors]
        absent = [state.collection for state in states if state.phase is Phase.ABSENT]
        if absent:
            return f"the server does not know the kind {absent[0]} of {API_VERSION}: apply `reconciler schema crds`"
        return next((f"{s.collection}: {s.message or 'not read yet'}" for s in states if s.phase is not Phase.SYNCED), "")

    def all(self) -> tuple[CustomObject, ...]:
        """All known objects, the oldest first: if two exclude each other, the older one wins."""
        with self._lock:
            stores = [reflector.store for reflector in self._reflectors]
            objects = [item for store in stores if isinstance(store, CustomStore) for item in store.objects.values()]
        return tuple(sorted(objects, key=lambda item: (item.created, item.kind, item.namespace, item.name)))

    def _notice(self) -> None:
        with self._progress:
            self._changes += 1
            self._progress.notify_all()
        self._changed()


# A custom resource as a policy text: the form that the reader of files takes, with each value on its own line.
#
# Only the policy's content is written out (identity, labels, spec), so equal policies are equal texts, whatever an API server
# adds. Each line maps to a field, so that problems name fields instead of lines that nobody has seen.

_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


class CustomText(msgspec.Struct, frozen=True):
    """`name` is the object's name for people (`NodeGroup reconciler/general-a`); `fields` has the field path of each line.
    `policy_ref` is the policy that a NodeGroup names, known without parsing it. `unreadable` states why the text is missing."""

    name: str
    text: bytes
    fields: tuple[str, ...]
    policy_ref: str = ""
    unreadable: str = ""

    @staticmethod
    def of(item: CustomObject) -> "CustomText":
        """The text of an object. Never raises: an unreadable object reports itself, and does not affect others."""
        if item.unreadable:
            return _unreadable(item, item.unreadable)
        try:
            return _of(item)
        except Exception as error:
            version = f"uid {item.uid}, generation {item.generation}"
            return _unreadable(item, f"{type(error).__name__}: {cut(str(error))} ({version})")

    @staticmethod
    def again(name: str, text: bytes) -> "CustomText":
        """A text that was kept. Raises ValueError if it is invalid."""
        return _written(name, json.loads(text))

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.name.partition(" ")[0]

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for none."""
        return self.name.partition(" ")[2].rpartition("/")[0]

    def read(self, findings: Findings) -> tuple[Node, Source] | None:
        """Its only document, in the form for the reader of files; None (with a problem) if it is not a readable text."""
        decoded = read_source(self.name, self.text, findings)
        if decoded is None:
            return None
        documents = compose_documents(*decoded, findings)
        return (documents[0], decoded[0]) if documents else None

    def place(self, place: Place) -> Place:
        """The field instead of the line."""
        known = 0 < place.line <= len(self.fields) and self.fields[place.line - 1]
        return Place(f"{self.name} {known}" if known else self.name, 0, 0)


def placed(problem: Problem, texts: Mapping[str, CustomText]) -> Problem:
    """A problem whose places, including those of related objects, name fields of objects."""

    def field(place: Place) -> Place:
        text = texts.get(place.path)
        return text.place(place) if text is not None else place

    related = tuple((field(place), label) for place, label in problem.related)
    return msgspec.structs.replace(problem, place=field(problem.place), related=related, source="", width=1)


def _of(item: CustomObject) -> CustomText:
    metadata: dict[str, object] = {"name": item.name}
    if item.namespace:
        metadata["namespace"] = item.namespace
    if item.labels:
        metadata["labels"] = dict(item.labels)
    return _written(item.title, {"apiVersion": API_VERSION, "kind": item.kind, "metadata": metadata, "spec": item.spec})


def _unreadable(item: CustomObject, why: str) -> CustomText:
    return CustomText(item.title, why.encode("utf-8", "replace"), (), _policy_ref(item.spec), why)


def _policy_ref(spec: object) -> str:
    reference = spec.get("policyRef") if isinstance(spec, dict) else None
    name = reference.get("name") if isinstance(reference, dict) else None
    return name if isinstance(name, str) else ""


def _written(name: str, document: object) -> CustomText:
    lines: list[str] = []
    fields: list[str] = []
    _write(document, "", "", lines, fields)
    spec = document.get("spec") if isinstance(document, dict) else None
    return CustomText(name, "\n".join(lines).encode(), tuple(fields), _policy_ref(spec))


def _write(value: object, head: str, path: str, lines: list[str], fields: list[str]) -> None:
    """`head` precedes the value on its first line."""
    pairs: list[tuple[str, str, object]] = []
    if isinstance(value, dict):
        pairs = [(f"{_scalar(key)}: ", f"{path}.{cut(key)}" if path else cut(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [("", f"{path}[{index}]", item) for index, item in enumerate(value)]
    if not pairs:
        lines.append(head + _scalar(value))
        fields.append(path)
        return
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    lines.append(head + opening)
    fields.append(path)
    for head_of_item, path_of_item, item in pairs:
        _write(item, head_of_item, path_of_item, lines, fields)
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    lines.append(closing)
    fields.append(path)


def _scalar(value: object) -> str:
    # YAML line breaks that are not line breaks in JSON would shift every later line.
    return json.dumps(value, ensure_ascii=False).translate(_BREAKS)


# Custom resources as read documents, each read once while it exists: of a thousand objects, one changes at a time.

D = TypeVar("D", NodeGroup, NodeGroupPolicy)
_Key = tuple[str, bytes]


class ReadDocument(msgspec.Struct, Generic[D], frozen=True):
    """`draft` is None if the text is not a document at all. `document` has the places of the object's fields. `errors` have those
    of lines; they are the object's own faults."""

    draft: Draft[D] | None
    document: D | None
    errors: tuple[Problem, ...]


class CustomReader:
    """Keeps what it has read until `keep` is called without it. Used by one thread at a time."""

    def __init__(self) -> None:
        self._groups: dict[_Key, ReadDocument[NodeGroup]] = {}
        self._policies: dict[_Key, ReadDocument[NodeGroupPolicy]] = {}

    def group(self, text: CustomText) -> ReadDocument[NodeGroup]:
        """A NodeGroup on its own."""
        key = (text.name, text.text)
        if key not in self._groups:
            self._groups[key] = _read(text, read_node_group)
        return self._groups[key]

    def policy(self, text: CustomText) -> ReadDocument[NodeGroupPolicy]:
        """A NodeGroupPolicy on its own."""
        key = (text.name, text.text)
        if key not in self._policies:
            self._policies[key] = _read(text, read_node_group_policy)
        return self._policies[key]

    def keep(self, texts: Iterable[CustomText]) -> None:
        """Forget all others."""
        keys = {(text.name, text.text) for text in texts}
        self._groups = {key: draft for key, draft in self._groups.items() if key in keys}
        self._policies = {key: draft for key, draft in self._policies.items() if key in keys}


def unreadable(text: CustomText, error: Exception) -> Problem:
    """An unforeseen failure, as a problem of the object that caused it. The digest identifies its version."""
    digest = hashlib.sha256(text.text).hexdigest()
    return _custom_reader_unreadable(text, f"{defect_text(error)}: {cut(str(error))} (sha256:{digest})")


def errors(findings: Findings) -> tuple[Problem, ...]:
    """The problems that make a document unusable."""
    return tuple(problem for problem in findings.sorted() if problem.severity is Severity.ERROR)


def _read(text: CustomText, reader: Callable[[Node, Source, Findings], Draft[D]]) -> ReadDocument[D]:
    if text.unreadable:
        return ReadDocument(None, None, (_custom_reader_unreadable(text, text.unreadable),))
    findings = Findings()
    try:
        read = text.read(findings)
        draft = reader(*read, findings) if read is not None else None
        if draft is not None:
            check_alone(draft, findings)
        return ReadDocument(draft, _placed(draft, text), errors(findings))
    except Exception as error:
        # A defect of ours must affect only the object that triggers it.
        return ReadDocument(None, None, (unreadable(text, error),))


def _custom_reader_unreadable(text: CustomText, why: str) -> Problem:
    hint = "use another apiVersion. If this version should be readable, please report it"
    return Problem(place=Place(text.name, 0, 0), code="Unreadable", message=f"cannot read it: {why}", hint=hint)


def _placed(draft: Draft[D] | None, text: CustomText) -> D | None:
    if draft is None:
        return None
    document: D = draft.document
    places = {path: text.place(place) for path, place in document.places.items()}
    return msgspec.structs.replace(document, place=text.place(document.place), places=places)
