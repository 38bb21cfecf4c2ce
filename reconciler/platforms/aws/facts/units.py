"""Auto Scaling groups whose numbers are not counts of instances: with weights, or with vCPUs or memory as the unit.

SOURCE: Amazon EC2 Auto Scaling, instance weights and `DesiredCapacityType`. Desired capacity, its bounds and the on-demand base
are in units. Each instance counts for the weight of its type, or for its vCPUs or MiB. AWS launches until the units are reached,
and the last instance may pass them. It ends an instance only if the others reach them without it.
"""

from collections.abc import Callable

import msgspec

from reconciler.platforms.aws.facts.choices import Choices
from reconciler.platforms.aws.facts.instance_types import KnownType
from reconciler.platforms.aws.facts.view import AwsView
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.values.whole_number import whole_number

IN_SERVICE = "InService"
NOT_COUNTED = ("Terminating", "Terminated", "Detaching", "Detached", "Standby", "EnteringStandby", "Warmed:")
_AMOUNTS: dict[str, Callable[[KnownType], int]] = {
    "vcpu": lambda known: known.machine.vcpus,
    "memory-mib": lambda known: known.machine.memory_mib,
}


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """What instances count for. `possible` are the sorted amounts of all types that the group may have, `there` those of its
    instances (None: unknown). `name` is the unit, as evidence shows it."""

    name: str
    possible: tuple[int, ...]
    there: tuple[int | None, ...]

    @property
    def _most(self) -> int:
        return max((*self.possible, *(amount for amount in self.there if amount is not None)), default=0)

    def fewest(self, units: int) -> int:
        """The number of instances that reach `units` for certain, and that AWS cannot do without. 0 if nobody knows."""
        return -(-units // self._most) if self._most else 0

    def most(self, units: int) -> int | None:
        """The largest number of instances that fit into `units`. None if nobody knows."""
        known = (*self.possible, *(amount for amount in self.there if amount is not None))
        return units // min(known) if known else None

    def nodes(self, desired: int) -> int:
        """Desired capacity as a number of nodes: those that are there, and the fewest that must come or go. If an amount is
        unknown, only those that are there count."""
        known = [amount for amount in self.there if amount is not None]
        if len(known) < len(self.there) or not self._most:
            return len(self.there)
        missing = desired - sum(known)
        return len(known) + (self.fewest(missing) if missing > 0 else -(-missing // self._most))


def units_of(item: AutoScalingGroup, choices: Choices, view: AwsView) -> Units | None:
    """None: the group counts instances."""
    mixed = item.mixed_instances_policy.launch_template if item.mixed_instances_policy else None
    by_type = {one.instance_type: _weight(one.weighted_capacity) for one in (mixed.overrides if mixed else None) or ()}
    kind = item.desired_capacity_type or "units"
    amount = _AMOUNTS.get(kind)
    there: list[int | None] = []
    for one in item.instances or ():
        if one.lifecycle_state.startswith(NOT_COUNTED):
            continue
        known = view.known(one.instance_type)
        if one.weighted_capacity is not None or kind == "units":
            there.append(_weight(one.weighted_capacity) if one.weighted_capacity else by_type.get(one.instance_type, 1))
        else:
            there.append(amount(known) if amount is not None and known is not None else None)
    if kind == "units":
        weights = sorted({weight for weight in (*by_type.values(), *there) if weight is not None})
        if not set(weights) - {1}:
            return None
        return Units(name=f"weighted capacity ({', '.join(map(str, weights))})", possible=tuple(weights), there=tuple(there))
    possible = {amount(known) for known in choices.types} if amount is not None and not choices.problems else set()
    return Units(name=f"DesiredCapacityType {kind}", possible=tuple(sorted(possible - {0})), there=tuple(there))


def _weight(text: str | None) -> int:
    """SOURCE: the API's pattern of WeightedCapacity: 1 to 999. Without one, an instance counts for 1."""
    return max(1, whole_number(text or "") or 1)
