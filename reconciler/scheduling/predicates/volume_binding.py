"""VolumeBinding: every claim has a volume that the node can use, or can get one there."""

from collections.abc import Container, Iterable

import msgspec

from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.label_match import selects
from reconciler.scheduling.node_affinity import label_reader, labels_text, node_labels, terms_text
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.eligibility import Eligibility
from reconciler.scheduling.shapes import Demand, ShapeTable
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volumes.book import WAIT_FOR_FIRST_CONSUMER, StorageBook, claim_uses
from reconciler.scheduling.volumes.local_room import LocalRoom
from reconciler.scheduling.volumes.migration import MIGRATIONS, is_migrated, translated_terms
from reconciler.scheduling.volumes.node_masks import NodeMasks
from reconciler.values.clauses import clauses
from reconciler.values.quantity import Rounding, amount_text

PLUGIN = "VolumeBinding"
_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")
_Terms = tuple[NodeSelectorTerm, ...] | None


class ClaimSet(msgspec.Struct, frozen=True):
    """The claims of one shape, sorted out. `objection` is why no node will do.

    `bound` are volumes of bound claims, `chosen` names of nodes where claims are being provisioned, `waiting` claims that
    wait for a consumer, the smallest first.
    """

    objection: str = ""
    bound: tuple[PersistentVolume, ...] = ()
    chosen: tuple[str, ...] = ()
    waiting: tuple[PersistentVolumeClaim, ...] = ()
    provisioning: tuple[PersistentVolumeClaim, ...] = ()


class VolumeBinding:
    """The plugin over a state."""

    def __init__(
        self,
        book: StorageBook,
        shapes: ShapeTable,
        nodes: NodeTable,
        bindings: Bindings,
        eligibility: Eligibility,
        masks: NodeMasks,
    ) -> None:
        self._book = book
        self._shapes = shapes
        self._nodes = nodes
        self._eligibility = eligibility
        self._masks = masks
        self._sets: dict[int, ClaimSet] = {}
        self._static = NodeMasks(nodes)
        self._assumed: dict[tuple[str, str], _Assumed] = {}
        # Names of volumes that claims of placed pods take (empty: a new one), with how many do.
        self._taken: dict[str, int] = {}
        self._names = {name: node for node, name in enumerate(nodes.names)}
        self._bindings = bindings
        self._local = LocalRoom(book, shapes, nodes, bindings)
        self._seen = 0
        self._demands: dict[tuple[NodeSelectorTerm, ...], int] = {}

    def follow(self) -> None:
        """Watch the shapes that were appended to the table; before any pod of them is bound."""
        for shape in range(self._seen, len(self._shapes)):
            if self._shapes.shapes[shape].volumes:
                self._bindings.watchers.watch(shape, self)
        self._seen = len(self._shapes)
        self._local.follow()

    def objection(self, shape: int) -> str:
        """Why no node at all will do; empty when none is excluded as a whole."""
        return self._claims(shape).objection

    def waits(self, shape: int) -> bool:
        """Is there a claim that the first pod to be placed gets its volume for?"""
        return any((claim.namespace, claim.name) not in self._assumed for claim in self._claims(shape).waiting)

    def blocked(self, shape: int) -> list[bytearray]:
        """Masks of nodes that cannot use, or get, a volume of the shape."""
        claims = self._claims(shape)
        masks = [self._volume_mask(volume) for volume in claims.bound]
        masks.extend(self._only(self._names.get(name, -1)) for name in claims.chosen)
        to_provision = list(claims.provisioning)
        by_node = False
        for claim in claims.waiting:
            assumed = self._assumed.get((claim.namespace, claim.name))
            if assumed is not None:
                masks.append(self._only(assumed.node))
            elif any(_could_take(volume, claim) for volume in self._volumes_for(claim)):
                by_node = True
            else:
                to_provision.append(claim)
        if by_node:
            masks.append(self._static.get(shape, lambda node: not self._unbound_objection(claims, node)))
        else:
            masks.extend(self._provision_mask(claim) for claim in to_provision)
        return masks

    def excluded(self, shape: int) -> list[int]:
        """New nodes on which others take the room that the claims of the shape need."""
        return self._local.excluded(self._claims(shape).waiting)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`. Source: `AssumePodVolumes`. When the first pod is placed, its claims get their volumes or are to be
        provisioned for that node. Pods that share a claim follow, and no other claim gets the volume."""
        claims = self._claims(shape)
        if not claims.waiting:
            return
        for claim in claims.waiting:
            key = (claim.namespace, claim.name)
            assumed = self._assumed.get(key)
            if assumed is None:
                volume = self._matching(claim, node, ())
                assumed = self._assumed[key] = _Assumed(node, "" if volume is None else volume.name)
                self._taken[assumed.volume] = self._taken.get(assumed.volume, 0) + 1
            assumed.users += count
            if not assumed.users:
                del self._assumed[key]
                self._taken[assumed.volume] -= 1
        self._static.clear()

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        self._static.drop_to(count)
        self._local.drop_to(count)

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What the plugin says of one node, all of it."""
        claims = self._claims(shape)
        if claims.objection:
            return Rejection(PLUGIN, claims.objection)
        objections = [self._unusable(volume, node) for volume in claims.bound if not self._usable(volume, node)]
        unbound = self._unbound_objection(claims, node) or self._local.objection(claims.waiting, node)
        if unbound:
            objections.append(unbound)
        return Rejection(PLUGIN, clauses(objections)) if objections else None

    def _unusable(self, volume: PersistentVolume, node: int) -> str:
        """Which zone or host the volume needs, what the node has of it, and whether another node would do."""
        terms = self._terms(volume, node) or ()
        nodes = self._nodes
        labels = label_reader(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node))
        nowhere = "" if 0 in self._volume_mask(volume) else ". No node is left that has it"
        return f"volume {volume.name} needs {terms_text(terms)}, but this node has {labels_text(terms, labels)}{nowhere}"

    def _claims(self, shape: int) -> ClaimSet:
        claim_set = self._sets.get(shape)
        if claim_set is None:
            claim_set = self._sets[shape] = self._sorted_out(shape)
        return claim_set

    def _sorted_out(self, shape: int) -> ClaimSet:
        """Source: plugin VolumeBinding, PreFilter, and `GetPodVolumeClaims`, 1.36. A claim is bound once it names a volume and
        has the binder's mark. The scheduler binds a claim that waits for its first consumer. Another component must bind every
        other unbound claim first. A bound claim whose volume is gone fails on every node.
        """
        value = self._shapes.shapes[shape]
        bound: list[PersistentVolume] = []
        waiting: list[PersistentVolumeClaim] = []
        for use in claim_uses(value):
            claim = self._book.claim(value.namespace, use.claim)
            if claim is None:
                reason = "was not made yet" if use.ephemeral else "does not exist"
                return ClaimSet(f"claim {use.claim} {reason}")
            if claim.phase == "Lost":
                return ClaimSet(f"claim {use.claim} has lost its volume {claim.volume}")
            if claim.deleting:
                return ClaimSet(f"claim {use.claim} is being deleted")
            if self._book.foreign(shape, use, claim):
                return ClaimSet(f"claim {use.claim} was not made for this pod")
            if claim.volume and claim.bind_completed:
                volume = self._book.volume(claim.volume)
                if volume is None:
                    return ClaimSet(f"volume {claim.volume} of claim {use.claim} does not exist")
                bound.append(volume)
                continue
            storage_class = self._book.storage_class(claim)
            if storage_class is None or storage_class.binding_mode != WAIT_FOR_FIRST_CONSUMER or claim.volume:
                return ClaimSet(f"claim {use.claim} is not bound")
            waiting.append(claim)
        free = [claim for claim in waiting if not claim.selected_node]
        placed = [claim for claim in waiting if claim.selected_node]
        return ClaimSet(
            bound=tuple(dict.fromkeys(bound)),
            chosen=tuple(sorted({claim.selected_node for claim in placed})),
            waiting=tuple(sorted(dict.fromkeys(free), key=lambda claim: claim.requested_bytes)),
            provisioning=tuple(dict.fromkeys(placed)),
        )

    def _unbound_objection(self, claims: ClaimSet, node: int) -> str:
        """Source: `FindPodVolumes`. A claim that is being provisioned belongs to the node chosen for it. The others take the
        smallest matching volumes, each volume once, or are provisioned."""
        name = self._nodes.names[node]
        elsewhere = [chosen for chosen in claims.chosen if chosen != name]
        if elsewhere:
            return f"a volume is being provisioned on {', '.join(elsewhere)}"
        taken: set[str] = set()
        to_provision = list(claims.provisioning)
        for claim in claims.waiting:
            assumed = self._assumed.get((claim.namespace, claim.name))
            if assumed is not None:
                if assumed.node != node:
                    return f"claim {claim.name} gets its volume on {self._nodes.names[assumed.node]}"
                continue
            volume = self._matching(claim, node, taken)
            if volume is None:
                to_provision.append(claim)
            else:
                taken.add(volume.name)
        for claim in to_provision:
            reason = self._provision_objection(claim, node)
            if reason:
                return reason
        return ""

    def _provision_objection(self, claim: PersistentVolumeClaim, node: int) -> str:
        """Source: `checkVolumeProvisions` and `hasEnoughCapacity`. The class must have a provisioner and allow the node's
        topology. If the driver reports capacity, a capacity that the node can reach must be large enough for the claim.
        For a new node, its driver will report what the node itself has."""
        storage_class: StorageClass | None = self._book.storage_class(claim)
        if storage_class is None:
            return f"claim {claim.name} has no storage class"
        if storage_class.provisioner in _NO_PROVISIONER:
            return f"no volume of class {storage_class.name} matches claim {claim.name} on this node, and none is provisioned"
        if storage_class.allowed_topologies and self._excludes(storage_class.allowed_topologies, node):
            return f"class {storage_class.name} of claim {claim.name} provisions no volume for this node's topology"
        capacities = self._book.capacities(storage_class)
        if capacities is None or not claim.requested_bytes:
            return ""
        nodes = self._nodes
        labels = node_labels(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node)).items()
        for capacity in capacities:
            enough = capacity.limit_bytes is not None and capacity.limit_bytes >= claim.requested_bytes
            if enough and selects(capacity.nodes, labels):
                return ""
        offer = self._local.offers(node, storage_class.name)
        if offer is not None and offer.largest_bytes >= claim.requested_bytes:
            return ""
        needed = amount_text("memory", claim.requested_bytes, Rounding.UP)
        return f"no storage of class {storage_class.name} that this node can reach has {needed} left for claim {claim.name}"

    def _matching(self, claim: PersistentVolumeClaim, node: int, taken: Container[str]) -> PersistentVolume | None:
        """Source: component-helpers `FindMatchingVolume`. A volume reserved for the claim, anywhere in the list, is the only
        candidate. Otherwise it is the smallest that is available, large enough, selected and usable on the node. It also needs
        the class, mode and attributes class, and all access modes."""
        best: PersistentVolume | None = None
        for volume in self._volumes_for(claim):
            if volume.name in taken or self._taken.get(volume.name) or not _could_serve(volume, claim):
                continue
            if volume.claim:
                return volume if self._suits(volume.required_terms, node) else None
            if (
                _could_take(volume, claim)
                and (best is None or volume.capacity_bytes < best.capacity_bytes)
                and self._suits(volume.required_terms, node)
            ):
                best = volume
        return best

    def _volumes_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        volumes = self._book.volumes_for(claim)
        self._shapes.effort.add(len(volumes))
        return volumes

    def _only(self, node: int) -> bytearray:
        mask = bytearray(b"\x01") * len(self._nodes)
        if node >= 0:
            mask[node] = 0
        return mask

    def _provision_mask(self, claim: PersistentVolumeClaim) -> bytearray:
        key = ("provision", claim.storage_class, claim.requested_bytes)
        return self._masks.get(key, lambda node: not self._provision_objection(claim, node))

    def _volume_mask(self, volume: PersistentVolume) -> bytearray:
        if volume.driver in MIGRATIONS:
            return self._masks.get(("volume", volume.name), lambda node: self._usable(volume, node))
        return self._masks.get(("terms", volume.required_terms), lambda node: self._suits(volume.required_terms, node))

    def _usable(self, volume: PersistentVolume, node: int) -> bool:
        """Source: `checkBoundClaims`: where a CSI driver has taken the disk over, its own topology counts."""
        return self._suits(self._terms(volume, node), node)

    def _terms(self, volume: PersistentVolume, node: int) -> _Terms:
        migrated = is_migrated(volume.driver, self._book.csi_node(self._nodes.names[node]))
        return translated_terms(volume) if migrated else volume.required_terms

    def _excludes(self, terms: Iterable[NodeSelectorTerm], node: int) -> bool:
        return not self._suits(tuple(terms), node)

    def _suits(self, terms: _Terms, node: int) -> bool:
        """Do a volume's terms match the labels of a node? They are judged by labels alone: terms on fields always hold."""
        if terms is None:
            return True
        demand = self._demands.get(terms)
        if demand is None:
            kept = tuple(NodeSelectorTerm(term.expressions) for term in terms if term.expressions)
            holds = any(term.fields and not term.expressions for term in terms)
            demand = self._demands[terms] = self._shapes.demands.index(Demand(terms=None if holds else kept))
        return self._eligibility.meets(demand, node, taints=False)


class _Assumed:
    """A claim that a placed pod uses: where, which volume it takes (empty: a new one), how many pods use it."""

    __slots__ = ("node", "users", "volume")

    def __init__(self, node: int, volume: str) -> None:
        self.node = node
        self.volume = volume
        self.users = 0


def _could_take(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Could the claim be bound to this volume on some node?"""
    if volume.claim:
        return _could_serve(volume, claim)
    return (
        volume.phase == "Available"
        and (claim.selector is None or selects(claim.selector, volume.labels))
        and set(claim.access_modes) <= set(volume.access_modes)
        and _could_serve(volume, claim)
    )


def _could_serve(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    if volume.claim:
        mine = volume.claim == f"{claim.namespace}/{claim.name}" and volume.claim_uid in ("", claim.uid)
        if not mine:
            return False
    alike = volume.volume_mode == claim.volume_mode and volume.attributes_class == claim.attributes_class
    return alike and volume.capacity_bytes >= claim.requested_bytes and not volume.deleting
