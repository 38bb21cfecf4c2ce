"""What the service holds: groups with their instances, activities, and how much of what each zone has left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

M5_LARGE = {
    "VCpuInfo": {"DefaultVCpus": 2},
    "MemoryInfo": {"SizeInMiB": 8192},
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
    "NetworkInfo": {
        "MaximumNetworkInterfaces": 3,
        "Ipv4AddressesPerInterface": 10,
        "DefaultNetworkCardIndex": 0,
        "NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 3}],
    },
}
LEAVING = ("Terminating", "Terminated")
ACCOUNT = "123456789012"


@dataclass
class Instance:
    """`changes_at` is when its state moves on by itself."""

    instance_id: str
    instance_type: str
    zone: str
    state: str
    changes_at: float
    health: str = "Healthy"
    protected: bool = False
    launched_at: float = 0
    reservation: str = ""
    version: int = 1
    """Of the launch template."""

    @property
    def counts(self) -> bool:
        """Whether it is part of desired capacity."""
        return not self.state.startswith((*LEAVING, "Standby", "EnteringStandby", "Detach", "Warmed"))


@dataclass
class WarmPool:
    """Instances beside a group that have been started once. SOURCE: Amazon EC2 Auto Scaling, PutWarmPool: as many as are between
    desired capacity and the largest (`prepared`, else the group's maximum), never fewer than `least`; `state` is what they wait
    in; `reuses`: what leaves the group comes here."""

    least: int = 0
    prepared: int | None = None
    state: str = "Stopped"
    reuses: bool = False


@dataclass
class Reservation:
    """An On-Demand Capacity Reservation, or a Capacity Block (`kind`). `others` are instances that are in no group. SOURCE: the
    user guide of Amazon EC2: a block's instances are terminated from 30 minutes before its end on."""

    name: str
    region: str
    zone: str
    total: int
    instance_type: str = "m5.large"
    kind: str = "default"
    criteria: str = "targeted"
    state: str = "active"
    ends_at: float | None = None
    others: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Group:
    """One Auto Scaling group. `extra` are fields of its description that nothing here acts on."""

    name: str
    region: str
    min_size: int
    max_size: int
    desired: int
    zones: list[str]
    instance_type: str = "m5.large"
    tags: dict[str, str] = field(default_factory=dict)
    suspended: set[str] = field(default_factory=set)
    instances: dict[str, Instance] = field(default_factory=dict)
    launch_hook_seconds: float = 0
    abandons: bool = False
    """Its launch hook ends with ABANDON: the instance goes, and another one is launched."""
    fails_after_seconds: float = 0
    """An instance is found unhealthy so long after it came into service (0: never)."""
    terminate_hook_seconds: float = 0
    retains: bool = False
    """An instance whose hook on the way out is abandoned stays, beside the group."""
    protects_new: bool = False
    operator: str = ""
    policies: list[dict[str, Any]] = field(default_factory=list)
    schedules: list[dict[str, Any]] = field(default_factory=list)
    refreshes: list[dict[str, Any]] = field(default_factory=list)
    blocked_by_activity: str = ""
    changed_by: str = ""
    """The first part of the causes of activities: what changed desired capacity last."""
    retry_at: float = 0
    acts_at: float = 0
    pool: WarmPool | None = None
    shifted_from: set[str] = field(default_factory=set)
    """Zones that a zonal shift moves the group away from, if it is registered."""
    template: dict[str, Any] = field(default_factory=dict)
    """Fields of its launch template beside the instance type."""
    version: int = 1
    """The number of the newest version of its launch template."""
    follows: str = "1"
    """The version that the group names: a number, or `$Latest`."""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """Its ARN."""
        return f"arn:aws:autoscaling:{self.region}:{ACCOUNT}:autoScalingGroup:{self.name}-id:autoScalingGroupName/{self.name}"

    @property
    def counted(self) -> list[Instance]:
        """The instances that desired capacity speaks of, oldest first."""
        return sorted((one for one in self.instances.values() if one.counts), key=lambda one: (one.launched_at, one.instance_id))

    @property
    def warmed(self) -> list[Instance]:
        """The instances of its warm pool, oldest first, those on their way in and out among them."""
        found = (one for one in self.instances.values() if one.state.startswith("Warmed"))
        return sorted(found, key=lambda one: (one.launched_at, one.instance_id))

    @property
    def avoided(self) -> set[str]:
        """Zones in which nothing is launched for now."""
        registered = self.extra.get("AvailabilityZoneImpairmentPolicy", {}).get("ZonalShiftEnabled", False)
        return self.shifted_from if registered else set()

    @property
    def wants(self) -> tuple[str, list[str]]:
        """Its preference for reserved capacity, and the reservations that it names."""
        own = self.extra.get("CapacityReservationSpecification", {})
        preference = own.get("CapacityReservationPreference", "default")
        if preference != "default":
            return preference, own.get("CapacityReservationTarget", {}).get("CapacityReservationIds", [])
        target = self.template.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
        named = target.get("CapacityReservationId")
        return ("capacity-reservations-only", [named]) if named else ("default", [])

    @property
    def launch_template(self) -> str:
        """The id of the template that its instances are made from."""
        return f"lt-{self.name}"


@dataclass
class Throttle:
    """A token bucket over all calls of one account and region. `capacity` 0: endless."""

    capacity: float = 0
    per_second: float = 0
    tokens: float = 0
    at: float = 0

    def take(self, now: float) -> bool:
        """Whether there was a token left."""
        if not self.capacity:
            return True
        self.tokens = min(self.capacity, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass
class Timing:
    """How long things take, in seconds of the service's own clock."""

    launch: float = 30
    terminate: float = 20
    start: float = 5
    """Of an instance that was started before."""
    retry: float = 60
    acts: float = 0
    """From a lower desired capacity until instances are chosen to go."""


@dataclass
class Account:
    """Everything of one account. `reservations` are keyed by their ids. `stock` by (zone, instance type): how many there are
    left; without an entry, endless.

    `before` are called with action and parameters before the service acts on a call: something that happens between the read and
    the write of a client. `answers` replace the handling of an action altogether, once each.
    """

    now: float = 1_800_000_000
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    stock: dict[tuple[str, str], int] = field(default_factory=dict)
    stock_error: tuple[str, str] = ("InsufficientInstanceCapacity", "")
    activities: list[dict[str, Any]] = field(default_factory=list)
    timing: Timing = field(default_factory=Timing)
    throttle: Throttle = field(default_factory=Throttle)
    policies: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    throttled: int = 0
    before: list[Callable[[str, dict[str, Any]], None]] = field(default_factory=list)
    faults: dict[str, list[Exception | str]] = field(default_factory=dict)
    tokens: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    nodegroups: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, dict[str, Any]] = field(default_factory=lambda: {"m5.large": M5_LARGE})
    dead_keys: dict[str, str] = field(default_factory=dict)
    """Key ids that no longer work, with the code that their calls are refused with."""
    ended: list[tuple[str, str]] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    """Instances that ran until the end of their Capacity Block."""
    joined: list[Callable[[Group, Instance], None]] = field(default_factory=list)
    gone: list[Callable[[Group, Instance], None]] = field(default_factory=list)
    _numbers: int = 0

    def number(self) -> int:
        """One more, every time."""
        self._numbers += 1
        return self._numbers

    def free(self, reservation: Reservation) -> int:
        """How many more instances run in it."""
        taken = sum(one.reservation == reservation.name for group in self.groups.values() for one in group.instances.values())
        return reservation.total - reservation.others - taken

    def add(self, group: Group, *, running: int | None = None) -> Group:
        """A group, with that many instances that have long been there (as many as desired when left out)."""
        self.groups[group.region, group.name] = group
        for index in range(group.desired if running is None else running):
            self.launched(group, group.zones[index % len(group.zones)]).state = "InService"
        return group

    def launched(self, group: Group, zone: str) -> Instance:
        """A new instance, Pending."""
        number = self.number()
        instance = Instance(
            instance_id=f"i-{number:017x}",
            instance_type=group.instance_type,
            zone=zone,
            state="Pending",
            changes_at=self.now + self.timing.launch,
            protected=group.protects_new,
            launched_at=self.now + number / 1e6,
            version=group.version,
        )
        group.instances[instance.instance_id] = instance
        return instance
