"""What is known of one account and region, and when each part of it is asked again.

Most groups rarely change, so the whole list is asked seldom. Some are asked as often as the caller asks: groups that move (not
all instances in service), written groups, and groups with a hold tag. People change what surrounds groups, such as
scaling policies, so that is read every half hour. A write reads all of it first. If that read finds another writer, the
surroundings are read again. While pods wait, somebody may raise a limit, remove a policy or correct a template for them. Then all
three are read again within a minute.

SOURCE of the budget: one call every 10 s makes 360 calls per hour for every kind of answer. Users report thousands
(kubernetes/autoscaler#252, #3877).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.decisions.groups.cluster_names import CLUSTER_MARK
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.platforms.aws.facts.notices import RETAINED
from reconciler.platforms.aws.facts.ownership import WRITABLE_STATES
from reconciler.platforms.aws.facts.units import IN_SERVICE, NOT_COUNTED
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, READ_LAG_SECONDS
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, Aws, AwsError, Parameters, paged
from reconciler.platforms.aws.writing.fresh import node_group
from reconciler.platforms.aws.writing.machine_types import MachineTypes
from reconciler.platforms.aws.writing.refreshes import Refreshes
from reconciler.platforms.aws.writing.reserved import ReservedAndShifted
from reconciler.platforms.aws.writing.wanted_groups import Tags, Wanted
from reconciler.values.whole_number import whole_number

LISTED_SECONDS = 85.0
BESIDE_SECONDS = 1800.0
TEMPLATES_SECONDS = 1800.0
NODE_GROUPS_SECONDS = 3600.0
CHANGING_SECONDS = 60.0
WRITTEN_SECONDS = 20.0
"""So often groups are asked for after a write that no read shows yet."""
AWAITED_SECONDS = 40.0
"""What is older is asked again while pods wait. With the pauses of the poll, that is less than a minute."""
_NAMES_AT_ONCE = 100
_FEW_TEMPLATES = 5
_NAMED = {"$Default", "$Latest"}
_NODE_GROUPS_AT_ONCE = 20
_ACTIVITIES_ALONE, _ACTIVITIES_OF, _ACTIVITIES_AT_ONCE = 2, 10, 100
FAILED_SECONDS = 30.0
"""Launches that failed are tried again by AWS once a minute, so that their activities need not be asked for in every round."""
_TURN_SECONDS = 120.0
"""An iteration has ended by then, and reports when it has written."""


class Region:
    """The last complete answers of one account and region. `ask` updates them. If it raises `AwsError`, the last answers
    stay."""

    def __init__(
        self,
        aws: Aws,
        wanted: Wanted,
        left: Iterable[str] = (),
        owner: str = "",
        wall_seconds: Callable[[], float] = time.time,
        written: Mapping[str, float] = MappingProxyType({}),
        cluster: str = "",
        passed_over: Callable[[], Callable[[Parameters], bool]] = lambda: lambda _: False,
    ) -> None:
        """`left` are groups that the policy `owner` named before. They are read until they no longer have its mark. `written` has
        the times of recent writes to them: a read without the mark may be older than the write. `wall_seconds` is the clock by
        which the loop records its writes. In a fleet, `cluster` is in the marks of its loop. `passed_over` returns which of the
        groups that are found by tags are left out now."""
        self._aws = aws
        self.wanted = wanted
        self._left = frozenset(left)
        self._owner = owner
        self._cluster = cluster
        self._passed_over = passed_over
        self._marked_lately = {name: at for name, at in written.items() if name in self._left}
        self._groups: dict[str, Parameters] = {}
        self._moving: set[str] = set()
        self._held: set[str] = set()
        """Groups with a hold tag: somebody removes the tag and waits for the effect."""
        self._short: list[str] = []
        self._short_before: dict[str, int] = {}
        """Desired capacities of groups with missing instances when their activities were asked for last."""
        self._picks: set[tuple[str, str]] = set()
        self._beside: dict[str, list[Parameters]] = {}
        self._templates: dict[tuple[str, str], Parameters] = {}
        self._missing: set[tuple[str, str]] = set()
        self._managed: dict[tuple[str, str], Parameters] = {}
        self._machines = MachineTypes(aws)
        self._refreshes = Refreshes(aws)
        self._reserved = ReservedAndShifted(aws)
        self._updating: set[str] = set()
        """Groups whose managed node group may be changing: EKS is asked about it until it is in a steady state."""
        self._asked: dict[str, float] = {}
        self._written: set[str] = set()
        self._wall_seconds = wall_seconds
        self._asked_at = 0.0
        self._oldest_seconds = float("inf")
        """What is older is due, however seldom it is asked otherwise."""
        self._unsettled: dict[str, float] = {}
        """When each write was last found. Reads of those groups are news until they show the effect of the write."""
        self.read_seconds: dict[str, int] = {}
        """When the last read of each group began, by the wall clock."""
        self.heard: float | None = None
        """When all groups were last listed."""
        self.whole = False
        """Whether everything that groups are judged by was read at least once. Machine types are not required."""
        self.problems: tuple[str, ...] = ()
        """What could not be read, although the groups could."""

    def wrote(self, name: str, *, others: bool = False) -> None:
        """Record a write to this group; `others`: the read before the write found somebody else who sizes it."""
        self._written.add(name)
        self._marked_lately.pop(name, None)
        if others and name in self._groups and not self._knows_of_others(name):
            for kind in ("ScalingPolicy", "ScheduledAction"):
                self._asked.pop(kind, None)
            self._refreshes.suspect(name)
            self._updating.add(name)

    def _knows_of_others(self, name: str) -> bool:
        beside = (one for kind in ("ScalingPolicy", "ScheduledAction") for one in self._beside.get(kind, ()))
        sized_by_others = any(one["AutoScalingGroupName"] == name for one in (*beside, *self._refreshes.items()))
        return sized_by_others or name in self._updating

    def ask(self, now: float, *, pods_wait: bool = False) -> bool:
        """Ask everything that is due. Returns whether something has changed."""
        self._oldest_seconds = AWAITED_SECONDS if pods_wait else float("inf")
        before = (self._groups, dict(self._beside), dict(self._templates), dict(self._managed), self._reserved.items())
        self._asked_at = now
        self._unsettled = {name: at for name, at in self._unsettled.items() if now - at < READ_LAG_SECONDS + _TURN_SECONDS}
        self._unsettled.update(dict.fromkeys(self._written, now))
        self._marked_lately = {name: at for name, at in self._marked_lately.items() if now - at <= READ_LAG_SECONDS}
        read = dict(self.read_seconds)
        if self._due("groups", now, min(LISTED_SECONDS, self._oldest_seconds)):
            self._take({item["AutoScalingGroupName"]: item for item in self._listed()})
            self.heard = self._asked["groups"] = now
            self._written.clear()
        elif moving := sorted(
            self._moving | self._held | self._written | self._to_look_at(now) | self._settling(now) | self._marked_lately.keys()
        ):
            groups = self._named(moving)
            gone = set(moving) - groups.keys()
            self._take({name: item for name, item in {**self._groups, **groups}.items() if name not in gone})
            self._written.clear()
        problems: list[str] = []
        self._ask_beside(now, problems)
        self._ask_activities(now)
        self._ask_refreshes(now)
        self._ask_templates(now, problems)
        self._ask_node_groups(now, problems)
        self._reserved.ask(now, self._groups.values(), self._templates.values())
        problems.extend(self._reserved.problems)
        self.whole = True
        machines_changed = self._machines.ask(now, self._groups.values(), self._templates.values())
        self.problems = tuple(problems)
        judged = any(self.read_seconds.get(name) != read.get(name) for name in self._unsettled)
        after = (self._groups, self._beside, self._templates, self._managed, self._reserved.items())
        return machines_changed or judged or before != after

    def items(self) -> dict[str, list[Parameters]]:
        """Everything that is known, by kind."""
        return {
            AUTO_SCALING_GROUP: [item for _, item in sorted(self._groups.items())],
            "LaunchTemplateVersion": [item for _, item in sorted(self._templates.items())],
            "ManagedNodeGroup": [item for _, item in sorted(self._managed.items())],
            **self._beside,
            **self._reserved.items(),
            **self._machines.items(),
        }

    def moving(self) -> bool:
        """Whether some group differs from its target, or waits for a person, so that an early read pays off."""
        return bool(self._written or self._moving or self._held or self._marked_lately or self._just_written())

    def marked(self, owner: str) -> frozenset[str]:
        """The groups with this policy's mark, and groups that were written lately: a read may not show their mark yet."""
        return frozenset(name for name, item in self._groups.items() if self._marked(item, owner)) | self.written_lately.keys()

    def _marked(self, item: Parameters, owner: str) -> bool:
        """Whether this policy, for this cluster, has marked the group."""
        return _tag(item, POLICY_MARK) == owner and _tag(item, CLUSTER_MARK) == self._cluster

    @property
    def written_lately(self) -> Mapping[str, float]:
        """When writes were last found on groups whose reads may be older than the write."""
        return self._unsettled | dict.fromkeys(self._written, self._asked_at)

    @property
    def over(self) -> bool:
        """Whether no policy asks for this region, and nothing is left to release."""
        return not (self.wanted.names or self.wanted.tags or self._left)

    def _due(self, what: str, now: float, seconds: float) -> bool:
        return what not in self._asked or now - self._asked[what] >= seconds

    def _just_written(self) -> set[str]:
        """Groups of which a read may not show yet that instances are missing."""
        return {name for name, at in self._unsettled.items() if self._asked_at - at < READ_LAG_SECONDS and name in self._groups}

    def _to_look_at(self, now: float) -> set[str]:
        just_written = self._just_written()
        if not just_written or not self._due("written", now, WRITTEN_SECONDS):
            return set()
        self._asked["written"] = now
        return just_written

    def _settling(self, now: float) -> set[str]:
        """Groups whose read now shows the effect of our write, and whose last read was too early for that."""
        wall = self._wall_seconds()
        lately = {name for name, read in self.read_seconds.items() if wall - read < READ_LAG_SECONDS}
        return {name for name, at in self._unsettled.items() if now - at > READ_LAG_SECONDS and name in self._groups} - lately

    def _listed(self) -> Iterable[Parameters]:
        groups: dict[str, Parameters] = {}
        began = int(self._wall_seconds())
        left_out = self._passed_over()
        for tags in self.wanted.tags:
            for item in paged(
                self._aws, AUTO_SCALING, "DescribeAutoScalingGroups", "AutoScalingGroups", 100, Filters=filters(tags)
            )[0]:
                # What has our mark is read until it is released.
                if not left_out(item) or self._marked(item, self._owner):
                    groups[item["AutoScalingGroupName"]] = item
        self._left -= groups.keys()
        self.read_seconds = dict.fromkeys(groups, began)
        groups.update(self._named(sorted((self._left | set(self.wanted.names)) - groups.keys())))
        return groups.values()

    def _take(self, groups: dict[str, Parameters]) -> None:
        """Store the groups, and derive here what follows from them, so that reads stay cheap."""
        released = {
            name for name in self._left - self._marked_lately.keys() if not self._marked(groups.get(name, {}), self._owner)
        }
        self._left -= released
        self._groups = {name: item for name, item in groups.items() if name not in released}
        self._moving = {name for name, item in self._groups.items() if moves(item)}
        self._held = {name for name, item in self._groups.items() if _tag(item, HOLD)}
        self._short = sorted(name for name in self._moving if misses(self._groups[name]))
        self._picks = {pick for item in self._groups.values() for pick in picks(item)}

    def _named(self, names: list[str]) -> dict[str, Parameters]:
        groups: dict[str, Parameters] = {}
        began = int(self._wall_seconds())
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = names[start : start + _NAMES_AT_ONCE]
            items, _ = paged(
                self._aws, AUTO_SCALING, "DescribeAutoScalingGroups", "AutoScalingGroups", 100, AutoScalingGroupNames=some
            )
            groups.update((item["AutoScalingGroupName"], item) for item in items)
        self.read_seconds.update(dict.fromkeys(groups, began))
        return groups

    def _ask_beside(self, now: float, problems: list[str]) -> None:
        """Policies and schedules of all groups at once. Without the right to ask, the problem is reported and nothing is
        written."""
        for kind, action, key in (
            ("ScalingPolicy", "DescribePolicies", "ScalingPolicies"),
            ("ScheduledAction", "DescribeScheduledActions", "ScheduledUpdateGroupActions"),
        ):
            if not self._due(kind, now, min(BESIDE_SECONDS, self._oldest_seconds)):
                continue
            try:
                items, _ = paged(self._aws, AUTO_SCALING, action, key, 100)
            except AwsError as error:
                if not error.denied:
                    raise
                problems.append(f"{action}: {error.message}")
                self._beside.pop(kind, None)
            else:
                self._beside[kind] = [one for one in items if one["AutoScalingGroupName"] in self._groups]
            self._asked[kind] = now

    def _ask_activities(self, now: float) -> None:
        """Activities, only for groups with missing instances: others have nothing to report. While nothing changes after all of
        them have failed, they are asked for less often."""
        short = {name: self._groups[name]["DesiredCapacity"] for name in self._short}
        known = self._beside.get("ScalingActivity", ())
        failed = {one["AutoScalingGroupName"] for one in known if one.get("StatusCode") == "Failed"}
        told = short == self._short_before and failed.issuperset(short)
        if told and not self._due("activities", now, FAILED_SECONDS):
            return
        self._short_before = short
        self._asked["activities"] = now
        if not short:
            self._beside.pop("ScalingActivity", None)
            return
        activities, alone = self._activities() if len(short) > _ACTIVITIES_ALONE else [], list(short)
        if activities:
            found = {one["AutoScalingGroupName"] for one in activities}
            alone = [name for name in short if name not in found] if len(activities) == _ACTIVITIES_AT_ONCE else []
        for name in alone[:_ACTIVITIES_OF]:
            activities.extend(self._activities(AutoScalingGroupName=name, MaxRecords=20))
        self._beside["ScalingActivity"] = activities

    def _activities(self, **of_one: Any) -> list[Parameters]:  # noqa: ANN401 - as the action has them
        """The newest of all groups, or of one."""
        parameters = {"MaxRecords": _ACTIVITIES_AT_ONCE, **of_one}
        answer = self._aws.call(AUTO_SCALING, "DescribeScalingActivities", **parameters)
        return list(answer.body.get("Activities") or ())

    def _ask_refreshes(self, now: float) -> None:
        known = self._beside.get("ScalingActivity", [])
        if not self.whole and len(self._short) <= _ACTIVITIES_ALONE:
            known = known + self._newest_activities()
        self._refreshes.follow(known, first=not self.whole)
        self._refreshes.ask(now, self._groups)
        # Where nothing hints at a refresh, the read before each write asks, so none is overlooked.
        self._beside["InstanceRefresh"] = self._refreshes.items()

    def _newest_activities(self) -> list[Parameters]:
        """The newest 100 of the region, in one call: AWS lists refreshes by group only. If the call is denied, the read before
        each write finds a refresh."""
        if not self._groups:
            return []
        try:
            return [item for item in self._activities() if item.get("AutoScalingGroupName") in self._groups]
        except AwsError as error:
            if not error.denied:
                raise
            return []

    def _ask_templates(self, now: float, problems: list[str]) -> None:
        used = self._picks
        again = self._due("templates", now, min(TEMPLATES_SECONDS, self._oldest_seconds))
        needed = used if again else used - self._templates.keys() - self._missing
        if not needed:
            return
        try:
            versions = self._versions(needed)
        except AwsError as error:
            if not error.denied:
                raise
            problems.append(f"DescribeLaunchTemplateVersions: {error.message}")
            versions = {}
        self._templates = {**({} if again else self._templates), **versions}
        self._missing = used - self._templates.keys()
        if again:
            self._asked["templates"] = now

    def _versions(self, needed: set[tuple[str, str]]) -> dict[tuple[str, str], Parameters]:
        """Versions of launch templates. A few are asked one by one. For many, one call lists the default and latest versions of
        all templates, and only the rest are asked one by one."""
        by_pick: dict[tuple[str, str], Parameters] = {}
        action, key = "DescribeLaunchTemplateVersions", "LaunchTemplateVersions"
        if len({template for template, _ in needed}) > _FEW_TEMPLATES:
            versions = {version for _, version in needed}
            listed, _ = paged(self._aws, EC2, action, key, 200, Versions=sorted(versions if versions <= _NAMED else _NAMED))
            latest: dict[str, Parameters] = {}
            for item in listed:
                template = item["LaunchTemplateId"]
                if item.get("DefaultVersion"):
                    by_pick[template, "$Default"] = item
                if template not in latest or item["VersionNumber"] > latest[template]["VersionNumber"]:
                    latest[template] = item
                by_pick[template, str(item["VersionNumber"])] = item
            by_pick.update({(template, "$Latest"): item for template, item in latest.items()})
            by_pick = {pick: item for pick, item in by_pick.items() if pick in needed}
        left: dict[str, list[str]] = {}
        for template, version in sorted(needed - by_pick.keys()):
            left.setdefault(template, []).append(version)
        for template, missing in left.items():
            try:
                answer = self._aws.call(EC2, action, LaunchTemplateId=template, Versions=missing)
            except AwsError as error:
                if not error.code.startswith("InvalidLaunchTemplate"):
                    raise
                continue
            for item, version in zip(answer.body.get(key) or (), missing, strict=False):
                by_pick[template, version] = item
        return by_pick

    def _ask_node_groups(self, now: float, problems: list[str]) -> None:
        """Managed node groups of EKS: only for groups without instances, and for those that EKS may be changing. Nodes that are
        there show themselves what they are."""
        asked = 0
        self._updating &= self._groups.keys()
        for name, item in self._groups.items():
            tags = {tag["Key"]: tag.get("Value", "") for tag in item.get("Tags") or ()}
            place = tags.get("eks:cluster-name", ""), tags.get("eks:nodegroup-name", "")
            if not all(place):
                self._updating.discard(name)
                continue
            changing = name in self._updating
            if (item.get("Instances") and not changing) or asked >= _NODE_GROUPS_AT_ONCE:
                continue
            if not self._due(f"node group {place}", now, CHANGING_SECONDS if changing else NODE_GROUPS_SECONDS):
                continue
            asked += 1
            self._asked[f"node group {place}"] = now
            try:
                managed = node_group(self._aws, tags)
            except AwsError as error:
                if not error.denied:
                    raise
                problems.append(f"DescribeNodegroup: {error.message}")
                self._updating.discard(name)
                continue
            self._managed.pop(place, None)
            if managed is not None:
                self._managed[place] = managed
            if managed is None or managed.get("status", "") in WRITABLE_STATES:
                self._updating.discard(name)


def filters(tags: Tags) -> list[dict[str, Any]]:
    """Tags in the form that AWS accepts: all must match."""
    return [{"Name": f"tag:{key}", "Values": [value]} if value else {"Name": "tag-key", "Values": [key]} for key, value in tags]


def picks(item: Parameters) -> set[tuple[str, str]]:
    """The launch templates, by id and version, that a group makes instances from."""
    mixed = (item.get("MixedInstancesPolicy") or {}).get("LaunchTemplate") or {}
    specifications = [
        item.get("LaunchTemplate"),
        mixed.get("LaunchTemplateSpecification"),
        *(one.get("LaunchTemplateSpecification") for one in mixed.get("Overrides") or ()),
    ]
    return {
        (one["LaunchTemplateId"], one.get("Version") or "$Default")
        for one in specifications
        if one is not None and one.get("LaunchTemplateId")
    }


def _tag(item: Parameters, key: str) -> str:
    return next((str(tag.get("Value", "")) for tag in item.get("Tags") or () if tag["Key"] == key), "")


def misses(item: Parameters) -> bool:
    """Whether the group has fewer units than its desired capacity. An instance without a weight is one."""
    counted = (one for one in item.get("Instances") or () if not one["LifecycleState"].startswith(NOT_COUNTED))
    there = sum(whole_number(one.get("WeightedCapacity") or "") or 1 for one in counted)
    return bool(item["DesiredCapacity"] > there)


def moves(item: Parameters) -> bool:
    """Whether instances are starting, leaving or missing."""
    states = {one["LifecycleState"] for one in item.get("Instances") or ()}
    resting = {IN_SERVICE, "Standby", "Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated", RETAINED}
    return misses(item) or bool(states - resting)
