"""Pods that wait and have a claim for extended resources from an earlier attempt: kube-scheduler deletes it before the next one.

Source: `preFilterExtendedResources` of plugin DynamicResources, 1.36. Until then it says no on every node.
"""

from array import array

import msgspec

from reconciler.cluster.devices.resource_claim import ResourceClaim
from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.world import World

_LEFT = ClaimUse(name="extended resources", generated=True, unclear="an earlier claim for its extended resources must be deleted first")


def is_left_over(claim: ResourceClaim) -> bool:
    """Is it a claim that its pod cannot be placed with? One without requests was never used."""
    return claim.of_extended_resources and bool(claim.requests)


def with_left_over_claims(world: World) -> World:
    """The World in which such pods have a shape of their own, which nobody places. The result for a result is itself."""
    owners = {claim.owner_uid for claim in world.resource_claims if is_left_over(claim)}
    pods = world.pods
    waiting = [row for row in pods.pending() if pods.uid[row] in owners] if owners else []
    column, shapes = array("i", pods.shape), list(world.pod_shapes)
    numbers: dict[PodShape, int] = {}
    for row in waiting:
        shape = shapes[column[row]]
        if not shape.requests.extended or _LEFT in shape.claims:
            continue
        left = msgspec.structs.replace(shape, claims=(*shape.claims, _LEFT))
        number = numbers.setdefault(left, len(shapes))
        if number == len(shapes):
            shapes.append(left)
        column[row] = number
    return msgspec.structs.replace(world, pod_shapes=tuple(shapes), pods=pods.with_shapes(column)) if numbers else world
