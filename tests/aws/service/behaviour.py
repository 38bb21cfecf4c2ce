"""What Auto Scaling does by itself while time passes: launches, terminations, rebalancing, replacement."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from tests.aws.service import warm
from tests.aws.service.state import LEAVING, Account, Group, Instance, Reservation

_DIFFERENCE = "an instance was started in response to a difference between desired and actual capacity"
_STOCK_TEXT = (
    "We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}). "
    "Our system will be working on provisioning additional capacity. You can currently get {kind} capacity by not specifying an "
    "Availability Zone in your request"
)


LEAVES = ("Terminating:Wait", "Terminating:Proceed", "Terminating")


def advance(account: Account, seconds: float) -> None:
    """Time passes, in steps short enough that nothing is passed over."""
    end = account.now + seconds
    settle(account)
    while account.now < end:
        account.now = min(end, account.now + 5)
        settle(account)


_BEGINS_TO_END = 30 * 60


def settle(account: Account) -> None:
    """Everything that is due now."""
    for reservation in account.reservations.values():
        _end(account, reservation)
    for group in list(account.groups.values()):
        if _rests(group):
            continue
        for instance in list(group.instances.values()):
            _moved_on(account, group, instance)
        _replace_unhealthy(account, group)
        _grow(account, group)
        _shrink(account, group)
        _rebalance(account, group)
        _fill(account, group)


def _end(account: Account, reservation: Reservation) -> None:
    """A block's instances end before it does; those of a reservation run on."""
    if reservation.ends_at is None or reservation.state != "active":
        return
    if reservation.kind == "capacity-block" and account.now >= reservation.ends_at - _BEGINS_TO_END:
        for group in account.groups.values():
            for instance in group.instances.values():
                if instance.reservation == reservation.name and not leaving(instance):
                    account.cut_off.append(instance.instance_id)
                    terminate(account, group, instance, "an instance was taken out of service in response to an EC2 health check")
    if account.now >= reservation.ends_at:
        reservation.state = "expired"


def _rests(group: Group) -> bool:
    """Whether nothing can happen to it: most groups of an account, most of the time."""
    if len(group.zones) > 1 or group.pool is not None or len(group.instances) != group.desired:
        return False
    if group.fails_after_seconds:
        return False
    return all(one.state == "InService" and one.health == "Healthy" for one in group.instances.values())


def _moved_on(account: Account, group: Group, instance: Instance) -> None:
    if account.now < instance.changes_at:
        return
    if instance.state == "Pending" and group.launch_hook_seconds:
        instance.state, instance.changes_at = "Pending:Wait", account.now + group.launch_hook_seconds
    elif instance.state == "Pending:Wait" and group.abandons:
        terminate(
            account, group, instance, "an instance was taken out of service in response to a launch hook that was abandoned"
        )
    elif instance.state == "InService" and 0 < group.fails_after_seconds <= account.now - instance.changes_at:
        instance.health = "Unhealthy"
    elif instance.state in ("Pending", "Pending:Wait", "Pending:Proceed"):
        instance.state = "InService"
        instance.changes_at = account.now
        _finish(account, instance)
        for told in account.joined:
            told(group, instance)
    elif instance.state.startswith("Warmed"):
        warm.moved_on(account, group, instance)
    elif instance.state == "Terminating:Wait" and group.retains:
        instance.state = "Terminating:Retained"
    elif instance.state in LEAVES and group.pool is not None and group.pool.reuses:
        instance.state, instance.changes_at = warm.PENDING, account.now + account.timing.terminate
    elif instance.state in LEAVES:
        instance.state = "Terminated"
        del group.instances[instance.instance_id]
        account.ended.append((group.name, instance.instance_id))
        for told in account.gone:
            told(group, instance)


def _finish(account: Account, instance: Instance) -> None:
    for activity in account.activities:
        if instance.instance_id in activity["Description"] and activity["StatusCode"] == "InProgress":
            activity.update(StatusCode="Successful", EndTime=stamp(account), Progress=100)


def terminate(account: Account, group: Group, instance: Instance, cause: str) -> dict[str, Any]:
    """An instance begins to leave."""
    if group.terminate_hook_seconds:
        instance.state, instance.changes_at = "Terminating:Wait", account.now + group.terminate_hook_seconds
    else:
        instance.state, instance.changes_at = "Terminating", account.now + account.timing.terminate
    return record(account, group, f"Terminating EC2 instance: {instance.instance_id}", cause, "InProgress", instance.zone)


def _missing(group: Group) -> int:
    return group.desired - len(group.counted)


def _grow(account: Account, group: Group) -> None:
    """One try a zone for each missing instance, then a pause, as long as something is missing."""
    if "Launch" in group.suspended or account.now < group.retry_at:
        return
    while _missing(group) > 0:
        if (instance := warm.taken(account, group, _zones_to_try(group))) is not None:
            record(account, group, f"{warm.FROM}: {instance.instance_id}", _DIFFERENCE, "InProgress", instance.zone)
        elif not any(_launch(account, group, zone) for zone in _zones_to_try(group)):
            group.retry_at = account.now + account.timing.retry
            return


def _zones_to_try(group: Group) -> list[str]:
    """The emptiest first; only that one where zones are kept balanced at any price."""
    counts = Counter(one.zone for one in group.counted)
    zones = sorted(set(group.zones) - group.avoided, key=lambda zone: (counts[zone], zone))
    distribution = group.extra.get("AvailabilityZoneDistribution", {}).get("CapacityDistributionStrategy")
    return zones[:1] if distribution == "balanced-only" else zones


def _launch(account: Account, group: Group, zone: str) -> bool:
    return _launched(account, group, zone, "Launching a new EC2 instance", _DIFFERENCE) is not None


def _launched(account: Account, group: Group, zone: str, what: str, cause: str) -> Instance | None:
    code, text, reservation = _reserved(account, group, zone)
    if not (code or reservation):
        code, text = stock_refusal(account, group, zone)
    if code:
        message = f"Could not launch On-Demand Instances. {code} - {text}"[:255]
        record(account, group, f"{what}.  Status Reason: {message}", cause, "Failed", zone, message)
        return None
    instance = account.launched(group, zone)
    instance.reservation = reservation
    record(account, group, f"{what}: {instance.instance_id}", cause, "InProgress", zone)
    return instance


_EXCEEDED = "The requested reservation does not have sufficient compatible and available capacity for this request"


def _reserved(account: Account, group: Group, zone: str) -> tuple[str, str, str]:
    """Why an instance may not launch, and in which reservation it runs (both empty: on demand)."""
    preference, named = group.wants
    fitting = [
        one.name
        for one in account.reservations.values()
        if (one.region, one.zone, one.instance_type, one.state) == (group.region, zone, group.instance_type, "active")
        and (one.name in named if named else one.criteria == "open")
        and account.free(one) > 0
        and _usable(account, one)
    ]
    if preference == "none" or fitting:
        return "", "", "" if preference == "none" else fitting[0]
    return ("ReservationCapacityExceeded", _EXCEEDED, "") if preference == "capacity-reservations-only" else ("", "", "")


def _usable(account: Account, one: Reservation) -> bool:
    return one.kind != "capacity-block" or one.ends_at is None or account.now < one.ends_at - _BEGINS_TO_END


def _fill(account: Account, group: Group) -> None:
    """The warm pool, once nothing of the group itself is missing."""
    if "Launch" in group.suspended or account.now < group.retry_at or _missing(group) > 0:
        return
    for _ in range(warm.missing(group)):
        zone = min(group.zones, key=lambda zone: (sum(one.zone == zone for one in group.warmed), zone))
        instance = _launched(account, group, zone, warm.INTO, "a difference between the size of the warm pool and what is there")
        if instance is None:
            group.retry_at = account.now + account.timing.retry
            return
        instance.state = warm.PENDING


def stock_refusal(account: Account, group: Group, zone: str) -> tuple[str, str]:
    """Why the zone gives none; empty when it gave one."""
    key = (zone, group.instance_type)
    left = account.stock.get(key)
    if left is not None and left <= 0:
        code, text = account.stock_error
        return code, text or _STOCK_TEXT.format(kind=group.instance_type, zone=zone)
    if left is not None:
        account.stock[key] = left - 1
    return "", ""


def _shrink(account: Account, group: Group) -> None:
    """The group's own policy chooses: the fullest zone, then the oldest; protected ones stay."""
    while _missing(group) < 0 and "Terminate" not in group.suspended and account.now >= group.acts_at:
        counts = Counter(one.zone for one in group.counted)
        free = [one for one in group.counted if not one.protected]
        if not free:
            return
        victim = min(free, key=lambda one: (-counts[one.zone], one.launched_at))
        terminate(
            account, group, victim, "an instance was taken out of service in response to a difference between desired and actual"
        )


def _rebalance(account: Account, group: Group) -> None:
    if (
        group.avoided
        or "AZRebalance" in group.suspended
        or len(group.zones) < 2
        or _missing(group)
        or "Launch" in group.suspended
    ):
        return
    counts = Counter(dict.fromkeys(group.zones, 0))
    counts.update(one.zone for one in group.counted)
    (full, most), (empty, least) = counts.most_common()[0], counts.most_common()[-1]
    if most - least < 2 or any(one.state != "InService" for one in group.counted):
        return
    free = [one for one in group.counted if one.zone == full and not one.protected]
    if free and _launch(account, group, empty):
        terminate(account, group, free[0], f"instances were launched to balance instances in zones {group.zones}")


def _replace_unhealthy(account: Account, group: Group) -> None:
    if {"HealthCheck", "ReplaceUnhealthy"} & group.suspended:
        return
    for instance in group.counted:
        if instance.health == "Unhealthy":
            terminate(account, group, instance, "an instance was taken out of service in response to an EC2 health check")


def record(
    account: Account, group: Group, description: str, cause: str, status: str, zone: str = "", message: str = ""
) -> dict[str, Any]:
    """One more scaling activity; the newest comes first."""
    activity = {
        "ActivityId": f"activity-{account.number():08}",
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "Description": description,
        "Cause": f"{group.changed_by if 'difference' in cause else ''}At {stamp(account):%Y-%m-%dT%H:%M:%SZ} {cause}.",
        "StartTime": stamp(account),
        "StatusCode": status,
        "Progress": 100 if status == "Failed" else 30,
        "Details": f'{{"Subnet ID":"subnet-{zone}","Availability Zone":"{zone}"}}',
        **({"EndTime": stamp(account)} if status == "Failed" else {}),
        **({"StatusMessage": message} if message else {}),
    }
    account.activities.insert(0, activity)
    return activity


def stamp(account: Account) -> datetime:
    """The service's clock."""
    return datetime.fromtimestamp(account.now, UTC)


def leaving(instance: Instance) -> bool:
    """Whether it is on its way out."""
    return instance.state.startswith(LEAVING)
