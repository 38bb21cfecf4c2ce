"""Claims, volumes, classes and CSI nodes by name."""

from reconciler.cluster.nodes.attachment import StorageCapacity, VolumeAttachment
from reconciler.cluster.pods.pod import PodShape, VolumeUse
from reconciler.cluster.volume import CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.cluster.world import World

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
CLAIM_KIND = "PersistentVolumeClaim"


class StorageBook:
    """The captured volume objects, indexed. Claims of generic ephemeral volumes are named after their pod, so a shape with one
    belongs to a single pod. Its uid identifies the owner of the claim."""

    def __init__(self, world: World) -> None:
        """`required`: drivers that a node must have before pods with volumes of them run there."""
        storage = world.storage
        self._claims = {(claim.namespace, claim.name): claim for claim in storage.claims}
        self._volumes = {volume.name: volume for volume in storage.volumes}
        self._classes = {item.name: item for item in storage.classes}
        self._tracking = {driver.name for driver in storage.csi_drivers if driver.storage_capacity}
        in_force = world.release.drivers_required
        self.required = frozenset(driver.name for driver in storage.csi_drivers if driver.required and in_force)
        self._capacities: dict[str, list[StorageCapacity]] = {}
        for capacity in storage.capacities:
            self._capacities.setdefault(capacity.storage_class, []).append(capacity)
        self._attached: dict[str, list[VolumeAttachment]] = {}
        for attachment in storage.attachments:
            self._attached.setdefault(attachment.node, []).append(attachment)
        self._nodes = {node.name: node for node in storage.csi_nodes}
        # Most volumes belong to somebody: a claim that waits looks at those that are free, and at those reserved for it.
        self._free: dict[str | None, list[PersistentVolume]] = {}
        self._reserved: dict[tuple[str | None, str], list[PersistentVolume]] = {}
        for volume in storage.volumes:
            if volume.claim:
                self._reserved.setdefault((volume.storage_class, volume.claim), []).append(volume)
            elif volume.phase == "Available":
                self._free.setdefault(volume.storage_class, []).append(volume)
        ephemeral = {index for index, shape in enumerate(world.pod_shapes) if any(volume.ephemeral for volume in shape.volumes)}
        self._owner: dict[int, str] = {}
        if ephemeral:
            for pod, shape in enumerate(world.pods.shape):
                if shape in ephemeral:
                    self._owner.setdefault(shape, world.pods.uid[pod])

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """A claim."""
        return self._claims.get((namespace, name))

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume."""
        return self._volumes.get(name)

    def storage_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The class that a claim names, if it exists. Source: a claim without class has none for the scheduler; the
        default class is written into it when it is made."""
        return self._classes.get(claim.storage_class) if claim.storage_class else None

    def volumes_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Volumes of the class that a claim names which are reserved for it, then those that are free."""
        reserved = self._reserved.get((claim.storage_class, f"{claim.namespace}/{claim.name}"), [])
        return [*reserved, *self._free.get(claim.storage_class, ())]

    def csi_node(self, name: str) -> CsiNode | None:
        """What CSI drivers say about a node."""
        return self._nodes.get(name)

    def capacities(self, storage_class: StorageClass) -> list[StorageCapacity] | None:
        """What is left for volumes of a class; None when its driver does not report it."""
        if storage_class.provisioner not in self._tracking:
            return None
        return self._capacities.get(storage_class.name, [])

    def attached(self, node: str) -> list[VolumeAttachment]:
        """What is attached to a node."""
        return self._attached.get(node, [])

    def foreign(self, shape: int, use: VolumeUse, claim: PersistentVolumeClaim) -> bool:
        """Is this the claim of an ephemeral volume that somebody else owns?"""
        return use.ephemeral and claim.owner_uid != self._owner.get(shape, "")


def claim_uses(shape: PodShape) -> tuple[VolumeUse, ...]:
    """The volumes of a shape that go through claims."""
    return tuple(use for use in shape.volumes if use.kind == CLAIM_KIND)
