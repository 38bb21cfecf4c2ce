"""VolumeZone: a volume that names its zone or region is used there."""

from functools import partial

from reconciler.cluster.volume import PersistentVolume
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volumes.book import WAIT_FOR_FIRST_CONSUMER, StorageBook, claim_uses
from reconciler.scheduling.volumes.migration import BETA_REGION, BETA_ZONE, REGION, ZONE
from reconciler.scheduling.volumes.node_masks import NodeMasks

PLUGIN = "VolumeZone"
_KEYS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_NEW_KEY = {BETA_ZONE: ZONE, BETA_REGION: REGION}

# A label that the node must have, and the values that it may have.
Demand = tuple[str, frozenset[str]]


def volume_demands(volume: PersistentVolume) -> tuple[Demand, ...]:
    """What a volume's own labels demand of a node.

    Source: plugin VolumeZone, `getPVTopologies`: several zones stand in one value with `__` between them; a value with an
    empty part is ignored.
    """
    demands = []
    labels = dict(volume.labels)
    for key in _KEYS:
        if key in labels:
            values = [part.strip() for part in labels[key].split("__")]
            if all(values):
                demands.append((key, frozenset(values)))
    return tuple(demands)


class VolumeZone:
    """The plugin over a state."""

    def __init__(self, book: StorageBook, shapes: ShapeTable, nodes: NodeTable, masks: NodeMasks) -> None:
        self._book = book
        self._shapes = shapes
        self._nodes = nodes
        self._masks = masks

    def objection(self, shape: int) -> str:
        """Why no node at all will do.

        Source: PreFilter. A claim, its class or its volume does not exist. Or a claim without a volume has no class, or a class
        that binds at once. Claims of generic ephemeral volumes do not count.
        """
        value = self._shapes.shapes[shape]
        for use in claim_uses(value):
            if use.ephemeral:
                continue
            claim = self._book.claim(value.namespace, use.claim)
            if claim is None:
                return f"claim {use.claim} does not exist"
            if claim.volume:
                if self._book.volume(claim.volume) is None:
                    return f"volume {claim.volume} of claim {use.claim} does not exist"
                continue
            if not claim.storage_class:
                return f"claim {use.claim} has neither volume nor storage class"
            storage_class = self._book.storage_class(claim)
            if storage_class is None:
                return f"storage class {claim.storage_class} of claim {use.claim} does not exist"
            if storage_class.binding_mode != WAIT_FOR_FIRST_CONSUMER:
                return f"claim {use.claim} has no volume yet"
        return ""

    def blocked(self, shape: int) -> list[bytearray]:
        """Masks of nodes outside the zones of the shape's volumes."""
        return [self._masks.get(demand, partial(self._suits, demand)) for demand in self._demands(shape)]

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What the plugin says of one node."""
        objection = self.objection(shape)
        if objection:
            return Rejection(PLUGIN, objection)
        unmet = [demand for demand in self._demands(shape) if not self._suits(demand, node)]
        if not unmet:
            return None
        return Rejection(PLUGIN, ", ".join(f"a volume is in {key}={'|'.join(sorted(values))}" for key, values in unmet))

    def _demands(self, shape: int) -> tuple[Demand, ...]:
        value = self._shapes.shapes[shape]
        demands: dict[Demand, None] = {}
        for use in claim_uses(value):
            claim = None if use.ephemeral else self._book.claim(value.namespace, use.claim)
            volume = None if claim is None else self._book.volume(claim.volume)
            if volume is not None:
                demands.update(dict.fromkeys(volume_demands(volume)))
        return tuple(demands)

    def _suits(self, demand: Demand, node: int) -> bool:
        """Source: Filter: a node with none of the four labels takes every volume; the old label is looked for first."""
        labels = dict(self._nodes.shapes[self._nodes.shape[node]].labels)
        if not any(key in labels for key in _KEYS):
            return True
        key, values = demand
        have = labels.get(key, labels.get(_NEW_KEY.get(key, key)))
        return have in values
