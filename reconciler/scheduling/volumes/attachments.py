"""Volumes that CSI drivers have attached to nodes with a limit, kept current."""

import msgspec

from reconciler.cluster.volume import PersistentVolumeClaim
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.volumes.book import StorageBook, claim_uses
from reconciler.scheduling.volumes.migration import (
    MIGRATIONS,
    NOT_ATTACHED_BY_CSI,
    driver_of_provisioner,
    inline_handle,
    volume_handle,
)

# A driver and a handle: what makes a volume one, however many pods use it.
Volume = tuple[str, str]


class LimitedNode:
    """One node whose CSINode limits volumes: `limits` by driver, `users` by volume, `attached` by driver. `broken` counts pods
    with claims of other pods, on which the plugin fails. `idle` are attached volumes that no pod uses."""

    __slots__ = ("attached", "broken", "idle", "limits", "users")

    def __init__(self, limits: dict[str, int], idle: frozenset[Volume]) -> None:
        self.limits = limits
        self.idle = idle
        self.users: dict[Volume, int] = {}
        self.attached: dict[str, int] = {}
        for driver, _ in idle:
            self.attached[driver] = self.attached.get(driver, 0) + 1
        self.broken = 0

    def add(self, volume: Volume, count: int) -> None:
        """`count` more pods use a volume."""
        before = self.users.get(volume, 0)
        after = before + count
        driver = volume[0]
        if after:
            self.users[volume] = after
        else:
            del self.users[volume]
        if volume in self.idle:
            return
        if (before > 0) != (after > 0):
            self.attached[driver] = self.attached.get(driver, 0) + (1 if after > 0 else -1)


class ShapeVolumes(msgspec.Struct, frozen=True):
    """The volumes that CSI drivers attach for a shape; `missing` names a claim that is not there, `foreign` one of
    somebody else. Nodes must have the drivers `required`. `always_required` are those of them that nodes without CSINode must
    have, too: there, no driver takes over in-tree disks."""

    volumes: frozenset[Volume] = frozenset()
    required: frozenset[str] = frozenset()
    always_required: frozenset[str] = frozenset()
    missing: str = ""
    foreign: str = ""


class Attachments:
    """Follows all shapes with volumes from the first question on."""

    def __init__(self, book: StorageBook, shapes: ShapeTable, nodes: NodeTable, bindings: Bindings) -> None:
        self._book = book
        self._shapes = shapes
        self._nodes = nodes
        self._bindings = bindings
        self._seen = 0
        self._known = 0
        self._volumes: dict[int, ShapeVolumes] = {}
        self._limited: dict[int, LimitedNode] = {}
        self._watch()

    def limited(self) -> dict[int, LimitedNode]:
        """The nodes with a limit: those whose CSINode says one, and new ones that will get one."""
        nodes = self._nodes
        for node in range(self._known, len(nodes)):
            name = nodes.names[node]
            csi_node = self._book.csi_node(name)
            if csi_node is not None:
                limits = {item.driver: item.count for item in csi_node.drivers if item.count is not None}
            else:
                limits = dict(nodes.shapes[nodes.shape[node]].volumes.limits)
            if limits:
                self._limited[node] = LimitedNode(limits, self._idle(name))
        self._known = len(nodes)
        return self._limited

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        self._known = min(self._known, count)
        for node in [node for node in self._limited if node >= count]:
            del self._limited[node]

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        limited = self.limited().get(node)
        if limited is not None:
            shape_volumes = self.of(shape)
            for volume in shape_volumes.volumes:
                limited.add(volume, count)
            if shape_volumes.foreign:
                limited.broken += count

    def of(self, shape: int) -> ShapeVolumes:
        """The volumes of a shape on nodes with a CSINode; there, NodeVolumeLimits takes in-tree disks as taken over."""
        self._watch()
        shape_volumes = self._volumes.get(shape)
        if shape_volumes is None:
            shape_volumes = self._volumes[shape] = self._volumes_of(shape)
        return shape_volumes

    def lacks(self, shape: int, node: int) -> str:
        """A driver that a node must have for the volumes of a shape, and has not (empty: none).

        Source: `checkCSIDriverOnNode` (gate VolumeLimitScaling)."""
        of, name = self.of(shape), self._nodes.names[node]
        csi_node = self._book.csi_node(name)
        if csi_node is not None:
            return min(of.required.difference(item.driver for item in csi_node.drivers), default="")
        there = self._nodes.shapes[self._nodes.shape[node]].volumes.required
        return min(of.required.difference(there) if there else of.always_required, default="")

    def _idle(self, name: str) -> frozenset[Volume]:
        """Source: `getNodeVolumeAttachmentInfo`: attachments of CSI volumes count under the driver that attached them."""
        volumes = set()
        for attachment in self._book.attached(name):
            volume = self._book.volume(attachment.volume)
            if volume is None or volume.driver in MIGRATIONS or volume.driver in NOT_ATTACHED_BY_CSI:
                continue
            volumes.add((attachment.driver, volume.handle))
        return frozenset(volumes)

    def _watch(self) -> None:
        start, self._seen = self._seen, len(self._shapes)
        new = [shape for shape in range(start, len(self._shapes)) if self._shapes.shapes[shape].volumes]
        # All at once: to look for the pods of each among all that are bound grows with the square.
        for shape, node, count in self._bindings.of(new):
            self.change(shape, node, count)
        for shape in new:
            self._bindings.watchers.watch(shape, self)

    def _volumes_of(self, shape: int) -> ShapeVolumes:
        value = self._shapes.shapes[shape]
        volumes: set[Volume] = set()
        taken_over: set[Volume] = set()
        missing = foreign = ""
        for use in value.volumes:
            if use.kind in MIGRATIONS:
                taken_over.add((MIGRATIONS[use.kind].driver, inline_handle(use.kind, use.identity)))
        for use in claim_uses(value):
            claim = self._book.claim(value.namespace, use.claim)
            if claim is None:
                missing = missing or use.claim
                continue
            if self._book.foreign(shape, use, claim):
                foreign = foreign or use.claim
                continue
            volume, in_tree = self._claimed(value.namespace, use.claim, claim)
            if all(volume):
                (taken_over if in_tree else volumes).add(volume)
        required = self._book.required
        of_all = frozenset(driver for driver, _ in volumes if driver in required)
        of_some = frozenset(driver for driver, _ in taken_over if driver in required)
        return ShapeVolumes(frozenset(volumes | taken_over), of_all | of_some, of_all, missing, foreign)

    def _claimed(self, namespace: str, name: str, claim: PersistentVolumeClaim) -> tuple[Volume, bool]:
        """The volume, and whether it is an in-tree disk. Source: plugin NodeVolumeLimits, `getCSIDriverInfo`: a claim without
        volume counts for its class's provisioner."""
        volume = self._book.volume(claim.volume) if claim.volume else None
        if volume is None:
            storage_class = self._book.storage_class(claim)
            provisioner = storage_class.provisioner if storage_class is not None else ""
            driver = driver_of_provisioner(provisioner)
            return (driver, f"claim {namespace}/{name}"), driver != provisioner
        if volume.driver in MIGRATIONS:
            return (MIGRATIONS[volume.driver].driver, volume_handle(volume)), True
        return ("", "") if volume.driver in NOT_ATTACHED_BY_CSI else (volume.driver, volume.handle), False
