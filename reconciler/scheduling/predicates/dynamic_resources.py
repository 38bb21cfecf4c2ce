"""DynamicResources: the devices that a pod claims are free on the node, or are allocated where the node can use them.

Also extended resources that a device class serves: kube-scheduler asks for them as for a claim on nodes that do not list them.
"""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.devices.device_class import IMPLICIT_PREFIX
from reconciler.cluster.devices.resource_claim import MOST_RESERVED, Alternative, DeviceRequest, ResourceClaim
from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.values.release import Release
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.scheduling.devices.allocation import AllocationError, NodeAllocator, Wanted
from reconciler.scheduling.devices.catalog import Catalog, served_resources
from reconciler.scheduling.devices.pools import Pool, Pools
from reconciler.scheduling.devices.selector_values import NotEvaluatedError, SelectorError
from reconciler.scheduling.devices.special_claims import LEFT_OVER
from reconciler.scheduling.devices.taken import Taken
from reconciler.scheduling.label_match import Labels
from reconciler.scheduling.node_affinity import label_reader, term_matches
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable

PLUGIN = "DynamicResources"
_READ = ("DeviceClass", "ResourceClaim", "ResourceSlice")
_PLAIN_DOMAIN = "kubernetes.io/"
_OF_EXTENDED_RESOURCES = "extended resources"


class DeviceResources:
    """Which pods request what a DeviceClass serves.

    Source: plugins NodeResourcesFit (`shouldDelegateResourceToDRA`) and DynamicResources (`filterExtendedResources`), 1.36. A
    class may serve an extended resource that a node does not list in its allocatable. Then the devices of the node's
    ResourceSlices count. A node that lists the resource serves it itself.
    """

    def __init__(self, world: World, release: Release, nodes: NodeTable, shapes: ShapeTable) -> None:
        self._nodes = nodes
        self._shapes = shapes
        self._served = served_names(world, release)
        listed = {name for shape in world.node_shapes for name, _ in shape.allocatable.extended} if self._served else set()
        self._nowhere_listed = self._served - listed

    def touch(self, shape: int) -> bool:
        """Does a pod of the shape ask for anything that a class serves?"""
        return bool(self._served) and any(name in self._served for name, _ in self._requests(shape))

    def unknown_everywhere(self, shape: int) -> bool:
        """Does it ask for something that a class serves and no node of the cluster lists? Nobody can say then where it runs."""
        return any(name in self._nowhere_listed for name, _ in self._requests(shape))

    def unknown_on(self, shape: int, node: int) -> str:
        """The first extended resource that the node does not list, where `touch` holds; empty when it lists them all."""
        room = self._nodes.shapes[self._nodes.shape[node]].allocatable
        return next((name for name, _ in self._requests(shape) if is_extended(name) and not room.get(name)), "")

    def _requests(self, shape: int) -> tuple[tuple[str, int], ...]:
        return self._shapes.shapes[shape].requests.extended


def is_extended(name: str) -> bool:
    """Source: `IsDRAExtendedResourceName`: a name of some domain that is not Kubernetes' own, or a class by its own name."""
    if name.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in name and _PLAIN_DOMAIN not in name and not name.startswith("requests.")


class Judgement(msgspec.Struct, frozen=True):
    """What the plugin says of a node. `unmodelled` is empty, or why nobody knows. `message` is empty, or why it says no.
    `aborts`: it fails instead. kube-scheduler then gives up the whole attempt to place the pod."""

    message: str = ""
    unmodelled: str = ""
    aborts: bool = False


_YES = Judgement()


class _Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a shape needs of any node. `objection`: no node will do. `gated`: kube-scheduler does not even look at the pod yet.
    `bound` are claims with devices, and where those are. `failed` is one whose devices cannot be made ready (empty: none)."""

    objection: str = ""
    gated: bool = False
    unmodelled: str = ""
    bound: tuple[tuple[str, tuple[NodeSelectorTerm, ...] | None], ...] = ()
    failed: str = ""
    wanted: tuple[Wanted, ...] = ()
    extended: bool = False


class DynamicResources:
    """The plugin over a state. What is bound or taken off in the state changes nothing: claims stay as they were captured."""

    def __init__(self, world: World, release: Release, nodes: NodeTable, shapes: ShapeTable) -> None:
        self._world = world
        self._nodes = nodes
        self._shapes = shapes
        self._missing = missing_kinds(world)
        self._rules = release.devices
        self._unknown = self._missing if release.device_classes else "Kubernetes before 1.36"
        self._catalog = Catalog(world.device_classes)
        self._pools = Pools(world.resource_slices, release.devices)
        self._taken = Taken(world.resource_claims)
        self._claims = {(claim.namespace, claim.name): claim for claim in world.resource_claims}
        self._uids = _uids(world)
        self._of_node: dict[int, tuple[Labels, tuple[Pool, ...]]] = {}
        self._demands: dict[int, _Demand] = {}
        self._last = -1
        self._judged: dict[int, Judgement] = {}

    def gates(self, shape: int) -> bool:
        """Do claims keep pods of the shape out of the queue of kube-scheduler? Source: PreEnqueue of the plugin."""
        return bool(self._shapes.shapes[shape].claims) and not self._missing and self._demand(shape).gated

    def judge(self, shape: int, node: int) -> Judgement:
        """What the plugin says of one node for one pod of the shape."""
        if self._unknown:
            return Judgement(unmodelled=f"resource claims ({self._unknown})")
        if shape != self._last:
            # Pods are asked about one after the other, each on all nodes.
            self._last = shape
            self._judged.clear()
        known = self._judged.get(node)
        if known is None:
            known = self._judged[node] = self._judgement(shape, node)
        return known

    def _judgement(self, shape: int, node: int) -> Judgement:
        demand = self._demand(shape)
        if demand.objection:
            return Judgement(message=demand.objection)
        wanted = list(demand.wanted)
        if demand.extended:
            absent = self._absent(shape, node)
            if absent:
                return Judgement(message=f"the node has no {absent}")
            served = self._nodes.from_devices(node, self._requests(shape))
            if served:
                wanted.append(wanted_for(served, self._catalog))
        if demand.unmodelled:
            return Judgement(unmodelled=demand.unmodelled)
        name, labels, pools = self._nodes.names[node], *self._node(node)
        elsewhere = next((claim for claim, terms in demand.bound if not reached(terms, labels, name)), "")
        away = Judgement(message=f"claim {elsewhere} has devices that other nodes reach") if elsewhere else _YES
        if demand.failed:
            away = Judgement(message=f"a driver cannot make the devices of claim {demand.failed} ready")
        if not wanted:
            return away
        if self._taken.unmodelled:
            return Judgement(unmodelled=self._taken.unmodelled)
        if node >= len(self._world.nodes):
            return Judgement(unmodelled="devices of a node that is not there yet")
        allocator = NodeAllocator(self._catalog, pools, self._taken, name, labels, wanted, self._rules)
        judged = self._searched(allocator)
        # The search runs, and may fail, whether or not the devices of other claims are elsewhere.
        return judged if judged != _YES else away

    def _searched(self, allocator: NodeAllocator) -> Judgement:
        try:
            if allocator.search() is not None:
                return _YES
        except NotEvaluatedError as error:
            return Judgement(unmodelled=f"resource claims: {error}")
        except (SelectorError, AllocationError) as error:
            return Judgement(message=str(error), aborts=True)
        finally:
            self._shapes.effort.add(allocator.steps)
        try:
            return Judgement(message=allocator.shortage())
        except (NotEvaluatedError, SelectorError):
            # The search ended before it looked at these devices.
            return Judgement(message="its claims cannot be met with the devices here")

    def _absent(self, shape: int, node: int) -> str:
        """An extended resource that neither the node lists nor a class serves."""
        room = self._nodes.shapes[self._nodes.shape[node]].allocatable
        empty = self._world.nodes[node].empty_resources if node < len(self._world.nodes) else ()
        for name, _ in self._requests(shape):
            if is_extended(name) and name not in self._catalog.served and not room.get(name) and name not in empty:
                return name
        return ""

    def _node(self, node: int) -> tuple[Labels, tuple[Pool, ...]]:
        known = self._of_node.get(node)
        if known is None:
            nodes = self._nodes
            labels = label_reader(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node))
            known = self._of_node[node] = labels, self._pools.of(nodes.names[node], labels)
        return known

    def _demand(self, shape: int) -> _Demand:
        known = self._demands.get(shape)
        if known is None:
            known = self._demands[shape] = self._read(self._shapes.shapes[shape], self._uids.get(shape, frozenset()))
        return known

    def _read(self, shape: PodShape, uids: frozenset[str]) -> _Demand:
        """Source: PreEnqueue, PreFilter and `foreachPodResourceClaim`."""
        found: list[ResourceClaim] = []
        unmodelled = ""
        for use in shape.claims:
            if use.needless or use == LEFT_OVER:
                continue
            claim = self._claims.get((shape.namespace, use.claim))
            if claim is None:
                made = f"claim {use.claim} does not exist" if use.claim else f"the claim for {use.name} is not made yet"
                return _Demand(objection=made, gated=True)
            objection, unclear = _misuse(use, claim, uids)
            if objection:
                return _Demand(objection=objection, gated=True)
            unmodelled = unmodelled or unclear
            found.append(claim)
        served = any(name in self._catalog.served for name, _ in shape.requests.extended)
        if LEFT_OVER in shape.claims:
            return _Demand(objection=LEFT_OVER.unclear)
        bound: list[tuple[str, tuple[NodeSelectorTerm, ...] | None]] = []
        failed = ""
        wanted: list[Wanted] = []
        for claim in found:
            if claim.allocation is not None:
                bound.append((claim.name, claim.allocation.terms))
                failed = failed or (claim.name if claim.allocation.failed else "")
                continue
            objection = unserved(claim.name, claim.requests, self._catalog)
            if objection:
                return _Demand(objection=objection)
            if any(not constraint.attribute for constraint in claim.constraints):
                unmodelled = unmodelled or f"a constraint of claim {claim.name}"
            wanted.append(Wanted(name=claim.name, requests=claim.requests, constraints=claim.constraints))
        return _Demand(unmodelled=unmodelled, bound=tuple(bound), failed=failed, wanted=tuple(wanted), extended=served)

    def _requests(self, shape: int) -> tuple[tuple[str, int], ...]:
        return self._shapes.shapes[shape].requests.extended


def missing_kinds(world: World) -> str:
    """What is read of devices and was not captured, as a phrase; empty: all is there."""
    missing = [kind for kind in _READ if kind not in world.captured]
    return f"{', '.join(missing)} not captured" if missing else ""


def served_names(world: World, release: Release) -> frozenset[str]:
    """The extended resources that device classes serve."""
    return frozenset(served_resources(world.device_classes)) if release.device_classes else frozenset()


def served_requests(served: frozenset[str], shapes: Iterable[PodShape]) -> frozenset[str]:
    """Of the resources that are served those that pods of these shapes request."""
    if not served:
        return served
    return frozenset(name for shape in shapes for name, amount in shape.requests.extended if amount and name in served)


def wanted_for(served: Iterable[tuple[str, int]], catalog: Catalog) -> Wanted:
    """What the claim asks for that kube-scheduler makes for extended resources (name, amount) of a pod.

    Source: `createRequestsAndMappings` of the plugin, 1.36. It splits each amount by containers, which changes no answer.
    """
    requests = tuple(
        DeviceRequest(name=name, alternatives=(Alternative(name=name, device_class=catalog.served[name], count=amount),))
        for name, amount in sorted(served)
    )
    return Wanted(name=_OF_EXTENDED_RESOURCES, requests=requests)


def unserved(claim: str, requests: Iterable[DeviceRequest], catalog: Catalog) -> str:
    """Why no device serves a request of a claim, whatever the nodes have; empty: some may."""
    for request in requests:
        if not request.alternatives:
            return f"request {request.name} of claim {claim} is of an unknown kind"
        for asked in request.alternatives:
            if asked.device_class not in catalog.classes:
                return f"request {asked.name} of claim {claim}: device class {asked.device_class} does not exist"
    return ""


def reached(terms: tuple[NodeSelectorTerm, ...] | None, labels: Labels, name: str) -> bool:
    """Does a node reach the devices of an allocation?"""
    return terms is None or any(term_matches(term, labels, name) for term in terms)


def _misuse(use: ClaimUse, claim: ResourceClaim, uids: frozenset[str]) -> tuple[str, str]:
    """Why pods with these uids cannot use a claim, and what of that is not known."""
    if claim.deleting:
        return f"claim {claim.name} is being deleted", ""
    if use.generated and uids != {claim.owner_uid}:
        return f"claim {claim.name} was made for another pod", ""
    if claim.allocation is None:
        return "", ""
    if len(claim.reserved_for) >= MOST_RESERVED and not uids.issubset(claim.reserved_for):
        # The plugin does not look, and the API server then refuses one more.
        return "", f"claim {claim.name}, which {MOST_RESERVED} users have reserved"
    return "", f"binding conditions of claim {claim.name}" if claim.allocation.waits else ""


def _uids(world: World) -> dict[int, frozenset[str]]:
    """The uids of the waiting pods of each shape for which it matters who they are."""
    own = {index for index, shape in enumerate(world.pod_shapes) if shape.claims}
    if not own:
        return {}
    pods = world.pods
    return _grouped((shape, pods.uid[pod]) for pod, shape in enumerate(pods.shape) if shape in own and pods.node[pod] < 0)


def _grouped(pairs: Iterable[tuple[int, str]]) -> dict[int, frozenset[str]]:
    sets: dict[int, set[str]] = {}
    for shape, uid in pairs:
        sets.setdefault(shape, set()).add(uid)
    return {shape: frozenset(uids) for shape, uids in sets.items()}
