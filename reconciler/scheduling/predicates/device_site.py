"""The devices of one node, and what of them is taken, in a form that equal nodes share."""

import msgspec

from reconciler.cluster.devices.resource_slice import ResourceSlice, Where
from reconciler.cluster.values.release import DeviceRules
from reconciler.scheduling.devices.pools import DeviceId, Pool, Pools, order_of_pools
from reconciler.scheduling.devices.taken import Taken
from reconciler.scheduling.label_match import Labels
from reconciler.scheduling.node_affinity import label_reader

_Parts = tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
SiteState = tuple[int, int, _Parts]
"""Which devices of a node are taken: as a whole and in part, as bits by position, and the parts by position."""


class DeviceSite:
    """The devices of one node. `layout` is equal for nodes whose devices differ only in the names of their own pools. It is -1
    where an answer hangs on more than that. `alone`: no other node reaches any of the devices."""

    __slots__ = ("alone", "ids", "labels", "layout", "name", "places", "pools", "state")

    def __init__(self, name: str, labels: Labels, pools: tuple[Pool, ...]) -> None:
        self.name = name
        self.labels = labels
        self.pools = pools
        self.ids: list[DeviceId] = []
        self.places: dict[DeviceId, int] = {}
        self.layout = -1
        self.alone = True
        self.state: SiteState = (0, 0, ())


def with_coming(pools: tuple[Pool, ...], coming: tuple[ResourceSlice, ...], name: str, rules: DeviceRules) -> tuple[Pool, ...]:
    """With the devices that drivers will offer on a node, in the order of `Pools.of`. A driver that offers devices of this node
    alone has come."""
    here = {pool.driver for pool in pools if any(item.where.node_name for item in pool.slices)}
    made = [
        msgspec.structs.replace(item, pool=f"{name}/{item.pool}", where=Where(node_name=name))
        for item in coming
        if item.driver not in here
    ]
    there = Pools(made, rules).of(name, label_reader((), name))
    return tuple(sorted((*pools, *there), key=order_of_pools))


def pool_content(pool: Pool) -> bytes:
    """All that an answer can hang on. The name of a pool of one node is left out: the order of the pools tells them apart."""
    shared = "" if all(item.where.node_name for item in pool.slices) else pool.name
    slices = tuple(item.devices for item in pool.slices)
    return _encode((pool.driver, shared, slices, pool.counter_sets, pool.incomplete, pool.invalid, pool.unmodelled))


_encode = msgspec.msgpack.Encoder().encode


def taken_of(site: DeviceSite, state: SiteState) -> Taken:
    """The devices that a state says are taken."""
    whole, part, parts = state
    taken = Taken(())
    taken.whole.update(device for place, device in enumerate(site.ids) if whole >> place & 1)
    amounts = dict(parts)
    for place, device in enumerate(site.ids):
        if part >> place & 1:
            taken.take_part(device, amounts.get(place))
    return taken


def state_of(site: DeviceSite, taken: Taken) -> SiteState:
    """Which of the node's devices are taken."""
    whole = part = 0
    parts = []
    for place, device in enumerate(site.ids):
        if device in taken.whole:
            whole |= 1 << place
        if device in taken.shared or device in taken.parts:
            part |= 1 << place
            if device in taken.parts:
                parts.append((place, tuple(sorted(taken.parts[device].items()))))
    return whole, part, tuple(parts)
