"""Our custom resources as an API server has them, followed as they change."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.values.raw_part import DECODING_ERRORS, finding
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.pace import RealPace
from reconciler.kube.watching.reflector import Reflector
from reconciler.kube.watching.stream_state import Phase
from reconciler.policy.documents import API_GROUP, API_VERSION

_VERSION = API_VERSION.partition("/")[2]
POLICIES = Collection(group=API_GROUP, kind="NodeGroupPolicy", version=_VERSION, plural="nodegrouppolicies")
GROUPS = Collection(group=API_GROUP, kind="NodeGroup", version=_VERSION, plural="nodegroups")
Key = tuple[str, str]


class CustomObject(msgspec.Struct, frozen=True, kw_only=True):
    """One object. `spec` and `status` are as decoded from JSON; `created` is the instant as the server writes it.
    `unreadable` is why `spec` is None although one was written, with a digest of the object."""

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
    def title(self) -> str:
        """What people call it: `NodeGroup reconciler/general-a`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def path(self) -> str:
        """Where the server keeps it."""
        collection = msgspec.structs.replace(POLICIES if self.kind == POLICIES.kind else GROUPS, namespace=self.namespace)
        return f"{collection.path}/{self.name}"

    def says(self) -> tuple[object, ...]:
        """What a policy is read from: the rest may change without any effect."""
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


_item = msgspec.json.Decoder(_Item)
MOST_LEVELS = 64
"""Of what an object says: twice as many as a policy text may have, and few enough for whatever walks over it."""


class CustomStore:
    """The objects of one collection, whatever they say: what is wrong with them is found when they are read as a policy."""

    def __init__(self, collection: Collection) -> None:
        self.unreadable: dict[Key, str] = {}
        self.objects: dict[Key, CustomObject] = {}
        self._kind = collection.kind

    def __len__(self) -> int:
        return len(self.objects)

    def put(self, item: Raw) -> bool:
        """Whether it says something new; a status that was written is nothing new."""
        read = _item.decode(item)
        meta = read.metadata
        spec, unreadable = _said(read.spec)
        found = CustomObject(
            kind=self._kind, name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version,
            generation=meta.generation, created=meta.creation_timestamp or "", labels=meta.labels or {}, spec=spec,
            status=_said(read.status)[0],
            unreadable=f"{unreadable} (sha256:{hashlib.sha256(item).hexdigest()})" if unreadable else "",
        )  # fmt: skip
        key = (found.namespace, found.name)
        before = self.objects.get(key)
        self.objects[key] = found
        return before is None or before.says() != found.says()

    def discard(self, item: Raw) -> bool:
        """Whether it was known."""
        meta = _item.decode(item).metadata
        return self.objects.pop((meta.namespace, meta.name), None) is not None


def _said(raw: Raw) -> tuple[Any, str]:
    """A part of an object; None and why where it is none that can be walked over: it must not keep others from being read."""
    try:
        value = msgspec.json.decode(raw)
    except DECODING_ERRORS as error:
        return None, finding(error)
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return value, ""
    return None, f"it has more than {MOST_LEVELS} levels inside each other"


def _items(value: Any) -> Iterable[Any]:  # noqa: ANN401 - any JSON
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


class CustomObjects:
    """Follows the policies of a cluster, and its node groups in some namespaces (none named: in all). Made once, started once."""

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
        """Begin to follow; `changed` is called in some thread after every change. A second call only names another one."""
        self._changed = changed
        if not self._started:
            self._started = True
            for reflector in self._reflectors:
                reflector.start()

    def stop(self, timeout_seconds: float = 5.0) -> bool:
        """Follow no more; whether every thread has ended."""
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
        """Wait until everything was read once, or is known not to be there; false when the time ran out first."""
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
        """Wait until nothing has changed for so long, and no longer than that: what is applied or pruned together is seen one
        object after the other."""
        end = self._pace.monotonic() + most_seconds
        with self._progress:
            while not self._stopped and (left := end - self._pace.monotonic()) > 0:
                seen = self._changes
                if not self._progress.wait_for(lambda: self._stopped or self._changes != seen, min(quiet_seconds, left)):  # noqa: B023
                    return

    def doubt(self) -> str:
        """Why what is known may not be what is there; empty when it is."""
        states = [reflector.state() for reflector in self._reflectors]
        absent = [state.collection for state in states if state.phase is Phase.ABSENT]
        if absent:
            return f"the server knows no {absent[0]} of {API_VERSION}: apply what `reconciler schema crds` prints"
        return next((f"{s.collection}: {s.message or 'not read yet'}" for s in states if s.phase is not Phase.SYNCED), "")

    def all(self) -> tuple[CustomObject, ...]:
        """Everything that is known, the oldest first: of two that exclude each other the older one stands."""
        with self._lock:
            stores = [reflector.store for reflector in self._reflectors]
            found = [item for store in stores if isinstance(store, CustomStore) for item in store.objects.values()]
        return tuple(sorted(found, key=lambda item: (item.created, item.kind, item.namespace, item.name)))

    def _notice(self) -> None:
        with self._progress:
            self._changes += 1
            self._progress.notify_all()
        self._changed()
