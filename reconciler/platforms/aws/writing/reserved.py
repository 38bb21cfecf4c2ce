"""What AWS has reserved, and the zones that it moves work away from, for all groups of an account and region.

Both change while groups grow. If a group depends on them, they are read every minute, else every half hour. If the permission is
missing, the last answer is dropped and what depends on it is unknown. Without an answer for another cause, the last one stays.
The problem is reported if a group depends on it. Neither keeps anything else from being read.
"""

from collections.abc import Iterable

from reconciler.platforms.aws.facts.reservations import ACTIVE, OPEN, names_reservations
from reconciler.platforms.aws.facts.view import AwsView
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_launch import LaunchTemplateVersion
from reconciler.platforms.aws.kinds import MANAGED_RESOURCE, RESERVATION
from reconciler.platforms.aws.writing.calls import EC2, ZONAL_SHIFT, Aws, AwsError, Parameters, paged
from reconciler.values.decoding import convert

RESERVED_SECONDS = 60.0
RARELY_SECONDS = 1800.0
_RESERVATIONS_AT_ONCE, _RESOURCES_AT_ONCE = 1000, 100
_SHIFTED = (":autoScalingGroup:", ":cluster/")
"""Parts of the ARNs of Auto Scaling groups and EKS clusters."""
_EKS_CLUSTER = "eks:cluster-name"


class ReservedAndShifted:
    """The last answers of one account and region."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._due: dict[str, float] = {}
        self._items: dict[str, list[Parameters]] = {}
        self._failed: dict[str, str] = {}

    def ask(self, now: float, groups: Iterable[Parameters], templates: Iterable[Parameters]) -> None:
        """Ask for what is due. `problems` has what fails."""
        listed = list(groups)
        if not listed:
            return
        if now >= self._due.get(RESERVATION, now):
            self._ask_reservations(now, needed=names_any(listed, templates))
        if now >= self._due.get(MANAGED_RESOURCE, now) and any(map(_may_be_shifted, listed)):
            self._ask_shifts(now, needed=any(map(_registered, listed)))

    def items(self) -> dict[str, list[Parameters]]:
        """All that is known, by kind. A kind that could not be read is missing."""
        return dict(self._items)

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read although some group depends on it."""
        return tuple(self._failed.values())

    def _ask_reservations(self, now: float, *, needed: bool) -> None:
        action = "DescribeCapacityReservations"
        self._failed.pop(RESERVATION, None)
        try:
            items, _ = paged(self._aws, EC2, action, "CapacityReservations", _RESERVATIONS_AT_ONCE)
        except AwsError as error:
            self._fail(RESERVATION, action, error, needed=needed)
            self._due[RESERVATION] = now + (RESERVED_SECONDS if needed else RARELY_SECONDS)
            return
        self._items[RESERVATION] = items
        used = needed or any((one.get("State"), one.get("InstanceMatchCriteria")) == (ACTIVE, OPEN) for one in items)
        self._due[RESERVATION] = now + (RESERVED_SECONDS if used else RARELY_SECONDS)

    def _ask_shifts(self, now: float, *, needed: bool) -> None:
        """The service has an endpoint of its own, which a network may not let through."""
        action = "ListManagedResources"
        self._failed.pop(MANAGED_RESOURCE, None)
        self._due[MANAGED_RESOURCE] = now + RESERVED_SECONDS
        try:
            items, _ = paged(self._aws, ZONAL_SHIFT, action, "items", _RESOURCES_AT_ONCE)
        except AwsError as error:
            self._fail(MANAGED_RESOURCE, action, error, needed=needed)
            if not (needed or error.throttled):
                self._due[MANAGED_RESOURCE] = now + RARELY_SECONDS
            return
        self._items[MANAGED_RESOURCE] = [one for one in items if any(part in one["arn"] for part in _SHIFTED)]

    def _fail(self, kind: str, action: str, error: AwsError, *, needed: bool) -> None:
        if error.denied:
            self._items.pop(kind, None)
        if needed:
            self._failed[kind] = f"{action}: {error.message}"


def names_any(groups: Iterable[Parameters], templates: Iterable[Parameters]) -> bool:
    """Whether a group or one of its launch templates says which reserved capacity it uses."""
    view = AwsView(templates=tuple(convert(one, LaunchTemplateVersion) for one in templates))
    listed = (convert({**one, "Instances": []}, AutoScalingGroup) for one in groups)
    return any(names_reservations(one, view.template_data(one)) for one in listed)


def _registered(group: Parameters) -> bool:
    return bool((group.get("AvailabilityZoneImpairmentPolicy") or {}).get("ZonalShiftEnabled"))


def _may_be_shifted(group: Parameters) -> bool:
    return _registered(group) or any(tag["Key"] == _EKS_CLUSTER for tag in group.get("Tags") or ())
