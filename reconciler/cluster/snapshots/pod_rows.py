"""Pods in the order of reading, until the whole view is known and they become a table.

A pod costs a few numbers and two strings here, not an object. Shape and traits are looked up by the bytes that they depend on.
Only a new form is decoded and made canonical, so equal pods that are written differently share one shape.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import astuple

from reconciler.cluster.pods.pod import PodPhase, PodShape, PodTraits
from reconciler.cluster.pods.pod_shaping import ShapeDraft, draft_shape
from reconciler.cluster.pods.pod_table import PodTable, phase_code, pod_flags
from reconciler.cluster.pods.traits_reading import local_volume_names, traits
from reconciler.cluster.values.instant import unix_seconds, unix_seconds_or_zero
from reconciler.cluster.values.kept_objects import ContradictionError
from reconciler.cluster.values.release import Release
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import pod as wire
from reconciler.cluster.wire.meta import EMPTY
from reconciler.cluster.world import WorldProblem

_T = TypeVar("_T")

_encode = msgspec.json.Encoder().encode
_NO_SOURCE = astuple(wire.Volume(name=""))[1:]
_NO_VOLUMES: tuple[Sequence[wire.Volume], tuple[str, ...]] = (), ()
_FLAGS = tuple(tuple(pod_flags(ready=ready, gated=gated) for gated in (False, True)) for ready in (False, True))
_PHASE_CODES = {phase.value: phase_code(phase) for phase in PodPhase} | {None: phase_code(PodPhase.PENDING)}


class PodsRead(msgspec.Struct, frozen=True):
    """The pods of a view in canonical order, with `template_shapes` for the drafts that belong to no pod. If nobody knows the
    release, `differ_by_release` pods are judged differently by some."""

    table: PodTable
    shapes: tuple[PodShape, ...]
    traits: tuple[PodTraits, ...]
    template_shapes: tuple[int, ...]
    problems: tuple[WorldProblem, ...]
    differ_by_release: int = 0


class PodRows:
    """Pods in the order of reading. `add` raises `UnreadableError`."""

    def __init__(self) -> None:
        self._draft_numbers: dict[bytes, int] = {}
        self._drafts: list[ShapeDraft] = []
        self._trait_numbers: dict[bytes, int] = {}
        self._traits: list[PodTraits] = []
        self._texts: dict[str, str] = {}
        self._node_numbers: dict[str, int] = {}
        self._node_names: list[str] = []
        self._namespace: list[str] = []
        self._name: list[str] = []
        self._uid: list[str] = []
        self._draft, self._trait, self._node, self._nominated = array("i"), array("i"), array("i"), array("i")
        self._phase, self._flags = array("B"), array("B")
        self._created, self._deleted, self._unschedulable = array("q"), array("q"), array("q")
        self._source = array("q")

    def __len__(self) -> int:
        return len(self._name)

    def add(self, pod: wire.Pod, source: int) -> None:
        """One more pod; `source` is handed back when it contradicts another one."""
        meta, spec, status = pod.metadata, pod.spec, pod.status
        if not meta.name or not meta.namespace:
            raise UnreadableError("metadata.name and metadata.namespace must not be empty")
        phase = _PHASE_CODES.get(status.phase if status else None)
        if phase is None:
            raise UnreadableError(f"status.phase: {status.phase if status else ''!r} is not a phase of a pod")
        ready, unschedulable, resize = _conditions(status)
        placed, local = _volumes(spec.volumes) if spec.volumes else _NO_VOLUMES
        draft = self._draft_of(meta, spec, status, placed, resize)
        trait = self._trait_of(meta, spec, local)
        created = unix_seconds_or_zero(meta.creation_timestamp)
        deleted = unix_seconds(meta.deletion_timestamp) if meta.deletion_timestamp else 0
        nominated = status.nominated_node_name if status else None
        # From here on nothing raises, so that the columns stay equally long.
        self._draft.append(draft)
        self._trait.append(trait)
        self._namespace.append(self._texts.setdefault(meta.namespace, meta.namespace))
        self._name.append(meta.name)
        self._uid.append(meta.uid)
        self._node.append(self._node_number(spec.node_name) if spec.node_name else -1)
        self._nominated.append(self._node_number(nominated) if nominated else -1)
        self._phase.append(phase)
        self._flags.append(_FLAGS[ready][bool(spec.scheduling_gates)])
        self._created.append(created)
        self._deleted.append(deleted)
        self._unschedulable.append(unschedulable)
        self._source.append(source)

    def extend(self, others: "PodRows", first: int) -> None:
        """The pods of other rows behind those that are here, as if each had been added. Their sources count from `first`."""
        of_drafts = [
            self._numbered(key, self._draft_numbers, self._drafts, others._drafts[number])
            for key, number in others._draft_numbers.items()
        ]
        of_traits = [
            self._numbered(key, self._trait_numbers, self._traits, others._traits[number])
            for key, number in others._trait_numbers.items()
        ]
        of_nodes = [*map(self._node_number, others._node_names), -1]
        self._draft.extend(map(of_drafts.__getitem__, others._draft))
        self._trait.extend(map(of_traits.__getitem__, others._trait))
        self._namespace.extend(self._texts.setdefault(text, text) for text in others._namespace)
        self._name.extend(others._name)
        self._uid.extend(others._uid)
        self._node.extend(map(of_nodes.__getitem__, others._node))
        self._nominated.extend(map(of_nodes.__getitem__, others._nominated))
        self._phase.extend(others._phase)
        self._flags.extend(others._flags)
        self._created.extend(others._created)
        self._deleted.extend(others._deleted)
        self._unschedulable.extend(others._unschedulable)
        self._source.extend(first + source for source in others._source)

    @staticmethod
    def _numbered(key: bytes, numbers: dict[bytes, int], forms: list[_T], form: _T) -> int:
        """The number of a form, which is kept if it is new."""
        number = numbers.setdefault(key, len(forms))
        if number == len(forms):
            forms.append(form)
        return number

    def add_template(self, draft: ShapeDraft) -> int:
        """A shape that belongs to no pod (a DaemonSet's); its number in `PodsRead.template_shapes`."""
        self._drafts.append(draft)
        return len(self._drafts) - 1

    def table(
        self,
        nodes: Mapping[str, int],
        priorities: Mapping[str, int],
        templates: tuple[int | ShapeDraft, ...],
        release: Release,
    ) -> PodsRead:
        """All pods in canonical order. `priorities` and `release` settle their drafts. `templates` are drafts, or numbers from
        `add_template`. They count as used in this order, after all pods.

        Raises `ContradictionError` if two rows of one name differ; equal rows count once.
        """
        order = self._order()
        # The API answers in this very order, so that mostly the columns can stay as they are.
        kept = order == list(range(len(self._name)))
        drafts, trait_numbers = self._in_order(self._draft, order, kept=kept), self._in_order(self._trait, order, kept=kept)
        shapes, traits_table = _Interned[PodShape](), _Interned[PodTraits]()
        shape_of, trait_of = [-1] * len(self._drafts), [-1] * len(self._traits)
        problems: list[WorldProblem] = []
        first_row = dict(zip(reversed(drafts), reversed(order), strict=True))
        for draft in dict.fromkeys(drafts):
            shape_of[draft] = shapes.number(self._drafts[draft].settled(priorities, release))
            row = first_row[draft]
            problems.extend(_out_of_range(f"Pod {self._namespace[row]}/{self._name[row]}", self._drafts[draft], release))
        for trait in dict.fromkeys(trait_numbers):
            trait_of[trait] = traits_table.number(self._traits[trait])
        of_templates = [self._drafts[item] if isinstance(item, int) else item for item in templates]
        template_shapes = tuple(shapes.number(draft.settled(priorities, release)) for draft in of_templates)
        node_of = [nodes.get(name, -1) for name in self._node_names] + [-1]
        names = self._in_order(self._node, order, kept=kept)
        node = array("i", map(node_of.__getitem__, names))
        table = PodTable.of_columns(
            namespace=[self._namespace[row] for row in order],
            name=[self._name[row] for row in order],
            uid=[self._uid[row] for row in order],
            shape=array("i", map(shape_of.__getitem__, drafts)),
            traits=array("i", map(trait_of.__getitem__, trait_numbers)),
            node=node,
            nominated=array("i", map(node_of.__getitem__, self._in_order(self._nominated, order, kept=kept))),
            phase=self._in_order(self._phase, order, kept=kept),
            flags=self._in_order(self._flags, order, kept=kept),
            created_seconds=self._in_order(self._created, order, kept=kept),
            deletion_seconds=self._in_order(self._deleted, order, kept=kept),
            unschedulable_seconds=self._in_order(self._unschedulable, order, kept=kept),
            unknown_node=self._unknown(node, names) if -1 in node_of[:-1] else {},
        )
        differ = 0 if release.known else sum(self._drafts[draft].differs_by_release for draft in drafts)
        return PodsRead(table, shapes.values(), traits_table.values(), template_shapes, tuple(problems), differ)

    def _in_order(self, column: "array[int]", order: list[int], *, kept: bool) -> "array[int]":
        """A copy of a column in the order of the table; `kept` says that this is the order of the rows."""
        return column[:] if kept else array(column.typecode, map(column.__getitem__, order))

    def _unknown(self, node: "array[int]", names: "array[int]") -> dict[int, str]:
        """The names of nodes that are not in the view, by pod."""
        pairs = enumerate(zip(node, names, strict=True))
        return {index: self._node_names[name] for index, (number, name) in pairs if number < 0 <= name}

    def _order(self) -> list[int]:
        """Rows by (namespace, name), each name once."""
        keys = list(map("\0".join, zip(self._namespace, self._name, strict=True)))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if len(set(keys)) == len(keys):
            return order
        repeated = [index for index in range(1, len(order)) if keys[order[index]] == keys[order[index - 1]]]
        for index in repeated:
            first, second = order[index - 1], order[index]
            if self._row(first) != self._row(second):
                name = f"{self._namespace[first]}/{self._name[first]}"
                raise ContradictionError(name, self._source[first], self._source[second])
        for index in reversed(repeated):
            del order[index]
        return order

    def _row(self, row: int) -> tuple[object, ...]:
        draft = self._drafts[self._draft[row]]
        numbers = (self._node, self._nominated, self._phase, self._flags, self._created, self._deleted, self._unschedulable)
        return (self._uid[row], draft, self._traits[self._trait[row]], *(column[row] for column in numbers))

    def _draft_of(
        self,
        meta: wire.PodMeta,
        spec: wire.WholePodSpec,
        status: wire.PodStatus | None,
        volumes: Sequence[wire.Volume],
        resize: str | None,
    ) -> int:
        key = _encode(
            (
                meta.namespace,
                meta.labels,
                spec.containers,
                spec.init_containers,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                spec.topology_spread_constraints,
                spec.overhead,
                spec.resources,
                spec.resource_claims,
                spec.priority,
                spec.priority_class_name if spec.priority is None else None,
                spec.scheduler_name,
                spec.host_network,
                spec.host_users,
                volumes,
                meta.name if volumes and any(item.ephemeral for item in volumes) else None,
                _resizing(status, resize) if status and spec.node_name else None,
                status.resource_claim_statuses if status and spec.resource_claims else None,
                spec.not_modelled,
                spec.scheduling_group,
                spec.preemption_policy if spec.scheduling_group else None,
            )
        )
        number = self._draft_numbers.get(key)
        if number is None:
            self._drafts.append(draft_shape(meta.namespace, meta.name, meta.labels, spec, status))
            number = self._draft_numbers[key] = len(self._drafts) - 1
        return number

    def _trait_of(self, meta: wire.PodMeta, spec: wire.PodSpec, local: tuple[str, ...]) -> int:
        key = _encode(
            (
                meta.namespace,
                meta.owner_references,
                meta.annotations,
                spec.restart_policy,
                spec.termination_grace_period_seconds,
                local,
            )
        )
        number = self._trait_numbers.get(key)
        if number is None:
            self._traits.append(traits(meta, spec, local))
            number = self._trait_numbers[key] = len(self._traits) - 1
        return number

    def _node_number(self, name: str) -> int:
        number = self._node_numbers.get(name)
        if number is None:
            number = self._node_numbers[name] = len(self._node_names)
            self._node_names.append(name)
        return number


class _Interned(Generic[_T]):
    """Equal values under one number, numbered in the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[_T, int] = {}

    def number(self, value: _T) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> tuple[_T, ...]:
        return tuple(self._numbers)


def _out_of_range(name: str, draft: ShapeDraft, release: Release) -> list[WorldProblem]:
    problems = draft.requests.by(release.resizes).problems
    return [WorldProblem(code="QuantityOutOfRange", object=name, message=f"the request of {text}") for text in problems]


def _volumes(volumes: Sequence[wire.Volume]) -> tuple[Sequence[wire.Volume], tuple[str, ...]]:
    """Those that may matter to where a pod runs, and the names of those that a drain would empty."""
    # Most have a projected token alone, whose name is another one in each pod.
    known = [item for item in volumes if astuple(item)[1:] != _NO_SOURCE]
    if not known:
        return _NO_VOLUMES
    return [item for item in known if item.ephemeral or item.persistent_volume_claim or _other(item)], local_volume_names(known)


def _other(volume: wire.Volume) -> bool:
    return any((volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.azure_disk, volume.cinder)) or any(
        (volume.vsphere_volume, volume.iscsi, volume.rbd, volume.portworx_volume)
    )


def _resizing(status: wire.PodStatus, pending: str | None) -> tuple[object, ...]:
    return (
        _sized(status.container_statuses),
        _sized(status.init_container_statuses),
        status.resources,
        status.allocated_resources,
        pending,
    )


def _sized(statuses: list[wire.ContainerStatus] | None) -> list[wire.ContainerStatus]:
    return [item for item in statuses or () if item.resources is not None or item.allocated_resources is not EMPTY]


def _conditions(status: wire.PodStatus | None) -> tuple[bool, int, str | None]:
    """Whether the pod is ready, since when the scheduler finds no place for it, and why its resize waits."""
    ready, unschedulable, resizes, resize = False, 0, False, None
    for item in (status.conditions if status else None) or ():
        if item.type == "Ready":
            ready = item.status == "True"
        elif item.type == "PodScheduled":
            if item.status == "False" and item.reason == "Unschedulable":
                unschedulable = unix_seconds(item.last_transition_time) if item.last_transition_time else 0
        elif item.type == "PodResizePending" and not resizes:
            resizes, resize = True, item.reason
    return ready, unschedulable, resize
