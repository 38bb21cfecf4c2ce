"""The objects of one collection in a live view: read like those of a snapshot, one by one, as they change."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Raw

from reconciler.cluster import defects
from reconciler.cluster.platform_reading import is_target, readings
from reconciler.cluster.pods.pod_shaping import ShapeDraft
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.values.object_parts import DECODING_ERRORS, Kept, Key, finding
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import node as node_wire
from reconciler.cluster.wire import pod as wire
from reconciler.cluster.wire.meta import Condition, ObjectMeta
from reconciler.kube.watching.collection import Collection
from reconciler.values.decoding import decoder
from reconciler.values.defect import defect_text

# The pods of a live view: rows as a snapshot reads them, which are added, changed and removed.

# Unused forms are dropped once there are this many more than used ones.
_UNUSED_FORMS = 2000


class LivePods(PodRows):
    """Rows with unique names. `add` replaces the row of a known pod."""

    def __init__(self) -> None:
        super().__init__()
        self._row_of: dict[Key, int] = {}

    def add(self, pod: wire.Pod, source: int) -> None:
        """Add or update a pod. Raises `UnreadableError`, and keeps the old row then."""
        super().add(pod, source)
        key = (pod.metadata.namespace, pod.metadata.name)
        last = len(self._name) - 1
        row = self._row_of.setdefault(key, last)
        if row != last:
            self._move_last(row)
        if len(self._drafts) + len(self._traits) > 2 * (len(self._name) + _UNUSED_FORMS):
            self._forget_unused()

    def discard(self, key: Key) -> None:
        """Forget a pod; an unknown one changes nothing."""
        row = self._row_of.pop(key, None)
        if row is None:
            return
        last = len(self._name) - 1
        if row != last:
            self._row_of[self._namespace[last], self._name[last]] = row
        self._move_last(row)

    def row(self, key: Key) -> tuple[object, ...] | None:
        """Everything that is known of one pod, for a later comparison."""
        row = self._row_of.get(key)
        if row is None:
            return None
        return (self._uid[row], self._draft[row], self._trait[row], *(column[row] for column in self._numbers()))

    def drafts(self, numbers: Iterable[int]) -> list[ShapeDraft]:
        """The drafts behind numbers of `add_template`."""
        return [self._drafts[number] for number in numbers]

    @contextmanager
    def with_templates(self, drafts: Iterable[ShapeDraft]) -> Iterator[list[int]]:
        """Numbers of drafts that belong to no pod. They hold inside the `with`, during which no pod may be added."""
        count = len(self._drafts)
        try:
            yield [self.add_template(draft) for draft in drafts]
        finally:
            del self._drafts[count:]

    def _numbers(self) -> "tuple[array[int], ...]":
        return (self._node, self._nominated, self._phase, self._flags, self._created, self._deleted, self._unschedulable)

    def _move_last(self, row: int) -> None:
        """Put the last row where `row` is, and have one row less."""
        for texts in (self._namespace, self._name, self._uid):
            text = texts.pop()
            if row < len(texts):
                texts[row] = text
        for numbers in (self._draft, self._trait, self._source, *self._numbers()):
            number = numbers.pop()
            if row < len(numbers):
                numbers[row] = number

    def _forget_unused(self) -> None:
        """A Job's pods have labels of their own. Without this, a long-running loop would keep the form of every pod ever seen."""
        used = {number: index for index, number in enumerate(dict.fromkeys(self._draft))}
        self._drafts = [self._drafts[number] for number in used]
        self._draft_numbers = {key: used[number] for key, number in self._draft_numbers.items() if number in used}
        self._draft = array("i", [used[number] for number in self._draft])
        used = {number: index for index, number in enumerate(dict.fromkeys(self._trait))}
        self._traits = [self._traits[number] for number in used]
        self._trait_numbers = {key: used[number] for key, number in self._trait_numbers.items() if number in used}
        self._trait = array("i", [used[number] for number in self._trait])
        used = {number: index for index, number in enumerate(dict.fromkeys([*self._node, *self._nominated])) if number >= 0}
        # Numbers of names continue from 0, wherever -1 was among them.
        used = {number: index for index, number in enumerate(used)}
        self._node_names = [self._node_names[number] for number in used]
        self._node_numbers = {name: index for index, name in enumerate(self._node_names)}
        for column in (self._node, self._nominated):
            column[:] = array("i", [used.get(number, -1) for number in column])
        self._texts = {text: text for text in self._namespace}


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
        by_name = {reading.name: reading for reading in readings()}
        return {
            (reference.group, reference.kind)
            for (name, _, _), kept in self.of_platforms.items()
            for item in kept.values()
            if self.is_target and (reference := by_name[name].referred(item)) is not None
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
