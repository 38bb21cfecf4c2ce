"""The service without a network: what each call does and answers, on the service's own clock."""

import threading
from collections.abc import Callable
from typing import Any

from tests.aws.service import behaviour, reading, writing
from tests.aws.service.permissions import check
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import Account, Group

Handler = Callable[[Account, str, dict[str, Any]], dict[str, Any]]
HANDLERS: dict[tuple[str, str], Handler] = {
    ("autoscaling", "DescribeAutoScalingGroups"): reading.describe_groups,
    ("autoscaling", "DescribeAutoScalingInstances"): reading.describe_instances,
    ("autoscaling", "DescribeScalingActivities"): reading.describe_activities,
    ("autoscaling", "DescribePolicies"): reading.describe_policies,
    ("autoscaling", "DescribeScheduledActions"): reading.describe_schedules,
    ("autoscaling", "DescribeInstanceRefreshes"): reading.describe_refreshes,
    ("autoscaling", "SetDesiredCapacity"): writing.set_desired,
    ("autoscaling", "TerminateInstanceInAutoScalingGroup"): writing.terminate_instance,
    ("autoscaling", "SetInstanceProtection"): writing.set_protection,
    ("autoscaling", "CreateOrUpdateTags"): writing.write_tags,
    ("autoscaling", "DeleteTags"): writing.delete_tags,
    ("autoscaling", "LaunchInstances"): writing.launch_instances,
    ("autoscaling", "DescribeLaunchConfigurations"): reading.describe_configurations,
    ("ec2", "DescribeLaunchTemplateVersions"): reading.describe_templates,
    ("ec2", "DescribeInstanceTypes"): reading.describe_types,
    ("ec2", "DescribeCapacityReservations"): reading.describe_reservations,
}


def _no_seconds() -> float:
    return 0.0


LOST = "lost"
"""As a fault: the call is done and its answer never comes."""
GARBLED = "garbled"
"""As a fault: the call is done, and something in between answers a page of its own."""


DEAD_KEY = "The security token included in the request is expired"


class NoAnswerError(Exception):
    """The call was done; `how` is what came instead of its answer."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Answering:
    """An account that answers calls. `lock` is held while a call is served."""

    def __init__(self) -> None:
        self.account = Account()
        self.lock = threading.RLock()
        self._frozen: dict[str, Any] | None = None
        self.latency: Callable[[], float] = _no_seconds
        """How long each call takes; half of it passes before the call is done."""
        self.lag: Callable[[], float] = _no_seconds
        """How old each description of groups and reservations is."""
        self._history: list[tuple[float, dict[str, Any], dict[str, int]]] = []
        self.hides: Callable[[str], bool] = lambda _: False
        """Instances, by id, that descriptions of groups do not show yet."""

    def at_once(self) -> None:
        """Answers take no time, and descriptions tell what is: for what follows from a known state."""
        with self.lock:
            self.latency = self.lag = _no_seconds
            self._history = []

    def advance(self, seconds: float) -> None:
        """Time passes."""
        with self.lock:
            behaviour.advance(self.account, seconds)
            self._remember()

    def _remember(self) -> None:
        """What descriptions say of this instant, for those that lag behind."""
        if self.lag is not _no_seconds:
            groups = {one.name: reading.description(one) for one in self.account.groups.values()}
            free = {one.name: self.account.free(one) for one in self.account.reservations.values()}
            self._history.append((self.account.now, groups, free))

    def freeze_reads(self) -> None:
        """From now on descriptions of groups are those of this instant, whatever happens."""
        with self.lock:
            self._frozen = {group.name: reading.description(group) for group in self.account.groups.values()}

    def thaw_reads(self) -> None:
        """Descriptions are current again."""
        self._frozen = None

    def count(self, prefix: str = "") -> int:
        """Calls so far whose action begins so."""
        return sum(1 for action, _ in self.account.calls if action.startswith(prefix))

    def answer(self, service: str, region: str, action: str, parameters: dict[str, Any], key_id: str) -> dict[str, Any]:
        """Do one call. Raises `ServiceError` and `NoAnswerError`."""
        self.account.calls.append((action, parameters))
        if key_id in self.account.dead_keys:
            raise ServiceError(self.account.dead_keys[key_id], DEAD_KEY, 403)
        fault = next(iter(self.account.faults.get(action, ())), None)
        if fault is not None:
            self.account.faults[action].pop(0)
        if isinstance(fault, Exception):
            raise fault
        latency = self.latency()
        if latency:
            self.advance(latency / 2)
        answer = self._handled(service, region, action, parameters, key_id)
        self._remember()
        if latency:
            self.advance(latency / 2)
        if fault is not None:
            raise NoAnswerError(fault)
        return answer

    def _handled(self, service: str, region: str, action: str, parameters: dict[str, Any], key_id: str) -> dict[str, Any]:
        if service == "autoscaling" and not self.account.throttle.take(self.account.now):
            self.account.throttled += 1
            raise ServiceError("Throttling", "Rate exceeded")
        for happen in list(self.account.before):
            happen(action, parameters)
        check(self.account, service, action, key_id, self._group(region, parameters), parameters)
        if action == "DescribeAutoScalingGroups" and self._frozen is not None:
            answer = reading.describe_groups(self.account, region, parameters)
            answer["AutoScalingGroups"] = [self._frozen[one["AutoScalingGroupName"]] for one in answer["AutoScalingGroups"]]
            return answer
        answer = HANDLERS[service, action](self.account, region, parameters)
        if action == "DescribeAutoScalingGroups" and self.lag is not _no_seconds:
            shown = self._lagging()[0]
            answer["AutoScalingGroups"] = [shown.get(one["AutoScalingGroupName"], one) for one in answer["AutoScalingGroups"]]
        if action == "DescribeAutoScalingGroups":
            for one in answer["AutoScalingGroups"]:
                one["Instances"] = [item for item in one["Instances"] if not self.hides(item["InstanceId"])]
        if action == "DescribeCapacityReservations" and self.lag is not _no_seconds:
            free = self._lagging()[1]
            for one in answer["CapacityReservations"]:
                one["AvailableInstanceCount"] = free.get(one["CapacityReservationId"], one["AvailableInstanceCount"])
        return answer

    def _lagging(self) -> tuple[dict[str, Any], dict[str, int]]:
        """What a description says that is as old as the service draws: groups, and what was free in reservations."""
        instant = self.account.now - self.lag()
        return next(((groups, free) for at, groups, free in reversed(self._history) if at <= instant), ({}, {}))

    def _group(self, region: str, parameters: dict[str, Any]) -> Group | None:
        name = parameters.get("AutoScalingGroupName") or next((tag["ResourceId"] for tag in parameters.get("Tags", ())), None)
        if name is not None:
            return self.account.groups.get((region, name))
        wanted = parameters.get("InstanceId")
        return next((one for one in self.account.groups.values() if one.region == region and wanted in one.instances), None)
