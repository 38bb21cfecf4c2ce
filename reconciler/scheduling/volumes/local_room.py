"""The room that volume drivers have on new nodes themselves, and who takes it."""

from reconciler.cluster.nodes.node import LocalStorage
from reconciler.cluster.volume import PersistentVolumeClaim
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.volumes.book import StorageBook, claim_uses
from reconciler.values.quantity import Rounding, amount_text

_Key = tuple[str, str]


class LocalRoom:
    """Counts the claims of pods that are placed on nodes with room of their own.

    kube-scheduler judges each volume by itself, and a driver refuses a volume that no longer fits. The pod is then pending again,
    and its new node was added in vain. So the volumes of a new node are added up.
    """

    def __init__(self, book: StorageBook, shapes: ShapeTable, nodes: NodeTable, bindings: Bindings) -> None:
        self._book = book
        self._shapes = shapes
        self._nodes = nodes
        self._bindings = bindings
        self._known = 0
        self._seen = 0
        self._room: dict[int, dict[str, LocalStorage]] = {}
        self._users: dict[int, dict[_Key, int]] = {}

    def offers(self, node: int, storage_class: str) -> LocalStorage | None:
        """What a node offers for volumes of a class; None when it has no room of its own for them."""
        room = self._rooms().get(node)
        return None if room is None else room.get(storage_class)

    def objection(self, claims: tuple[PersistentVolumeClaim, ...], node: int) -> str:
        """What is short for these claims, which wait for a volume, next to those of other pods there; empty: nothing."""
        room = self._rooms().get(node)
        if room is None:
            return ""
        users = self._users.get(node, {})
        for name, offer in room.items():
            mine = {_key(claim): claim for claim in claims if claim.storage_class == name}
            if not mine:
                continue
            others = (self._book.claim(*key) for key in users if key not in mine)
            taken = sum(claim.requested_bytes for claim in others if claim is not None and claim.storage_class == name)
            asked = sum(claim.requested_bytes for claim in mine.values())
            if taken + asked > offer.total_bytes:
                needs = amount_text("memory", asked, Rounding.UP)
                left = amount_text("memory", offer.total_bytes - taken, Rounding.DOWN)
                return f"needs {needs} of class {name} on the node itself, but {left} are left"
        return ""

    def excluded(self, claims: tuple[PersistentVolumeClaim, ...]) -> list[int]:
        """Nodes that lack the room for these claims."""
        return [node for node in self._rooms() if self.objection(claims, node)] if claims else []

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        if node not in self._rooms():
            return
        value, users = self._shapes.shapes[shape], self._users.setdefault(node, {})
        for use in claim_uses(value):
            claim = self._book.claim(value.namespace, use.claim)
            if claim is not None and not claim.volume:
                users[_key(claim)] = users.get(_key(claim), 0) + count
                if not users[_key(claim)]:
                    del users[_key(claim)]

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        self._known = min(self._known, count)
        for node in [node for node in self._room if node >= count]:
            del self._room[node]

    def follow(self) -> None:
        """Watch the shapes that were appended to the table, and count those of their pods that are placed."""
        new = [shape for shape in range(self._seen, len(self._shapes)) if self._shapes.shapes[shape].volumes]
        self._seen = len(self._shapes)
        if self._rooms():
            for shape, node, count in self._bindings.of(new):
                self.change(shape, node, count)
        for shape in new:
            self._bindings.watchers.watch(shape, self)

    def _rooms(self) -> dict[int, dict[str, LocalStorage]]:
        nodes = self._nodes
        for node in range(self._known, len(nodes)):
            local = nodes.shapes[nodes.shape[node]].volumes.local
            if local:
                self._room[node] = {item.storage_class: item for item in local}
        self._known = len(nodes)
        return self._room


def _key(claim: PersistentVolumeClaim) -> _Key:
    return claim.namespace, claim.name
