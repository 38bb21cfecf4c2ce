"""What `fit` says, asked pod by pod while claims get their devices; and random requests of claims."""

import copy
import random
from array import array

import msgspec

from reconciler.cluster.devices.resource_claim import (
    ALL,
    Allocated,
    Allocation,
    Alternative,
    DeviceRequest,
    DeviceToleration,
    ResourceClaim,
)
from reconciler.cluster.world import World
from reconciler.scheduling.devices.allocation import NodeAllocator, Wanted
from reconciler.scheduling.devices.catalog import Catalog
from reconciler.scheduling.devices.pools import Pools
from reconciler.scheduling.devices.taken import Taken
from reconciler.scheduling.state import SchedulingState
from tests.decisions.device_cluster import DRIVER, only_on, request


def random_request(rng: random.Random) -> DeviceRequest:
    """One to three devices of a model or of any, all of them, a part of each, or one of two alternatives."""
    model = f'device.attributes["{DRIVER}"].model == "{rng.choice(("a100", "h100"))}"'
    one = request(rng.randint(1, 3), *((model,) if rng.random() < 0.4 else ()))
    (asked,) = one.alternatives
    if rng.random() < 0.2:
        asked = msgspec.structs.replace(asked, mode=ALL, count=0)
    if rng.random() < 0.2:
        asked = msgspec.structs.replace(asked, tolerations=(DeviceToleration("broken", "Exists", "", ""),))
    if rng.random() < 0.3:
        asked = msgspec.structs.replace(asked, amounts=(("memory", rng.choice((10, 25)) * 1024**3 * 1000),))
    if rng.random() < 0.2:
        other = msgspec.structs.replace(asked, name="b", mode="ExactCount", count=1)
        return DeviceRequest(name="r", first_available=True, alternatives=(msgspec.structs.replace(asked, name="a"), other))
    return msgspec.structs.replace(one, alternatives=(asked,))


def one_by_one(world: World) -> list[int]:
    """Where each pod goes, in order: the first node that `fit` accepts, with the devices written into its claim."""
    nodes: list[int] = []
    for row in range(len(world.pods)):
        shape = world.pods.shape[row]
        state = SchedulingState(world, devices=True)
        node = next((number for number in range(len(world.nodes)) if not state.verdict(shape, number)), -1)
        nodes.append(node)
        if node >= 0:
            pods = copy.copy(world.pods)
            pods.node = array("i", nodes) + pods.node[row + 1 :]
            world = msgspec.structs.replace(world, resource_claims=_after(world, row, node), pods=pods)
    return nodes


def _after(world: World, row: int, node: int) -> tuple[ResourceClaim, ...]:
    """The claims with the devices that a pod gets on a node. One more claim is made for the extended resources that the node does
    not list."""
    shape, name = world.pod_shapes[world.pods.shape[row]], world.nodes[node].name
    uses = {use.claim for use in shape.claims}
    claims = [one for one in world.resource_claims if one.name in uses]
    listed = world.node_shapes[world.nodes[node].shape].allocatable
    from_devices = {one: amount for one, amount in shape.requests.extended if amount and not listed.get(one)}
    if from_devices:
        asked = [Alternative(name=one, device_class="gpu", count=amount) for one, amount in sorted(from_devices.items())]
        requests = tuple(DeviceRequest(name=one.name, alternatives=(one,)) for one in asked)
        uid = world.pods.uid[row]
        made = ResourceClaim(namespace="shop", name=f"of-{row}", owner_uid=uid, of_extended_resources=True, requests=requests)
        claims.append(made)
    labels = {"kubernetes.io/hostname": name}.get
    pools, taken = Pools(world.resource_slices, world.release.devices).of(name, labels), Taken(world.resource_claims)
    wanted = [Wanted(name=one.name, requests=one.requests) for one in claims]
    found = NodeAllocator(Catalog(world.device_classes), pools, taken, name, labels, wanted, world.release.devices).search() or ()
    after = []
    for number, claim in enumerate(claims):
        devices = tuple(
            Allocated(
                driver=one.device[0], pool=one.device[1], device=one.device[2], shared=one.parts is not None, consumed=one.parts
            )
            for one in found
            if one.claim == number
        )
        after.append(msgspec.structs.replace(claim, allocation=Allocation(devices=devices, terms=only_on(name))))
    return (*(one for one in world.resource_claims if one not in claims), *after)
