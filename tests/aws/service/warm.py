"""The warm pool of a group: what waits in it, what is taken first when the group grows.

SOURCE: Amazon EC2 Auto Scaling, "Warm pools" and its activity history; instances of the pool are started once, so that their
kubelet joins the cluster long before they are in service.
"""

from tests.aws.service.state import LEAVING, Account, Group, Instance

INTO, FROM = "Launching a new EC2 instance into warm pool", "Launching a new EC2 instance from warm pool"
PENDING = "Warmed:Pending"
_READY = ("Warmed:Stopped", "Warmed:Running", "Warmed:Hibernated")


def missing(group: Group) -> int:
    """How many instances the pool is short of."""
    pool = group.pool
    if pool is None:
        return 0
    largest = group.max_size if pool.prepared is None else pool.prepared
    coming = sum(one.state.startswith(LEAVING) for one in group.instances.values()) if pool.reuses else 0
    return max(0, max(pool.least, largest - group.desired) - len(group.warmed) - coming)


def taken(account: Account, group: Group, zones: list[str]) -> Instance | None:
    """One that is ready leaves the pool for the group, of the first of these zones that has one; None where there is none."""
    ready = [one for zone in zones for one in group.warmed if one.zone == zone and one.state in _READY]
    if not ready:
        return None
    ready[0].state, ready[0].changes_at = "Pending", account.now + account.timing.start
    return ready[0]


def moved_on(account: Account, group: Group, instance: Instance) -> None:
    """One that has been started once waits; a kubelet that runs has joined by then."""
    if instance.state != PENDING or group.pool is None:
        return
    instance.state = f"Warmed:{group.pool.state}"
    for activity in account.activities:
        if instance.instance_id in activity["Description"] and activity["StatusCode"] == "InProgress":
            activity.update(StatusCode="Successful", Progress=100)
    if group.pool.state == "Running":
        for told in account.joined:
            told(group, instance)


def described(group: Group) -> dict[str, object]:
    """What the description of the group says of it."""
    pool = group.pool
    if pool is None:
        return {}
    return {
        "WarmPoolConfiguration": {
            "MinSize": pool.least,
            "PoolState": pool.state,
            **({"MaxGroupPreparedCapacity": pool.prepared} if pool.prepared is not None else {}),
            **({"InstanceReusePolicy": {"ReuseOnScaleIn": True}} if pool.reuses else {}),
        },
        "WarmPoolSize": len(group.warmed),
    }
