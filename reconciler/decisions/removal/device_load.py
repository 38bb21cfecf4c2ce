"""How much of the devices of each node is in use.

Source: Cluster Autoscaler 1.36, `simulator/utilization`: the fullest pool of a node counts. There, devices hide how full cpu and
memory are; here, the larger share counts. There, an incomplete pool is an error that keeps the node. Here, it is full as soon as
one of its devices is in use.
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
    devices = {device.name: device for item in slices for device in item.devices}
    totals = {(name, counter): milli for item in slices for name, counters in item.counter_sets for counter, milli in counters}
    if totals:
        # Devices of such a pool are made of the same parts: what they consume counts, not how many they are.
        return max(_permille(amount, totals[part]) for part, amount in _consumed(devices, used, totals).items())
    known = set(used)
    parts = sum(_part(key, devices[name], taken) if name in devices else _FULL for name in known)
    return -(-parts // len(devices.keys() | known))


def _consumed(
    devices: Mapping[str, Device], used: Iterable[str], totals: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    consumed = dict.fromkeys(totals, 0)
    for name in used:
        for counter_set, counters in devices[name].counters if name in devices else ():
            for counter, milli in counters:
                if (counter_set, counter) in consumed:
                    consumed[counter_set, counter] += milli
    return consumed


def _part(key: _Pool, device: Device, taken: Taken) -> int:
    """How much of one device is in use: all, or the largest part of its capacities."""
    parts = taken.parts.get((*key, device.name))
    if (*key, device.name) in taken.whole or not parts:
        return _FULL
    return max((_permille(parts.get(item.name, 0), item.milli) for item in device.capacities), default=_FULL)


def _permille(amount: int, total: int) -> int:
    return min(_FULL, -(-amount * _FULL // total)) if total > 0 else _FULL if amount > 0 else 0
