"""Objects as they are read, document by document, until all are there and can become a World."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from reconciler.cluster import defects
from reconciler.cluster.devices.device_class import DeviceClass, device_class
from reconciler.cluster.devices.resource_claim import ClaimTemplate, ResourceClaim, claim_template, resource_claim
from reconciler.cluster.devices.resource_slice import ResourceSlice, resource_slice
from reconciler.cluster.nodes.attachment import (
    CsiDriver,
    StorageCapacity,
    VolumeAttachment,
    csi_driver,
    storage_capacity,
    volume_attachment,
)
from reconciler.cluster.nodes.node_rows import NodeRead, read_node
from reconciler.cluster.platform_reading import PlatformReading, WireKind, kind_objects, read_annotations, readings
from reconciler.cluster.pods.pod_shaping import daemon_draft
from reconciler.cluster.snapshots.apart import Apart
from reconciler.cluster.snapshots.buffer_pods import StatedTemplate
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.newest_instant import Newest
from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.snapshots.sources import Sources
from reconciler.cluster.unread import Unread
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.values.kept_objects import ContradictionError, Kept, Key
from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart, finding
from reconciler.cluster.values.selection import label_pairs, label_selector
from reconciler.cluster.values.unreadable import SeveralError, SnapshotError, UnreadableError
from reconciler.cluster.volume import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    claim,
    csi_node,
    persistent_volume,
    storage_class,
)
from reconciler.cluster.wire import admission, attachment, device_claims, meta, node, pod, volume, workload
from reconciler.cluster.wire import capacity_buffer as buffer_wire
from reconciler.cluster.wire import capacity_quota as quota_wire
from reconciler.cluster.wire import devices as device_wire
from reconciler.cluster.wire import pod_group as group_wire
from reconciler.cluster.wire import provisioning_request as request_wire
from reconciler.cluster.wire.pod_decoding import PodDecoder
from reconciler.cluster.workloads.autoscaler import runs_autoscaler
from reconciler.cluster.workloads.capacity_buffer import BUFFER, CapacityBuffer, capacity_buffer
from reconciler.cluster.workloads.capacity_quota import CapacityQuota, capacity_quota
from reconciler.cluster.workloads.pod_group import POD_GROUP, PodGroup, pod_group
from reconciler.cluster.workloads.pod_quota import ResourceQuota, resource_quota
from reconciler.cluster.workloads.provisioning_request import REQUEST, ProvisioningRequest, provisioning_request
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget, Service
from reconciler.cluster.workloads.workload_rows import controller, disruption_budget, service
from reconciler.values.decoding import decoder
from reconciler.values.defect import defect_text
from reconciler.values.label_selector import LabelSelector
from reconciler.values.later import Later

if TYPE_CHECKING:
    from reconciler.cluster.snapshots import pods_apart
else:
    pods_apart = Later("reconciler.cluster.snapshots.pods_apart")

MANY_PODS = 20_000
"""Reading so many takes ten times as long as another process needs to start and to hand back its half."""
_MANAGEMENT = "management/"
_MOST_ERRORS = 50
DEVICES = frozenset({"ResourceSlice", "ResourceClaim", "ResourceClaimTemplate"})
_DEVICE_VERSIONS = frozenset({"resource.k8s.io/v1", "resource.k8s.io/v1beta2"})
"""Versions in which slices, claims and templates have the same form. Older ones are skipped: the kind counts as not captured."""
_REPLICATED = (("apps", "ReplicaSet"), ("apps", "StatefulSet"))
_APART = frozenset(
    {"PodDisruptionBudget", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "Service", BUFFER, REQUEST, POD_GROUP}
)
_deployed = RawPart(workload.DeployedTemplate, "spec.template")
_Reader = tuple[msgspec.json.Decoder[Any] | PodDecoder, Callable[[Any, int, Document], None]]


class Intake:
    """All that was read so far. `read` raises `SnapshotError`, for several items `SeveralError`; `close` checks what
    only the whole can show.

    `capi_group` is the API group that an operator gave Cluster API (empty: its own). `apart` reads half of many pods.
    """

    def __init__(self, capi_group: str = "", apart: Apart | None = None) -> None:
        self.capi_group = capi_group
        self._apart = apart
        self.sources = Sources()
        self.pods = PodRows()
        self.nodes = Kept[NodeRead]()
        self.budgets = Kept[DisruptionBudget]()
        self.controllers: dict[tuple[str, str], Kept[Controller]] = {}
        self.services = Kept[Service]()
        self.daemons = Kept[pod.PodTemplate]()
        self.daemon_drafts: dict[Key, int] = {}
        self.priorities = Kept[workload.PriorityClass]()
        self.namespaces = Kept[tuple[tuple[str, str], ...]]()
        self.volumes = Kept[PersistentVolume]()
        self.claims = Kept[PersistentVolumeClaim]()
        self.classes = Kept[StorageClass]()
        self.csi_nodes = Kept[CsiNode]()
        self.csi_drivers = Kept[CsiDriver]()
        self.capacities = Kept[StorageCapacity]()
        self.device_classes = Kept[DeviceClass]()
        self.resource_slices = Kept[ResourceSlice]()
        self.resource_claims = Kept[ResourceClaim]()
        self.claim_templates = Kept[ClaimTemplate]()
        self.quotas = Kept[CapacityQuota]()
        self.pod_groups = Kept[PodGroup]()
        self.buffers = Kept[CapacityBuffer]()
        self.resource_quotas = Kept[ResourceQuota]()
        self.templates: dict[tuple[str, str], Kept[StatedTemplate]] = {}
        """Pod templates by API group and kind of the object that has one, for buffers that refer to it."""
        self.attachments = Kept[VolumeAttachment]()
        self.limit_ranges = Kept[admission.LimitRange]()
        self.runtime_classes = Kept[admission.RuntimeClass]()
        self.requests = Kept[ProvisioningRequest]()
        self.of_platforms: dict[tuple[str, str, str], Kept[Any]] = {}
        """By the platform's name, a group where any kind of an ending is read, and kind."""
        self.captured: set[str] = set()
        self.unread: tuple[Unread, ...] = ()
        """What a live view could not read. Objects of files that cannot be read end the reading instead."""
        self.skipped: dict[str, int] = {}
        self.newest = Newest()
        self._unfinished: dict[str, str] = {}
        self._finished: set[str] = set()
        self._annotations = read_annotations(self.capi_group)
        of_platforms = [(reading, kind) for reading in readings() for kind in reading.kinds]
        self._own_kinds = frozenset(kind.kind for _, kind in of_platforms)
        self._ending = {kind.kind: (reading, kind) for reading, kind in of_platforms if kind.any_kind_ending_so}
        self._named = {
            (reading.group_of(kind, self.capi_group), kind.kind): (reading, kind)
            for reading, kind in of_platforms
            if not kind.any_kind_ending_so
        }
        self._readers = self._all_readers()

    def read(self, document: Document, *, stamps: bool) -> None:
        """Take in one document; with `stamps` also remember the newest instant that it mentions."""
        reader = self._reader(document)
        if reader is None:
            name = f"{_MANAGEMENT}{document.kind}" if self._elsewhere(document) else document.kind
            self.skipped[name] = self.skipped.get(name, 0) + len(document.items)
            return
        name = self.known_as(document)
        self.captured.add(name)
        if document.is_list:
            if document.more:
                self._unfinished[name] = document.file
            else:
                self._finished.add(name)
        first = self.sources.first(document)
        errors: list[SnapshotError] = []
        half = self._half_apart(document, stamps=stamps)
        count = len(document.items)
        self._take(document, reader, first, range(count if half is None else count // 2), errors, stamps=stamps)
        if half is not None:
            rest = half()
            if rest is None:
                self._take(document, reader, first, range(count // 2, count), errors, stamps=stamps)
            else:
                self.pods.extend(rest.rows, first + count // 2)
                self.newest.seconds = max(self.newest.seconds, rest.newest_seconds)
        if errors:
            raise SeveralError(errors) if len(errors) > 1 else errors[0]

    def _half_apart(self, document: Document, *, stamps: bool) -> "Callable[[], pods_apart.PodsApart | None] | None":
        """The second half of many pods, which is read meanwhile."""
        if self._apart is None or document.kind != "Pod" or len(document.items) < MANY_PODS:
            return None
        return self._apart(lambda: pods_apart.pods_apart(document.items[len(document.items) // 2 :], stamps=stamps))

    def _take(
        self, document: Document, reader: _Reader, first: int, part: range, errors: list[SnapshotError], *, stamps: bool
    ) -> None:
        """Read some items of a document. What is wrong with them goes into `errors`, which end at a bound."""
        decoder, keep = reader
        for index in part:
            if len(errors) == _MOST_ERRORS:
                break
            raw = document.items[index]
            try:
                item = decoder.decode(raw)
                if item.kind and item.kind != document.kind:
                    raise UnreadableError(f"its kind is {item.kind} in a list of {document.kind}")
                keep(item, first + index, document)
                if stamps:
                    self.newest.see(raw)
            except DECODING_ERRORS as error:
                errors.append(SnapshotError(document.file, document.label(index), finding(error)))
            except UnreadableError as error:
                errors.append(SnapshotError(document.file, document.label(index), str(error)))
            except ContradictionError as error:
                errors.append(self.contradiction(error))
            except defects.CAUGHT as error:
                errors.append(SnapshotError(document.file, document.label(index), defect_text(error)))

    def partly_read(self) -> set[str]:
        """Kinds of which something could not be read. One object of a platform or of some other kinds concerns few others, which
        say so themselves. So does a Node, or a pod whose node is known."""
        apart = _APART.union(kind.known_as for _, kind in self._named.values())
        return {one.kind for one in self.unread if not (one.name and (one.node is not None or one.kind in apart))}

    def close(self) -> None:
        """Raise `SnapshotError` for a list of which only some pages are there."""
        for kind, file in sorted(self._unfinished.items()):
            if kind not in self._finished:
                raise SnapshotError(
                    file, "", f"the list of {kind} continues (metadata.continue), but no file has its end: capture it completely"
                )

    def contradiction(self, error: ContradictionError) -> SnapshotError:
        """Two objects of one name that differ, as a message that names both places."""
        file, item = self.sources.place(max(error.first, error.second), error.name)
        other_file, other_item = self.sources.place(min(error.first, error.second), error.name)
        return SnapshotError(file, item, f"the same name with other content is in {other_file}, {other_item}")

    def _reader(self, document: Document) -> _Reader | None:
        if self._elsewhere(document) or (document.kind in DEVICES and document.api_version not in _DEVICE_VERSIONS):
            return None
        where = document.group, document.kind
        if where not in self._readers and (found := self._of_platform(document)) is not None:
            self._readers[where] = self._platform_reader(*found)
        return self._readers.get(where)

    def _of_platform(self, document: Document) -> tuple[PlatformReading, WireKind] | None:
        known = self._named.get((document.group, document.kind))
        return known or next((found for ending, found in self._ending.items() if document.kind.endswith(ending)), None)

    def known_as(self, document: Document) -> str:
        """What the kind of a document is called among those of all platforms."""
        known = self._named.get((document.group, document.kind))
        return document.kind if known is None else known[1].known_as

    def wire_type(self, document: Document) -> type[msgspec.Struct] | None:
        """The fields that are read of the items of a document; None: it is skipped."""
        reader = self._reader(document)
        return None if reader is None else reader[0].type

    def _elsewhere(self, document: Document) -> bool:
        """Whether the object belongs to the management cluster's own workload, which nobody asked about."""
        own = document.kind in self._own_kinds or document.kind.endswith(tuple(self._ending))
        return document.file.startswith(_MANAGEMENT) and not own

    def _all_readers(self) -> dict[tuple[str, str], _Reader]:
        readers: dict[tuple[str, str], _Reader] = {
            ("", "Pod"): (PodDecoder(), lambda item, source, _: self.pods.add(item, source)),
            ("", "Node"): (decoder(node.Node), self._node),
            ("policy", "PodDisruptionBudget"): (decoder(workload.DisruptionBudget), self._budget),
            ("batch", "Job"): (decoder(workload.Job), self._job),
            ("apps", "DaemonSet"): (decoder(workload.DaemonSet), self._daemon),
            ("scheduling.k8s.io", "PriorityClass"): (decoder(workload.PriorityClass), _keep(self.priorities)),
            ("scheduling.k8s.io", POD_GROUP): (decoder(group_wire.PodGroup), _keep(self.pod_groups, pod_group, namespaced=True)),
            ("", "Namespace"): (decoder(workload.Namespace), self._namespace),
            ("", "PersistentVolume"): (decoder(volume.PersistentVolume), _keep(self.volumes, persistent_volume)),
            ("", "PersistentVolumeClaim"): (decoder(volume.Claim), _keep(self.claims, claim, namespaced=True)),
            ("storage.k8s.io", "StorageClass"): (decoder(volume.StorageClass), _keep(self.classes, storage_class)),
            ("storage.k8s.io", "CSINode"): (decoder(volume.CsiNode), _keep(self.csi_nodes, csi_node)),
            ("storage.k8s.io", "CSIDriver"): (decoder(attachment.CsiDriver), _keep(self.csi_drivers, csi_driver)),
            ("storage.k8s.io", "CSIStorageCapacity"): (
                decoder(attachment.StorageCapacity),
                _keep(self.capacities, storage_capacity, namespaced=True),
            ),
            ("storage.k8s.io", "VolumeAttachment"): (
                decoder(attachment.VolumeAttachment),
                _keep(self.attachments, volume_attachment),
            ),
            ("", "LimitRange"): (decoder(admission.LimitRange), _keep(self.limit_ranges, namespaced=True)),
            ("node.k8s.io", "RuntimeClass"): (decoder(admission.RuntimeClass), _keep(self.runtime_classes)),
            ("autoscaling.x-k8s.io", REQUEST): (
                decoder(request_wire.ProvisioningRequest),
                _keep(self.requests, provisioning_request, namespaced=True),
            ),
            ("autoscaling.x-k8s.io", "CapacityQuota"): (decoder(quota_wire.CapacityQuota), _keep(self.quotas, capacity_quota)),
            ("autoscaling.x-k8s.io", BUFFER): (
                decoder(buffer_wire.CapacityBuffer),
                _keep(self.buffers, capacity_buffer, namespaced=True),
            ),
            ("", "PodTemplate"): (decoder(buffer_wire.PodTemplateObject), self._pod_template),
            ("", "ResourceQuota"): (
                decoder(buffer_wire.ResourceQuota),
                _keep(self.resource_quotas, resource_quota, namespaced=True),
            ),
            ("resource.k8s.io", "DeviceClass"): (decoder(device_wire.DeviceClass), _keep(self.device_classes, device_class)),
            ("resource.k8s.io", "ResourceSlice"): (
                decoder(device_wire.ResourceSlice),
                _keep(self.resource_slices, resource_slice),
            ),
            ("resource.k8s.io", "ResourceClaim"): (
                decoder(device_claims.ResourceClaim),
                _keep(self.resource_claims, resource_claim, namespaced=True),
            ),
            ("resource.k8s.io", "ResourceClaimTemplate"): (
                decoder(device_claims.ResourceClaimTemplate),
                _keep(self.claim_templates, claim_template, namespaced=True),
            ),
        }
        for key in _REPLICATED:
            readers[key] = (decoder(workload.Replicated), self._replicated)
        readers["", "ReplicationController"] = (decoder(workload.ReplicationController), self._replication_controller)
        readers["", "Service"] = (decoder(workload.Service), _keep(self.services, service, namespaced=True))
        readers["apps", "Deployment"] = (decoder(workload.Deployment), self._deployment)
        return readers

    def _platform_reader(self, reading: PlatformReading, kind: WireKind) -> _Reader:
        objects = kind_objects(reading, kind)
        key_of = objects.key or _read_key

        def keep(item: Any, source: int, document: Document) -> None:  # noqa: ANN401 - the platform's own struct
            where = (document.group, document.kind) if kind.any_kind_ending_so else ("", kind.known_as)
            self.of_platforms.setdefault((reading.name, *where), Kept()).add(key_of(item), item, source)

        return decoder(objects.type), keep

    def _node(self, item: node.Node, source: int, _: Document) -> None:
        self.nodes.add(_key(item.metadata), read_node(item, self._annotations), source)

    def _budget(self, item: workload.DisruptionBudget, source: int, document: Document) -> None:
        value = disruption_budget(item, document.api_version)
        self.budgets.add(_key(item.metadata, namespaced=True), value, source)

    def _namespace(self, item: workload.Namespace, source: int, _: Document) -> None:
        # The API server gives every namespace its name as a label; selectors rely on it.
        labels = {**(item.metadata.labels or {}), "kubernetes.io/metadata.name": item.metadata.name}
        self.namespaces.add(_key(item.metadata), label_pairs(labels), source)

    def _replicated(self, item: workload.Replicated, source: int, document: Document) -> None:
        # The API server writes 1 where the manifest leaves replicas out.
        replicas = 1 if item.spec.replicas is None else item.spec.replicas
        self._controller(item.metadata, source, document, replicas, selector=label_selector(item.spec.selector))
        self._template(item.metadata, source, document, item.spec.template, replicas)

    def _replication_controller(self, item: workload.ReplicationController, source: int, document: Document) -> None:
        replicas = 1 if item.spec.replicas is None else item.spec.replicas
        selector = label_selector(meta.LabelSelector(match_labels=item.spec.selector)) if item.spec.selector else None
        self._controller(item.metadata, source, document, replicas, selector=selector)
        self._template(item.metadata, source, document, item.spec.template, replicas)

    def _deployment(self, item: workload.Deployment, source: int, document: Document) -> None:
        replicas = 1 if item.spec.replicas is None else item.spec.replicas
        template = _deployed.read(item.spec.template)
        containers = template.containers if template is not None else ()
        runs = any(runs_autoscaler(one.image, one.command or (), one.args or ()) for one in containers)
        self._controller(item.metadata, source, document, replicas, autoscaler=runs)
        self._template(item.metadata, source, document, item.spec.template, replicas)

    def _job(self, item: workload.Job, source: int, document: Document) -> None:
        self._controller(item.metadata, source, document, None)
        running = 1 if item.spec.parallelism is None else item.spec.parallelism
        self._template(item.metadata, source, document, item.spec.template, running)

    def _pod_template(self, item: buffer_wire.PodTemplateObject, source: int, document: Document) -> None:
        # A ProvisioningRequest may own those that it names.
        kept = self.templates.setdefault((document.group, document.kind), Kept())
        key = _key(item.metadata, namespaced=True)
        if item.template:
            kept.add(key, StatedTemplate(bytes(item.template), 0, item.metadata.generation), source)

    def _template(self, metadata: meta.ObjectMeta, source: int, document: Document, template: Raw, replicas: int) -> None:
        """Keep a template as a copy of its bytes. Of what another controller makes, of which there may be very many, none is."""
        if not template or any(one.controller for one in metadata.owner_references or ()):
            return
        kept = self.templates.setdefault((document.group, document.kind), Kept())
        stated = StatedTemplate(bytes(template), replicas, metadata.generation)
        kept.add(_key(metadata, namespaced=True), stated, source)

    def _daemon(self, item: workload.DaemonSet, source: int, document: Document) -> None:
        key = _key(item.metadata, namespaced=True)
        draft = daemon_draft(item.metadata.namespace, item.metadata.name, item.spec.template)
        self.daemons.add(key, item.spec.template, source)
        if key not in self.daemon_drafts:
            self.daemon_drafts[key] = self.pods.add_template(draft)
        self._controller(item.metadata, source, document, None)

    def _controller(
        self,
        metadata: meta.ObjectMeta,
        source: int,
        document: Document,
        replicas: int | None,
        *,
        autoscaler: bool = False,
        selector: LabelSelector | None = None,
    ) -> None:
        kept = self.controllers.setdefault((document.group, document.kind), Kept())
        key = _key(metadata, namespaced=True)
        entry = controller(document.group, document.kind, metadata, replicas, selector)
        kept.add(key, msgspec.structs.replace(entry, autoscaler=True) if autoscaler else entry, source)


def _keep(
    kept: Kept[Any], read: Callable[[Any], Any] | None = None, *, namespaced: bool = False
) -> Callable[[Any, int, Document], None]:
    def keep(item: Any, source: int, _: Document) -> None:  # noqa: ANN401 - one function for every kind of object
        kept.add(_key(item.metadata, namespaced=namespaced), read(item) if read else item, source)

    return keep


def _read_key(item: Any) -> Key:  # noqa: ANN401 - the platform's own struct
    """The key of a platform's object, whose age is read now, while the object's place in its file is known."""
    unix_seconds_or_zero(item.metadata.creation_timestamp)
    return _key(item.metadata, namespaced=True)


def _key(metadata: meta.ObjectMeta, *, namespaced: bool = False) -> Key:
    if not metadata.name or (namespaced and not metadata.namespace):
        raise UnreadableError("metadata.name must not be empty" + (", nor metadata.namespace" if namespaced else ""))
    return metadata.namespace if namespaced else "", metadata.name
