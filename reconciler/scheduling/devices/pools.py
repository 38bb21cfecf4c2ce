"""The pools of devices that a node reaches.

Source: `GatherPools` of the allocator (incubating) in dynamic-resource-allocation 1.36 and 1.37.
"""

from collections.abc import Callable, Iterable

import msgspec

from reconciler.cluster.devices.resource_slice import Amounts, Device, ResourceSlice, Where
from reconciler.cluster.values.release import DeviceRules
from reconciler.scheduling.label_match import Labels
from reconciler.scheduling.node_affinity import term_matches

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """One pool as a node sees it. `slices` are those with devices that the node reaches. `elsewhere` are others: their devices
    may consume the same counters. No device of an incomplete or invalid pool can be had."""

    driver: str
    name: str
    slices: tuple[ResourceSlice, ...] = ()
    elsewhere: tuple[ResourceSlice, ...] = ()
    counter_sets: tuple[tuple[str, Amounts], ...] = ()
    incomplete: bool = False
    invalid: str = ""
    unmodelled: str = ""

    @property
    def title(self) -> str:
        """`driver/pool`."""
        return f"{self.driver}/{self.name}"

    def device_id(self, device: Device) -> DeviceId:
        """What tells a device of the pool from all others."""
        return self.driver, self.name, device.name


def reaches(where: Where, name: str, labels: Labels) -> bool:
    """Does a node reach what is there? Source: `NodeMatches`."""
    if where.node_name:
        return where.node_name == name
    if where.all_nodes:
        return True
    return where.terms is not None and any(term_matches(term, labels, name) for term in where.terms)


class Pools:
    """All slices of a cluster, by pool and by node."""

    def __init__(self, slices: Iterable[ResourceSlice], rules: DeviceRules) -> None:
        self._rules = rules
        self._of_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
        self._of_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[ResourceSlice] = []
        for item in slices:
            self._of_pool.setdefault((item.driver, item.pool), []).append(item)
            if item.where.node_name and (rules.counters_where_reached or not item.counter_sets):
                self._of_node.setdefault(item.where.node_name, []).append(item)
            else:
                self._shared.append(item)
        self._unclear = {key: unclear for key, kept in self._of_pool.items() if (unclear := _unclear(kept))}
        drivers: dict[str, set[str]] = {}
        for (driver, pool), kept in self._of_pool.items():
            if any(device.counters for item in kept for device in item.devices):
                drivers.setdefault(pool, set()).add(driver)
        self._ambiguous = {pool for pool, names in drivers.items() if len(names) > 1}

    def of(self, name: str, labels: Labels) -> tuple[Pool, ...]:
        """The pools of a node in the order in which devices are taken: those that wait for conditions last, then by driver and
        name."""
        found: dict[tuple[str, str], list[ResourceSlice]] = {}
        for item in (*self._of_node.get(name, ()), *self._shared):
            if not self._is_relevant(item, name, labels):
                continue
            kept = found.setdefault((item.driver, item.pool), [])
            if kept and item.generation > kept[0].generation:
                kept.clear()
            if not kept or item.generation == kept[0].generation:
                kept.append(item)
        pools = [pool for key, kept in found.items() if (pool := self._pool(key, kept)) is not None]
        return tuple(sorted(pools, key=order_of_pools))

    def _is_relevant(self, item: ResourceSlice, name: str, labels: Labels) -> bool:
        # Counters are needed wherever devices of the pool are.
        if item.counter_sets and not self._rules.counters_where_reached:
            return True
        if item.where != Where():
            return reaches(item.where, name, labels)
        return item.per_device and any(reaches(device.where, name, labels) for device in item.devices)

    def _pool(self, key: tuple[str, str], relevant: list[ResourceSlice]) -> Pool | None:
        """None: the driver is replacing these slices by others, which the node does not reach."""
        driver, name = key
        unclear = self._unclear.get(key, "")
        if not unclear and name in self._ambiguous:
            unclear = f"counters of pools named {name} of several drivers"
        generation, count = relevant[0].generation, relevant[0].slice_count
        every = relevant
        if len(relevant) != count:
            if any(item.generation > generation for item in self._of_pool[key]):
                return None
            every = [item for item in self._of_pool[key] if item.generation == generation]
            if len(every) != count:
                return Pool(driver=driver, name=name, incomplete=True, unmodelled=unclear)
        here = sorted(relevant, key=lambda item: item.name)
        names = {item.name for item in here}
        elsewhere = tuple(item for item in every if item.name not in names)
        with_devices = tuple(item for item in here if not item.counter_sets)
        counter_sets = tuple(one for item in (*here, *elsewhere) for one in item.counter_sets)
        return Pool(
            driver=driver,
            name=name,
            slices=with_devices,
            elsewhere=elsewhere,
            counter_sets=counter_sets,
            invalid=_invalid(with_devices, counter_sets, (*here, *elsewhere)),
            unmodelled=unclear,
        )


def _unclear(slices: list[ResourceSlice]) -> str:
    """What of a pool is not understood: the answer of the allocator would hang on the order of its objects."""
    newest = max(item.generation for item in slices)
    if len({item.slice_count for item in slices if item.generation == newest}) > 1:
        return f"slices of pool {slices[0].pool} that disagree about their number"
    return next((f"{item.unmodelled} in ResourceSlice {item.name}" for item in slices if item.unmodelled), "")


def order_of_pools(pool: Pool) -> tuple[bool, str, str]:
    """Those that wait for conditions come last, then by driver and name."""
    return _waits(pool), pool.driver, pool.name


def _waits(pool: Pool) -> bool:
    return any(device.waits for item in pool.slices for device in item.devices)


def _invalid(
    slices: tuple[ResourceSlice, ...], counter_sets: tuple[tuple[str, Amounts], ...], every: tuple[ResourceSlice, ...]
) -> str:
    """Why nobody takes devices of the pool; empty: it is valid."""
    twice = _repeated(device.name for item in slices for device in item.devices)
    if twice:
        return f"two devices are named {twice}"
    twice = _repeated(name for name, _ in counter_sets)
    if twice:
        return f"two counter sets are named {twice}"
    known = {name: {counter for counter, _ in counters} for name, counters in counter_sets}
    for item in every:
        for device in item.devices:
            for name, counters in device.counters:
                if name not in known:
                    return f"device {device.name} consumes counters of {name}, which is not there"
                if not known[name].issuperset(counter for counter, _ in counters):
                    return f"device {device.name} consumes a counter that {name} does not have"
    return ""


def _repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    add: Callable[[str], None] = seen.add
    for name in names:
        if name in seen:
            return name
        add(name)
    return ""
