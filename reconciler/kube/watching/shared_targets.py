"""The objects of platforms on a management cluster, read once for all of its workload clusters and handed out by cluster."""

import threading
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.values.kept_objects import Key
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Collection, Served, nowhere, platform_collections
from reconciler.kube.watching.followed_kinds import FollowedKinds
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.reflector import SILENCE_SECONDS, Reflector
from reconciler.kube.watching.trust import Need, Stream
from reconciler.kube.watching.watch_pace import Pace
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.decoding import decoder

CLUSTER_KIND = "Cluster"


class Part(msgspec.Struct, frozen=True):
    """Whose objects they are: those of one cluster, by namespace and name of its Cluster object. Without a cluster: those of a
    namespace that name none, such as templates. Without a namespace: objects of which that is unknown."""

    namespace: str = ""
    cluster: str = ""


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    cluster_name: str | None = None


class _Routed(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: _Spec | None = None


_routed = decoder(_Routed)


class PartedStore:
    """A store of a `Reflector`: one `ObjectStore` for each part. `unreadable` has what belongs to nobody in particular.

    SOURCE: `spec.clusterName` is required and immutable in MachineDeployment, MachineSet, MachinePool and Machine.
    """

    def __init__(self, collection: Collection, capi_group: str) -> None:
        self.collection = collection
        self.parts: dict[Part, ObjectStore] = {}
        self.unreadable: dict[Key, str] = {}
        self._capi_group = capi_group
        self.uids: dict[Key, str] = {}
        """Of Cluster objects."""
        self._touched: set[Part] = set()
        self._part_of: dict[Key, Part] = {}

    def __len__(self) -> int:
        return len(self._part_of)

    def put(self, item: Raw) -> bool:
        """As `ObjectStore.put`, in the part of the object."""
        try:
            key, part, uid = self._read(item)
        except DECODING_ERRORS as error:
            self.unreadable["", ""] = finding(error)
            self._touched.add(Part())
            return True
        before = self._part_of.get(key)
        if before is not None and before != part:
            self._discard(before, item)
        self._part_of[key] = part
        if uid:
            self.uids[key] = uid
        store = self.parts.get(part)
        if store is None:
            store = self.parts[part] = ObjectStore(self.collection, self._capi_group)
        changed = store.put(item)
        if changed:
            self._touched.add(part)
        return changed

    def discard(self, item: Raw) -> bool:
        """As `ObjectStore.discard`."""
        try:
            key, _, _ = self._read(item)
        except DECODING_ERRORS as error:
            self.unreadable["", ""] = finding(error)
            self._touched.add(Part())
            return True
        self.uids.pop(key, None)
        part = self._part_of.pop(key, None)
        return part is not None and self._discard(part, item)

    def touched(self) -> frozenset[Part]:
        """The parts that changed since the last call. Take the lock."""
        touched, self._touched = frozenset(self._touched), set()
        return touched

    def _discard(self, part: Part, item: Raw) -> bool:
        store = self.parts[part]
        changed = store.discard(item)
        if not len(store) and not store.unreadable:
            del self.parts[part]
        if changed:
            self._touched.add(part)
        return changed

    def _read(self, item: Raw) -> tuple[Key, Part, str]:
        """The object's key and part; its uid where it is a Cluster."""
        read = _routed.decode(item)
        key, named = (read.metadata.namespace, read.metadata.name), read.spec.cluster_name if read.spec is not None else None
        if self.collection.kind == CLUSTER_KIND:
            return key, Part(*key), read.metadata.uid
        return key, Part(read.metadata.namespace, named or ""), ""


class SharedTargets:
    """Follows the management cluster for everybody. `of` gives the streams of one cluster, `clusters` the Cluster objects.

    A thread that follows holds `lock` while an object changes. `on_clusters` is called after a Cluster object changed.
    """

    def __init__(
        self,
        api: Api,
        *,
        served: tuple[Served, ...],
        namespaces: Iterable[str],
        capi_group: str,
        pace: Pace,
        on_clusters: Callable[[], None] = lambda: None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.lock = threading.Lock()
        self._api = api
        self.capi_group = capi_group
        self._pace = pace
        self._on_clusters = on_clusters
        self._silence_seconds = silence_seconds
        self.nowhere = nowhere(served)
        self._listeners: dict[Part, Callable[[], None]] = {}
        self._following = threading.Lock()
        namespaces = tuple(namespaces)
        self._kinds = FollowedKinds(self._reflector, platform_collections(served, namespaces), namespaces)

    def start(self) -> None:
        """Begin to follow; returns at once."""
        self._kinds.start()

    def stop(self) -> None:
        """Ask every stream to end. Stop its pace as well."""
        self._kinds.stop()

    def join(self, left_seconds: Callable[[], float]) -> bool:
        """Wait for the streams to end; whether all have."""
        return self._kinds.join(left_seconds)

    def doubts(self, longest_silence_seconds: float) -> tuple[str, ...]:
        """Why the list of clusters cannot be trusted; empty: it can."""
        kinds = [item for item in self._kinds.targets if item.collection.kind == CLUSTER_KIND]
        return tuple(doubt for item in kinds if (doubt := item.state().doubt(longest_silence_seconds)))

    def clusters(self) -> tuple[ClusterIdentity, ...]:
        """The Cluster objects that were read."""
        whole = Intake(self.capi_group)
        with self.lock:
            for item in self._kinds.targets:
                if item.collection.kind == CLUSTER_KIND:
                    for store in _parts(item).values():
                        store.add_to(whole)
            return assemble(whole, Manifest(captured_seconds=1)).clusters

    def cluster_uids(self) -> dict[Key, str]:
        """The uid of each Cluster object, by namespace and name."""
        found: dict[Key, str] = {}
        with self.lock:
            for item in self._kinds.targets:
                if isinstance(item.store, PartedStore):
                    found |= item.store.uids
        return found

    def of(self, cluster: ClusterIdentity) -> "Callable[[Callable[[], None]], ClusterTargets]":
        """The streams of one cluster, given what to call after a change of its objects."""
        return lambda changed: ClusterTargets(self, Part(cluster.namespace, cluster.name), changed)

    def listen(self, part: Part, changed: Callable[[], None]) -> None:
        """`changed` is called after a change of the part's objects, and of those of its namespace that name no cluster."""
        with self.lock:
            self._listeners[part] = changed

    def unlisten(self, part: Part, changed: Callable[[], None]) -> None:
        """Call it no more. Another one that listens meanwhile stays."""
        with self.lock:
            if self._listeners.get(part) == changed:
                del self._listeners[part]

    def follow_referred(self, part: Part) -> None:
        """Begin to follow the kinds that targets of a cluster refer to and that are not followed yet."""
        with self._following:
            self._kinds.follow(self._referred(part))

    def targets(self) -> tuple[Reflector, ...]:
        """What is followed whatever a target refers to."""
        return tuple(self._kinds.targets)

    def templates_of(self, part: Part) -> tuple[Reflector, ...]:
        """What is followed because targets of this cluster refer to it."""
        return tuple(one for kind in sorted(self._referred(part)) for one in self._kinds.templates.get(kind, ()))

    def _referred(self, part: Part) -> set[tuple[str, str]]:
        with self.lock:
            stores = [store for item in self._kinds.targets if (store := _parts(item).get(part)) is not None]
            return {reference for store in stores for reference in store.referred()}

    def reflectors(self) -> list[Reflector]:
        """Everything that is followed."""
        return self._kinds.reflectors()

    def _reflector(self, collection: Collection) -> Reflector:
        made: list[Reflector] = []
        known: list[object] = [None]

        def changed() -> None:
            store = made[0].store
            # Any object of the old list may be missing from the new one.
            whole, known[0] = store is None or store is not known[0], store
            with self.lock:
                touched = store.touched() if isinstance(store, PartedStore) else frozenset[Part]()
            self._changed(collection, None if whole else touched)

        reflector = Reflector(
            self._api, collection, lambda resolved: PartedStore(resolved, self.capi_group),
            pace=self._pace, lock=self.lock, changed=changed, silence_seconds=self._silence_seconds,
        )  # fmt: skip
        made.append(reflector)
        return reflector

    def _changed(self, collection: Collection, touched: frozenset[Part] | None) -> None:
        """Tell those whose objects changed; None: everybody."""
        with self.lock:
            told = [changed for part, changed in self._listeners.items() if touched is None or _concerns(part, touched)]
        for changed in told:
            changed()
        if collection.kind == CLUSTER_KIND:
            self._on_clusters()


def _concerns(part: Part, touched: frozenset[Part]) -> bool:
    return not touched.isdisjoint({part, Part(part.namespace), Part()})


class ClusterTargets:
    """`TargetStreams` of one cluster among those of `shared`. The streams are everybody's: they go on after `stop`."""

    def __init__(self, shared: SharedTargets, part: Part, changed: Callable[[], None]) -> None:
        self._shared = shared
        self._part = part
        self._everyones = Part(part.namespace)
        self._changed = changed
        self.lock = shared.lock

    def start(self) -> None:  # noqa: D102 - as the protocol says
        self._shared.listen(self._part, self._changed)

    def stop(self) -> None:  # noqa: D102 - as the protocol says
        self._shared.unlisten(self._part, self._changed)

    def join(self, left_seconds: Callable[[], float]) -> bool:  # noqa: D102 - as the protocol says
        return True

    def follow_referred(self) -> None:  # noqa: D102 - as the protocol says
        self._shared.follow_referred(self._part)

    def streams(self) -> Sequence[Stream]:
        """The cluster's own objects, and those of its namespace that name no cluster. An empty store says that the kind was read.
        What cannot be read concerns the cluster that has it. Kinds to which only other clusters refer are left out."""
        templates = [self._stream(one, Need.ASIDE) for one in self._shared.templates_of(self._part)]
        return [*(self._stream(one, Need.AWAITED) for one in self._shared.targets()), *templates]

    def nowhere(self) -> frozenset[str]:  # noqa: D102 - as the protocol says
        return self._shared.nowhere

    def _stores(self, reflector: Reflector) -> list[ObjectStore]:
        store = reflector.store
        if not isinstance(store, PartedStore):
            return []
        own = [one for part in (self._part, self._everyones) if (one := store.parts.get(part)) is not None]
        return own or [ObjectStore(store.collection, self._shared.capi_group)]

    def _stream(self, reflector: Reflector, need: Need) -> Stream:
        with self.lock:
            stores = self._stores(reflector)
            unreadable = {key: why for store in stores for key, why in store.unreadable.items()}
            if isinstance(reflector.store, PartedStore):
                unreadable |= reflector.store.unreadable
        state = reflector.state()
        return Stream(collection=reflector.collection, state=state, stores=tuple(stores), unreadable=unreadable, need=need)


def _parts(reflector: Reflector) -> dict[Part, ObjectStore]:
    return reflector.store.parts if isinstance(reflector.store, PartedStore) else {}
