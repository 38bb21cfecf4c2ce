"""Constraints between the devices of a claim: one attribute that is equal, or different.

Source: `matchAttributeConstraint` and `distinctAttributeConstraint` of the allocator (incubating), 1.36 and 1.37, with their
habits. Until 1.36, a constraint of different values remembers one value per request.
"""

from collections.abc import Callable

from reconciler.cluster.devices.resource_claim import Constraint
from reconciler.cluster.devices.resource_slice import Attribute, Device
from reconciler.cluster.values.release import DeviceRules

Undo = Callable[[], None]


class Tracked:
    """A constraint while devices are picked."""

    def __init__(self, constraint: Constraint, rules: DeviceRules) -> None:
        self._constraint = constraint
        self._each = constraint.distinct and rules.each_is_distinct
        self._values: dict[str | int, Attribute] = {}
        self._count = 0

    def add(self, request: str, alternative: str, driver: str, device: Device) -> bool:
        """Pick the device too. False, and nothing done, if the constraint does not allow it."""
        if not self._concerns(request, alternative):
            return True
        value = attribute_of(self._constraint.attribute, driver, device)
        if value is None:
            return False
        distinct = self._constraint.distinct
        if self._count and any(_same(value, known) is distinct for known in self._values.values()):
            return False
        if not self._count and not distinct:
            self._values.clear()
        if distinct or not self._count:
            self._values[self._count if self._each else request if distinct else ""] = value
        self._count += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        """Undo one `add` that succeeded."""
        if self._concerns(request, alternative):
            self._count -= 1
            if self._constraint.distinct:
                self._values.pop(self._count if self._each else request, None)

    def _concerns(self, request: str, alternative: str) -> bool:
        named = self._constraint.requests
        return not named or request in named or (bool(alternative) and f"{request}/{alternative}" in named)


def attribute_of(name: str, driver: str, device: Device) -> Attribute | None:
    """A device's attribute by its name with a domain. A name without a domain is in that of the driver."""
    domain, _, rest = name.partition("/")
    found = {item.name: item for item in device.attributes}
    return found.get(name) or (found.get(rest) if rest and domain == driver else None)


def _same(one: Attribute, other: Attribute) -> bool:
    return (one.kind, one.text) == (other.kind, other.text)
