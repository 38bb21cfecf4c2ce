"""Auto Scaling groups for a world."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.call_rate import Metered
from reconciler.platforms.aws.writing.calls import Answer, AwsError
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from tests.aws.documents import REGION
from tests.aws.service import reading, writing
from tests.aws.service.answering import Answering
from tests.aws.service.behaviour import leaving
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import M5_LARGE, Group, Instance
from tests.virtual.clouds.cloud import Errors, Surroundings
from tests.virtual.cluster import Machine
from tests.virtual.process import Parts, Process

_TYPES = {2: "m5.large", 4: "m5.xlarge", 8: "m5.2xlarge"}
_CPUS = {name: cpu for cpu, name in _TYPES.items()}
_WHOLE_REGION = "AZRebalance"
"""Auto Scaling ends instances to even out zones, and drains no node."""
_ERRORS: Errors = {
    "lost": lambda: AwsError("Unreachable", "Read timeout on endpoint URL", sent=True),
    "refused": lambda: AwsError("Throttling", "Rate exceeded", status=400),
    "denied": lambda: AwsError("AccessDenied", "User: u is not authorized to perform this", status=403),
    "expired": lambda: AwsError("ExpiredToken", "The security token included in the request is expired", status=403),
}


class _InProcess:
    """An `Aws` without a network."""

    def __init__(self, cloud: "AwsCloud", region: str) -> None:
        self._cloud, self._region = cloud, region

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        """One call, as the client of the SDK would end it."""
        writes = not action.startswith("Describe") and not action.startswith("List")
        what = f"cloud {action} {json.dumps(parameters, sort_keys=True, default=str)}"
        found: Answer = self._cloud.around.wire.call(
            what, lambda: self._done(service, action, parameters), writes=writes, errors=_ERRORS
        )
        return found

    def _done(self, service: str, action: str, parameters: dict[str, Any]) -> Answer:
        cloud = self._cloud
        cloud.settle()
        try:
            if service == "arc-zonal-shift":
                body = reading.managed_resources(cloud.account, self._region, parameters)
                for shift in (one for item in body["items"] for one in item["zonalShifts"]):
                    # The SDK makes instants of numbers.
                    shift |= {key: datetime.fromtimestamp(shift[key], UTC) for key in ("startTime", "expiryTime")}
            else:
                body = cloud.service.answer(service, self._region, action, parameters, "AKIATEST")
        except ServiceError as error:
            raise AwsError(error.code, error.message, status=error.status, sent=error.status >= 500) from None
        return Answer(json.loads(json.dumps(body, default=lambda one: one.isoformat())), int(cloud.account.now))


class AwsCloud:
    """Two groups of ours in one or two zones, and one of others."""

    names: tuple[str, ...] = ("spot", "general")
    sizes: tuple[int, ...] = (2, 4, 8)
    calls_a_minute = 120

    def __init__(self, around: Surroundings) -> None:
        shape = around.shape
        self.around, self.others = around, Counter[str]()
        self.service = Answering()
        self.account = self.service.account
        self.account.now = around.agenda.now
        for cpu, name in _TYPES.items():
            self.account.types[name] = {**M5_LARGE, "VCpuInfo": {"DefaultVCpus": cpu}, "MemoryInfo": {"SizeInMiB": 4096 * cpu}}
        timing = self.account.timing
        timing.launch, timing.terminate, timing.acts = shape.joins_seconds / 2, shape.ends_seconds, shape.acts_seconds
        self.groups = {
            name: self.account.add(_group(name, most, zones))
            for name, most, zones in zip(self.names, shape.most, (2 - int(shape.fails_hard), 2), strict=False)
        }
        self._strangers = self.account.add(_group("strangers", 5, 1, desired=2))
        if shape.lag_seconds:
            self.service.lag = lambda: around.wire.chance(shape.lag_seconds)
        self._broken: set[str] = set()
        self._leaving: set[str] = set()

    def target(self, name: str) -> str:
        return f"target: {{aws: {{autoScalingGroup: {name}, region: {REGION}}}}}"

    def parts(self, process: Process) -> Parts:
        accounts = Accounts(lambda region, _role: _InProcess(self, region))
        accounts.put(REGION, "", Metered(_InProcess(self, REGION)))
        poll = AwsPoll(accounts, process.current, remembered=process.remembered, pods_wait=process.pods_wait)
        return Parts(
            {AUTO_SCALING_GROUP: AwsProvider(accounts)}, (poll,), wake=lambda ask: accounts.on_write(lambda *_: ask())
        )  # fmt: skip

    def settle(self) -> None:
        # By whole steps: what Auto Scaling does by itself is not asked for more often.
        if (passed := self.around.agenda.now - self.account.now) > 0:
            self.service.advance(passed)

    def machines(self) -> list[Machine]:
        now, joins = self.around.agenda.now, self.around.shape.joins_seconds
        return [
            Machine(
                node=f"n-{one.instance_id}", group=group.name if group is not self._strangers else "",
                provider_id=f"aws:///{one.zone}/{one.instance_id}", zone=one.zone, cpu=_CPUS[one.instance_type],
                ready=one.instance_id not in self._broken,
                labels=(("node.kubernetes.io/instance-type", one.instance_type),),
            )
            for group in self.account.groups.values()
            for one in group.instances.values()
            if now >= one.launched_at + joins or (one.state == "InService" and group is self._strangers)
        ]  # fmt: skip

    def ending(self) -> list[str]:
        ends = {one.instance_id for group in self.account.groups.values() for one in group.instances.values() if leaving(one)}
        new, self._leaving = ends - self._leaving, ends
        return sorted(f"n-{name}" for name in new)

    def size(self, name: str) -> int:
        return self.groups[name].desired

    def most(self, name: str) -> int:
        return self.groups[name].max_size

    def zones(self, name: str) -> tuple[str, ...]:
        return tuple(self.groups[name].zones)

    def cpu(self, name: str) -> int:
        return _CPUS[self.groups[name].instance_type]

    def declared(self, name: str) -> int:
        return self.cpu(name)

    def has_stock(self, name: str, zone: str) -> bool:
        group = self.groups[name]
        return zone not in group.shifted_from and self.account.stock.get((zone, group.instance_type), 1) > 0

    def stock(self, name: str, zone: str, left: int | None) -> None:
        key = zone, self.groups[name].instance_type
        if left is None:
            self.account.stock.pop(key, None)
        else:
            self.account.stock[key] = left

    def template(self, name: str, cpu: int) -> None:
        group = self.groups[name]
        group.instance_type, group.version = _TYPES[cpu], group.version + 1

    def shift(self, name: str, zone: str | None) -> None:
        self.groups[name].shifted_from = set() if zone is None else {zone}

    def by_hand(self, name: str, size: int) -> None:
        group = self.groups[name]
        wanted = min(max(size, 0), group.max_size)
        self.others[name] += max(0, group.desired - wanted)
        writing.set_desired(self.account, REGION, {"AutoScalingGroupName": name, "DesiredCapacity": wanted})

    def breaks(self, number: int) -> None:
        running = [one for one in self._ours() if one.state == "InService" and one.instance_id not in self._broken]
        if running:
            self._broken.add(running[number % len(running)].instance_id)

    def heals(self) -> None:
        self._broken.clear()
        self.account.stock.clear()
        for group in self.groups.values():
            group.shifted_from.clear()
        self.service.at_once()

    def _ours(self) -> list[Instance]:
        return [one for group in self.groups.values() for one in group.counted]


def _group(name: str, most: int, zones: int, desired: int = 0) -> Group:
    made = Group(
        name=name, region=REGION, min_size=0, max_size=most, desired=desired, zones=[f"{REGION}{one}" for one in "ab"[:zones]]
    )
    made.suspended.add(_WHOLE_REGION)
    made.follows = "$Latest"
    if zones > 1:
        made.extra["AvailabilityZoneImpairmentPolicy"] = {"ZonalShiftEnabled": True}
    return made
