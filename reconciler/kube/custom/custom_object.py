"""Our custom resources on an API server, followed as they change."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.reflector import Reflector
from reconciler.kube.watching.stream_state import Phase
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.policy.documents import API_GROUP, API_VERSION
from reconciler.values.decoding import decoder

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
