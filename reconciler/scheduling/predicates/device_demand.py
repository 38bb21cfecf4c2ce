"""What pods of a shape ask of devices while they are placed, and who shares a claim."""

import msgspec

from reconciler.cluster.devices.resource_claim import Allocation, ResourceClaim
from reconciler.cluster.devices.resource_slice import Where
from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import World
from reconciler.scheduling.devices.allocation import Given, Wanted
from reconciler.scheduling.devices.catalog import Catalog
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.dynamic_resources import unserved, wanted_for
from reconciler.scheduling.shapes import ShapeTable

ClaimKey = tuple[str, str]
"""Namespace and name of a claim."""


class Asked(msgspec.Struct, frozen=True):
    """What is asked of one node at once. `number` is equal for equal ones."""

    wanted: tuple[Wanted, ...]
    number: int


class Demand(msgspec.Struct, frozen=True):
    """What a pod asks for, claim by claim: what it wants for itself, or the key of a claim that it shares. `extended` are the
    extended resources, with their amounts, that devices meet on nodes that do not list them. `asked` is all of it where nothing
    is shared and no node asks for more or less than another."""

    claims: tuple[Wanted | ClaimKey, ...] = ()
    unclear: str = ""
    shared: tuple[ClaimKey, ...] = ()
    extended: tuple[tuple[str, int], ...] = ()
    asked: Asked | None = None


class Shared:
    """A claim with a name: `users` pods have it. `allocation` is what the cluster says, `given` what this plan handed out, with
    where its devices are."""

    __slots__ = ("allocation", "claim", "given", "given_at", "released", "users", "where")

    def __init__(self, claim: ResourceClaim) -> None:
        self.claim = claim
        self.allocation: Allocation | None = claim.allocation
        self.users = len(claim.reserved_for)
        self.released = False
        self.given: tuple[Given, ...] | None = None
        self.given_at = -1
        self.where: tuple[Where, ...] = ()

    @property
    def has_devices(self) -> bool:
        """Did the cluster or this plan give it some?"""
        return self.given is not None or (self.allocation is not None and not self.released)


def wanted_of(claim: ResourceClaim) -> Wanted:
    """What a claim asks for."""
    return Wanted(name=claim.name, requests=claim.requests, constraints=claim.constraints)


class Demands:
    """The demands of all shapes of pods. `shared` are the claims with a name that some pod has, `claims` all of the World. Equal
    questions have equal numbers."""

    def __init__(self, world: World, nodes: NodeTable, shapes: ShapeTable, catalog: Catalog) -> None:
        self._nodes = nodes
        self._shapes = shapes
        self._catalog = catalog
        self.claims = {(claim.namespace, claim.name): claim for claim in world.resource_claims}
        self.shared: dict[ClaimKey, Shared] = {}
        self._known: dict[int, Demand] = {}
        self._asked_of: dict[tuple[int, int], Asked] = {}
        """By shape and shape of the node, where nodes differ in what they list."""
        self._numbers: dict[tuple[Wanted, ...], int] = {}

    def of(self, shape: int) -> Demand:
        """That of a pod of the shape."""
        known = self._known.get(shape)
        if known is None:
            known = self._known[shape] = self._read(self._shapes.shapes[shape])
        return known

    def is_open(self, key: ClaimKey) -> bool:
        """Whether a shared claim has no devices yet."""
        return not self.shared[key].has_devices

    def _read(self, shape: PodShape) -> Demand:
        claims: list[Wanted | ClaimKey] = []
        unclear = ""
        for use in shape.claims:
            if use.unclear or (use.generated and not use.requests):
                unclear = unclear or use.unclear or "a claim without requests"
                continue
            if use.generated:
                wanted = Wanted(name=use.name, requests=use.requests, constraints=use.constraints)
                unclear = unclear or self._refused(wanted)
                claims.append(wanted)
                continue
            claim = self.claims.get((shape.namespace, use.claim))
            if claim is None or claim.deleting:
                state = "does not exist" if claim is None else "is being deleted"
                unclear = unclear or f"claim {use.claim}, which {state}"
                continue
            allocation = claim.allocation
            if allocation is not None and (allocation.waits or allocation.failed or allocation.unmodelled):
                unclear = unclear or f"binding conditions of claim {claim.name}"
            key = claim.namespace, claim.name
            if key not in self.shared:
                self.shared[key] = Shared(claim)
            if allocation is None or claim.reserved_for:
                unclear = unclear or self._refused(wanted_of(claim))
            claims.append(key)
        extended = self.served(shape)
        shared = tuple(one for one in claims if not isinstance(one, Wanted))
        own = tuple(one for one in claims if isinstance(one, Wanted))
        return Demand(tuple(claims), unclear, shared, extended, None if shared or extended else self._numbered(own))

    def served(self, shape: PodShape) -> tuple[tuple[str, int], ...]:
        """The extended resources, with their amounts, that classes serve."""
        served = self._nodes.served
        return tuple((name, amount) for name, amount in shape.requests.extended if amount and name in served) if served else ()

    def _refused(self, wanted: Wanted) -> str:
        objection = unserved(wanted.name, wanted.requests, self._catalog)
        if objection:
            return objection
        return f"a constraint of claim {wanted.name}" if any(not one.attribute for one in wanted.constraints) else ""

    def asked(self, shape: int, demand: Demand, node: int) -> Asked:
        """What has no devices yet, in the order of the claims, and then what the node asks its devices for.

        Source: `filterExtendedResources` of the plugin, 1.36: what the node lists in its allocatable is not asked for.
        """
        if demand.asked is not None:
            return demand.asked
        if not demand.extended:
            return self.of_claims(demand)
        key = shape, self._nodes.shape[node]
        known = self._asked_of.get(key)
        if known is None:
            served = self._nodes.from_devices(node, demand.extended)
            known = self._numbered((*self._left_of(demand), *((wanted_for(served, self._catalog),) if served else ())))
            if not demand.shared:
                self._asked_of[key] = known
        return known

    def of_claims(self, demand: Demand) -> Asked:
        """What of its claims has no devices yet, in their order."""
        return self._numbered(self._left_of(demand))

    def _left_of(self, demand: Demand) -> tuple[Wanted, ...]:
        return tuple(
            one if isinstance(one, Wanted) else wanted_of(self.shared[one].claim)
            for one in demand.claims
            if isinstance(one, Wanted) or self.is_open(one)
        )

    def _numbered(self, wanted: tuple[Wanted, ...]) -> Asked:
        return Asked(wanted, self._numbers.setdefault(wanted, len(self._numbers)))
