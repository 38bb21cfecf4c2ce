"""Pods that wait and have a claim for extended resources from an earlier attempt: kube-scheduler deletes it before the next one.

Source: `preFilterExtendedResources` of plugin DynamicResources, 1.36. Until then it says no on every node.
"""

from array import array

import msgspec

from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.world import World
from reconciler.scheduling.devices.catalog import served_resources

LEFT_OVER = ClaimUse(
    name="extended resources", generated=True, unclear="an earlier claim for its extended resources must be deleted first"
)
"""What the shape of such a pod has in addition."""


def with_left_over_claims(world: World) -> World:
    """The World in which such pods have a shape of their own, which nobody places. The result for a result is itself."""
    # One without requests was never used.
    owners = {claim.owner_uid for claim in world.resource_claims if claim.of_extended_resources and claim.requests}
    if not owners or not world.release.device_classes:
        return world
    served = served_resources(world.device_classes)
    pods = world.pods
    waiting = [row for row, uid in enumerate(pods.uid) if uid in owners and pods.node[row] < 0 and row not in pods.unknown_node]
    column, shapes = array("i", pods.shape), list(world.pod_shapes)
    numbers: dict[PodShape, int] = {}
    for row in waiting:
        shape = shapes[column[row]]
        if LEFT_OVER in shape.claims or not any(amount and name in served for name, amount in shape.requests.extended):
            continue
        left = msgspec.structs.replace(shape, claims=(*shape.claims, LEFT_OVER))
        number = numbers.setdefault(left, len(shapes))
        if number == len(shapes):
            shapes.append(left)
        column[row] = number
    return msgspec.structs.replace(world, pod_shapes=tuple(shapes), pods=pods.with_columns(shape=column)) if numbers else world
