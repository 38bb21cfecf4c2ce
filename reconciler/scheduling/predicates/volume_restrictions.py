"""VolumeRestrictions: disks that two pods cannot share on a node, and claims that one pod has for itself."""

from reconciler.cluster.pods.pod import VolumeUse
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.index_sets.holders import Holders
from reconciler.scheduling.presence import Presence
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volumes.book import CLAIM_KIND, StorageBook, claim_uses

PLUGIN = "VolumeRestrictions"
_ONE_POD = "ReadWriteOncePod"
# Types that the plugin looks at, and whether two pods may share one when both only read.
_SHARED_READ_ONLY = {"GCEPersistentDisk": True, "AWSElasticBlockStore": False, "ISCSI": True, "RBD": True}
_A_VOLUME = 10
"""Steps to note who uses a volume."""


def disks_conflict(one: VolumeUse, other: VolumeUse) -> bool:
    """Whether two pods on one node cannot mount the two volumes.

    Source: plugin VolumeRestrictions, `isVolumeConflict`, 1.36. The same Google disk, iSCSI name or RBD image (with one common
    monitor) conflicts unless both only read. The same Amazon volume always conflicts.
    """
    if one.kind != other.kind or one.kind not in _SHARED_READ_ONLY or one.identity != other.identity:
        return False
    return not (_SHARED_READ_ONLY[one.kind] and one.read_only and other.read_only)


def _reads(disk: VolumeUse) -> bool:
    """Does the disk admit others that only read, as this one does?"""
    return not disks_conflict(disk, disk)


class VolumeRestrictions:
    """The plugin over a state."""

    def __init__(self, book: StorageBook, shapes: ShapeTable, bindings: Bindings) -> None:
        self._book = book
        self._shapes = shapes
        self._bindings = bindings
        self._seen = 0
        # By kind and identity: to hold each disk of each shape against each other grows with the square of both.
        self._mounted = Holders[tuple[str, str]]()
        self._written = Holders[tuple[str, str]]()
        self._users: dict[tuple[str, str], list[int]] = {}
        self._presence: dict[int, Presence] = {}

    def objection(self, shape: int) -> str:
        """Why no node at all will do; empty when none is excluded as a whole.

        Source: PreFilter: a claim that is not there; a ReadWriteOncePod claim that any pod on a node uses. Claims of
        generic ephemeral volumes are left out.
        """
        value = self._shapes.shapes[shape]
        for use in claim_uses(value):
            if use.ephemeral:
                continue
            claim = self._book.claim(value.namespace, use.claim)
            if claim is None:
                return f"claim {use.claim} does not exist"
            if _ONE_POD in claim.access_modes and self._in_use(value.namespace, use.claim):
                return f"claim {use.claim} is ReadWriteOncePod and in use by another pod"
        return ""

    def only_one(self, shape: int) -> bool:
        """Does a claim of the shape admit one pod in the whole cluster?"""
        value = self._shapes.shapes[shape]
        claims = (self._book.claim(value.namespace, use.claim) for use in claim_uses(value) if not use.ephemeral)
        return any(claim is not None and _ONE_POD in claim.access_modes for claim in claims)

    def looks_at_disks(self, shape: int) -> bool:
        """Has the shape an in-tree disk of a type that cannot be shared freely?"""
        return any(use.kind in _SHARED_READ_ONLY for use in self._shapes.shapes[shape].volumes)

    def one_a_node(self, shape: int) -> bool:
        """Do two pods of the shape exclude each other?"""
        # Two disks of one shape that conflict are the same, or one of them is and is written: then it conflicts with itself.
        return any(disks_conflict(disk, disk) for disk in self._shapes.shapes[shape].volumes)

    def excluded(self, shape: int) -> set[int]:
        """Nodes where a disk of the shape is mounted by another pod."""
        self._learn()
        nodes = {node for disk in self._disks(shape) for node in self._users_of(disk).of((disk.kind, disk.identity))}
        self._shapes.effort.add(len(nodes))
        return nodes

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What the plugin says of one node."""
        objection = self.objection(shape)
        if objection:
            return Rejection(PLUGIN, objection)
        self._learn()
        if any(self._users_of(disk).has((disk.kind, disk.identity), node) for disk in self._disks(shape)):
            return Rejection(PLUGIN, "another pod on the node has the same disk mounted")
        return None

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        for disk in self._disks(shape):
            key = (disk.kind, disk.identity)
            self._mounted.add(key, node, count)
            if not _reads(disk):
                self._written.add(key, node, count)

    def _disks(self, shape: int) -> list[VolumeUse]:
        return [use for use in self._shapes.shapes[shape].volumes if use.kind in _SHARED_READ_ONLY]

    def _users_of(self, disk: VolumeUse) -> Holders[tuple[str, str]]:
        """Nodes with a pod that keeps the disk from another one which uses it so."""
        return self._written if _reads(disk) else self._mounted

    def _in_use(self, namespace: str, claim: str) -> bool:
        self._learn()
        for user in self._users.get((namespace, claim), ()):
            presence = self._presence.get(user)
            if presence is None:
                presence = self._presence[user] = Presence(self._bindings, user)
            if presence.counts:
                return True
        return False

    def _learn(self) -> None:
        if self._seen == len(self._shapes):
            return
        new = [index for index in range(self._seen, len(self._shapes)) if self._shapes.shapes[index].volumes]
        disks = [index for index in new if self._disks(index)]
        for shape, node, count in self._bindings.of(disks):
            self.change(shape, node, count)
        for index in disks:
            self._bindings.watchers.watch(index, self)
        for index in new:
            value = self._shapes.shapes[index]
            self._shapes.effort.spend(index, _A_VOLUME * len(value.volumes))
            for use in value.volumes:
                if use.kind == CLAIM_KIND and not use.ephemeral:
                    self._users.setdefault((value.namespace, use.claim), []).append(index)
        self._seen = len(self._shapes)
