"""The objects of one collection in a live view: read like those of a snapshot, one by one, as they change."""

import msgspec
from msgspec import Raw

from reconciler.cluster import defects
from reconciler.cluster.platform_reading import is_target, objects_of
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.values.kept_objects import Kept, Key
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import node as node_wire
from reconciler.cluster.wire.meta import Condition, ObjectMeta
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.live_pods import LivePods
from reconciler.values.decoding import decoder
from reconciler.values.defect import defect_text

_PLAIN = (
    "nodes",
    "budgets",
    "priorities",
    "namespaces",
    "volumes",
    "claims",
    "classes",
    "csi_nodes",
    "csi_drivers",
    "capacities",
    "device_classes",
    "resource_slices",
    "resource_claims",
    "claim_templates",
    "quotas",
    "pod_groups",
    "buffers",
    "resource_quotas",
    "attachments",
    "limit_ranges",
    "runtime_classes",
    "requests",
    "services",
    "daemons",
)
_KEYED = ("controllers", "of_platforms", "templates")


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Meta


class _Provider(msgspec.Struct, frozen=True, gc=False):
    provider_id: str = msgspec.field(default="", name="providerID")


class _Heard(msgspec.Struct, frozen=True, gc=False):
    conditions: list[Condition] | None = None


class _NodeCore(msgspec.Struct):
    """What tells whose node it is and whether it is ready."""

    metadata: ObjectMeta
    spec: _Provider = _Provider()
    status: _Heard = _Heard()


class _Where(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Bound(msgspec.Struct, gc=False):
    spec: _Where


_named, _bound, _node_core = decoder(_Named), decoder(_Bound), decoder(_NodeCore)


class ObjectStore(Intake):
    """The objects of one collection. Not thread-safe: take a lock to write while another thread reads.

    `unreadable` has the objects that cannot be read, by name, with the reason. `bound` has the node that such a pod is on. It has
    a Node itself, if the rest of that Node tells whose it is. The Node is then kept, without any room.
    """

    def __init__(self, collection: Collection, capi_group: str = "") -> None:
        super().__init__(capi_group)
        self.collection = collection
        self.pods: LivePods = LivePods()
        self.unreadable: dict[Key, str] = {}
        self.bound: dict[Key, str] = {}
        self._head = Document(
            file=str(collection), api_version=collection.api_version, kind=collection.kind, items=[], is_list=True
        )
        reader = self._reader(self._head)
        if reader is None:
            raise ValueError(f"a World has no collection of kind {collection.kind}")
        self._decoder, self._keep = reader
        self.is_target = is_target(collection.group, collection.kind, capi_group)
        self._is_pods, self._is_nodes = collection.kind == "Pod", collection.kind == "Node"

    def __len__(self) -> int:
        if self._is_pods:
            return len(self.pods)
        return max((len(kept) for kept in self._kept()), default=0)

    def put(self, item: Raw) -> bool:
        """Add or update an object; returns whether it has news that a decision would use."""
        key: Key = ("", "")
        try:
            key = self._key(item)
            decoded = self._decoder.decode(item)
        except DECODING_ERRORS as error:
            return self._cannot_read(key, finding(error), item)
        before = self._known(key)
        try:
            if not self._is_pods:
                self._forget(key)
            self._keep(decoded, 0, self._head)
        except UnreadableError as error:
            return self._cannot_read(key, str(error), item)
        except defects.CAUGHT as error:
            return self._cannot_read(key, defect_text(error), item)
        healed = bool(self.unreadable) and self.unreadable.pop(key, None) is not None
        self.bound.pop(key, None)
        return healed or before is None or before != self._known(key)

    def discard(self, item: Raw) -> bool:
        """Forget an object that was deleted."""
        try:
            key = self._key(item)
        except DECODING_ERRORS as error:
            return self._cannot_read(("", ""), finding(error), item)
        self.unreadable.pop(key, None)
        self.bound.pop(key, None)
        known = self._known(key) is not None
        self._forget(key)
        return known

    def add_to(self, whole: Intake) -> None:
        """Lend everything to `whole`, which must not outlive the lock. Objects from one collection are not copied. DaemonSet pods
        are left to the caller, since their shapes are numbered with those of pods."""
        for name in _PLAIN:
            _lend(getattr(self, name), whole, name)
        for name in _KEYED:
            kept: dict[object, Kept[object]] = getattr(whole, name)
            for key, own in getattr(self, name).items():
                there = kept.get(key)
                kept[key] = own if there is None or not len(there) else _both(there, own)
        whole.captured.add(self.known_as(self._head))
        if self._is_pods:
            whole.pods = self.pods

    def referred(self) -> set[tuple[str, str]]:
        """Group and kind of the objects that its targets refer to and that must be read as well."""
        return {
            (reference.group, reference.kind)
            for (name, _, _), kept in self.of_platforms.items()
            for item in kept.values()
            if self.is_target and (reference := objects_of(name).referred(item)) is not None
        }

    def _key(self, item: Raw) -> Key:
        meta = _named.decode(item).metadata
        return meta.namespace, meta.name

    def _cannot_read(self, key: Key, why: str, item: Raw) -> bool:
        self._forget(key)
        self.unreadable[key] = why
        if self._is_pods:
            try:
                self.bound[key] = _bound.decode(item).spec.node_name
            except DECODING_ERRORS:
                self.bound.pop(key, None)
        elif self._is_nodes:
            self._keep_core(key, item)
        return True

    def _keep_core(self, key: Key, item: Raw) -> None:
        self.bound.pop(key, None)
        try:
            core = _node_core.decode(item)
            self._keep(
                node_wire.Node(
                    metadata=core.metadata,
                    spec=node_wire.NodeSpec(provider_id=core.spec.provider_id),
                    status=node_wire.NodeStatus(conditions=core.status.conditions),
                ),
                0,
                self._head,
            )
        except (UnreadableError, *DECODING_ERRORS):
            return
        self.bound[key] = core.metadata.name

    def _kept(self) -> list[Kept[object]]:
        stores: list[Kept[object]] = [getattr(self, name) for name in _PLAIN if len(getattr(self, name))]
        stores.extend(kept for name in _KEYED for kept in getattr(self, name).values() if len(kept))
        return stores

    def _known(self, key: Key) -> tuple[object, ...] | None:
        """What is stored of an object, None if nothing is."""
        if self._is_pods:
            return self.pods.row(key)
        values = tuple(kept.get(key) for kept in self._kept())
        return values if any(value is not None for value in values) else None

    def _forget(self, key: Key) -> None:
        if self._is_pods:
            self.pods.discard(key)
            return
        for kept in self._kept():
            kept.discard(key)
        if self.daemon_drafts:
            self._forget_daemon(key)

    def _forget_daemon(self, key: Key) -> None:
        if self.daemon_drafts.pop(key, None) is None:
            return
        drafts = self.pods.drafts(self.daemon_drafts.values())
        self.pods = LivePods()
        self.daemon_drafts = {name: self.pods.add_template(draft) for name, draft in zip(self.daemon_drafts, drafts, strict=True)}


def _lend(own: Kept[object], whole: Intake, name: str) -> None:
    if not len(own):
        return
    there: Kept[object] = getattr(whole, name)
    setattr(whole, name, _both(there, own) if len(there) else own)


def _both(one: Kept[object], other: Kept[object]) -> Kept[object]:
    joined: Kept[object] = Kept()
    for kept in (one, other):
        for key, value in kept.by_key().items():
            joined.add(key, value, 0)
    return joined
