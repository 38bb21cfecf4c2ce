"""What pods of a shape ask of devices while they are placed, and who shares a claim."""

import msgspec

from reconciler.cluster.devices.resource_claim import Allocation, ResourceClaim
from reconciler.cluster.devices.resource_slice import Where
from reconciler.scheduling.devices.allocation import Given, Wanted

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
