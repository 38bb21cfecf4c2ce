"""What `fit` says, asked pod by pod while claims get their devices; and random requests of claims."""

import random

import msgspec

from reconciler.cluster.devices.resource_claim import ALL, Allocated, Allocation, DeviceRequest, DeviceToleration
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
    nodes = []
    for row in range(len(world.pods)):
        shape = world.pods.shape[row]
        state = SchedulingState(world, devices=True)
        node = next((number for number in range(len(world.nodes)) if not state.verdict(shape, number)), -1)
        nodes.append(node)
        if node < 0:
            continue
        name = world.nodes[node].name
        use = world.pod_shapes[shape].claims[0]
        claim = next(one for one in world.resource_claims if one.name == use.claim)
        labels = {"kubernetes.io/hostname": name}.get
        pools, taken = Pools(world.resource_slices).of(name, labels), Taken(world.resource_claims)
        wanted = [Wanted(name=claim.name, requests=claim.requests)]
        allocator = NodeAllocator(Catalog(world.device_classes), pools, taken, name, labels, wanted)
        devices = tuple(
            Allocated(
                driver=one.device[0], pool=one.device[1], device=one.device[2], shared=one.parts is not None, consumed=one.parts
            )
            for one in allocator.search() or ()
        )
        allocation = Allocation(devices=devices, terms=only_on(name))
        after = msgspec.structs.replace(claim, allocation=allocation)
        claims = tuple(after if one is claim else one for one in world.resource_claims)
        world = msgspec.structs.replace(world, resource_claims=claims)
    return nodes
