"""What of devices is taken: whole devices, and parts of those that several claims may share.

Source: `foreachAllocatedDevice` of plugin DynamicResources, and `consumable_capacity.go` of the allocator (incubating), 1.36
and 1.37. Amounts are in thousandths.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from reconciler.cluster.devices.resource_claim import Alternative, ResourceClaim
from reconciler.cluster.devices.resource_slice import Amounts, Device, DeviceCapacity
from reconciler.cluster.values.release import DeviceRules
from reconciler.scheduling.devices.pools import DeviceId

_MILLI = 1000


class Taken:
    """Which devices are taken. `unmodelled` is empty, or what of an allocation is not understood."""

    def __init__(self, claims: Iterable[ResourceClaim]) -> None:
        self.whole: set[DeviceId] = set()
        self.shared: set[DeviceId] = set()
        self.parts: dict[DeviceId, dict[str, int]] = {}
        self.unmodelled = ""
        self._sharing: Counter[DeviceId] = Counter()
        for claim in claims:
            allocation = claim.allocation
            if allocation is None:
                continue
            if allocation.unmodelled and not self.unmodelled:
                self.unmodelled = f"{allocation.unmodelled} in ResourceClaim {claim.namespace}/{claim.name}"
            for one in allocation.devices:
                device = one.driver, one.pool, one.device
                if one.admin:
                    continue
                if not one.shared:
                    self.whole.add(device)
                    continue
                self.take_part(device, one.consumed)

    def take_part(self, device: DeviceId, consumed: Amounts | None) -> None:
        """One more claim has a part of a device; `consumed` None: it does not say how much."""
        self.shared.add(device)
        self._sharing[device] += 1
        if consumed is not None:
            parts = self.parts.setdefault(device, {})
            for name, milli in consumed:
                parts[name] = parts.get(name, 0) + milli

    def free_part(self, device: DeviceId, consumed: Amounts | None) -> None:
        """One claim less has a part of a device."""
        self._sharing[device] -= 1
        parts = self.parts.get(device, {})
        for name, milli in consumed or ():
            parts[name] -= milli
        if self._sharing[device] <= 0:
            self.shared.discard(device)
            self.parts.pop(device, None)

    def has(self, device: DeviceId) -> bool:
        """Does any claim have the device or a part of it?"""
        return device in self.whole or device in self.shared or device in self.parts


def wanted_parts(request: Alternative, device: Device, rules: DeviceRules) -> dict[str, int] | None:
    """How much of each capacity the request would have, rounded as the device's policy says; None: the device cannot give it.

    Source: `CmpRequestOverCapacity` without what others have, and `GetConsumedCapacityFromRequest`.
    """
    wanted = dict(request.amounts)
    if not wanted.keys() <= {item.name for item in device.capacities}:
        return None
    unit = 1 if rules.fractions else _MILLI
    parts = {item.name: _rounded(wanted.get(item.name), item, unit) for item in device.capacities}
    return None if any(_is_against(parts[item.name], item, unit) for item in device.capacities) else parts


def fits_in(parts: Mapping[str, int], device: Device, taken: Mapping[str, int], taking: Mapping[str, int]) -> bool:
    """Is so much of each capacity left?"""
    return all(parts[item.name] + taken.get(item.name, 0) + taking.get(item.name, 0) <= item.milli for item in device.capacities)


def _rounded(wanted: int | None, item: DeviceCapacity, unit: int) -> int:
    if wanted is None:
        return item.milli if item.default_milli is None else item.default_milli
    if item.limited and item.min_milli is not None:
        return _in_steps(wanted, item.min_milli, item.step_milli, unit)
    return next((valid for valid in item.valid_milli if wanted <= valid), wanted)


def _in_steps(wanted: int, least: int, step: int | None, unit: int) -> int:
    if wanted < least:
        return least
    if not step:
        return wanted
    steps, rest = divmod(_units(wanted, unit) - _units(least, unit), _units(step, unit))
    return (_units(least, unit) + _units(step, unit) * (steps + bool(rest))) * unit


def _is_against(milli: int, item: DeviceCapacity, unit: int) -> bool:
    if not item.has_policy or milli == item.default_milli:
        return False
    if item.limited:
        if item.max_milli is not None and milli > item.max_milli:
            return True
        step = _units(item.step_milli or 0, unit)
        return bool(step) and (_units(milli, unit) - _units(item.min_milli or 0, unit)) % step != 0
    return bool(item.valid_milli) and milli not in item.valid_milli


def _units(milli: int, unit: int) -> int:
    """Units of so many thousandths, rounded up as `Quantity.Value` does."""
    return -(-milli // unit)
