"""How much of the devices of each node is in use.

Source: Cluster Autoscaler 1.36, `simulator/utilization`: the fullest pool of a node counts, and of a counter set the fullest
counter. There, devices hide how full cpu and memory are; here, the larger share counts. There, an incomplete pool is an error
that keeps the node. Here, it is full as soon as one of its devices is in use.
"""

from collections.abc import Iterable, Mapping

from reconciler.cluster.devices.resource_slice import Device, ResourceSlice
from reconciler.cluster.world import World
from reconciler.scheduling.devices.taken import Taken

_FULL = 1000
_Pool = tuple[str, str]


def device_shares(world: World) -> Mapping[str, int]:
    """Permille by node name, rounded up, for nodes with devices of their own of which some are in use. A device that a claim has
    and no slice lists is there all the same: some drivers hide devices in use."""
    claims = [claim for claim in world.resource_claims if claim.allocation is not None]
    if not claims or not world.resource_slices:
        return {}
    taken = Taken(claims)
    used: dict[_Pool, set[str]] = {}
    for driver, pool, device in {*taken.whole, *taken.shared}:
        used.setdefault((driver, pool), set()).add(device)
    slices: dict[_Pool, list[ResourceSlice]] = {}
    for item in world.resource_slices:
        if (item.driver, item.pool) in used:
            slices.setdefault((item.driver, item.pool), []).append(item)
    shares: dict[str, int] = {}
    for key, every in slices.items():
        newest = max(item.generation for item in every)
        current = [item for item in every if item.generation == newest]
        node = current[0].where.node_name
        if node:
            share = _FULL if len(current) != current[0].slice_count else _share(key, current, used[key], taken)
            shares[node] = max(share, shares.get(node, 0))
    return shares


def _share(key: _Pool, slices: list[ResourceSlice], used: Iterable[str], taken: Taken) -> int:
    """Permille. Devices made of the same parts count by what they consume of these, not by how many they are. A counter set
    counts as one device, and so does every device without counters."""
    devices = {device.name: device for item in slices for device in item.devices}
    totals = {name: dict(counters) for item in slices for name, counters in item.counter_sets}
    known = set(used)
    consumed: dict[tuple[str, str], int] = {}
    for name in known & devices.keys():
        for counter_set, counters in devices[name].counters:
            for counter, milli in counters:
                consumed[counter_set, counter] = consumed.get((counter_set, counter), 0) + milli
    plain = {name for name in devices.keys() | known if name not in devices or not _counted(devices[name], totals)}
    parts = sum(
        max((_permille(consumed.get((name, counter), 0), total) for counter, total in counters.items()), default=0)
        for name, counters in totals.items()
    )
    parts += sum(_part(key, devices[name], taken) if name in devices else _FULL for name in known & plain)
    return -(-parts // (len(totals) + len(plain)))


def _counted(device: Device, totals: Mapping[str, object]) -> bool:
    """Whether a counter set of its pool says how much of it is in use."""
    return any(name in totals for name, _ in device.counters)


def _part(key: _Pool, device: Device, taken: Taken) -> int:
    """How much of one device is in use: all, or the largest part of its capacities."""
    parts = taken.parts.get((*key, device.name))
    if (*key, device.name) in taken.whole or not parts:
        return _FULL
    return max((_permille(parts.get(item.name, 0), item.milli) for item in device.capacities), default=_FULL)


def _permille(amount: int, total: int) -> int:
    return min(_FULL, -(-amount * _FULL // total)) if total > 0 else _FULL if amount > 0 else 0
