"""Why the missing machines of a pool will not come, in the platform's own words."""

import re

from reconciler.cluster.target import LaunchFailure
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.view import CrusoeView

NO_CAPACITY = "INSUFFICIENT_CAPACITY"
_STOCK = re.compile(r"out of stock|insufficient capacity|no capacity|reservation", re.IGNORECASE)
_QUOTA = re.compile(r"quota", re.IGNORECASE)


def launch_failure(pool: wire.NodePool, view: CrusoeView) -> LaunchFailure | None:
    """None while nothing is missing, or while the platform has not reported a failure."""
    if not view.asked(pool):
        return None
    for issue in (pool.health.issues if pool.health is not None else None) or ():
        if issue.code == NO_CAPACITY:
            return LaunchFailure(
                id=f"{issue.code} {issue.since}",
                at_seconds=_seconds(issue.since),
                kind="Stock",
                message=issue.message or issue.code,
            )
    return _of_operation(pool, view)


def _of_operation(pool: wire.NodePool, view: CrusoeView) -> LaunchFailure | None:
    """From the newest finished operation: one that succeeded in part reports what it could not do."""
    ended = [one for one in view.operations if one.completed_at and _pool_of(one) == pool.id]
    newest = max(ended, key=lambda one: (_seconds(one.completed_at), one.operation_id), default=None)
    if newest is None or newest.result is None or newest.result.details is None or not newest.result.details.error:
        return None
    message = plain(newest.result.details.error)
    return LaunchFailure(
        id=newest.operation_id, at_seconds=_seconds(newest.completed_at), kind=failure_kind(message), message=message
    )


def failure_kind(message: str) -> str:
    """The class of one failure. An unknown failure counts as a configuration fault, because a person must look at it."""
    if _STOCK.search(message):
        return "Stock"
    return "Quota" if _QUOTA.search(message) else "Configuration"


def plain(message: str) -> str:
    """The platform's message without the frame of the call behind it (`rpc error: code = … desc = …`)."""
    return message.rpartition(" desc = ")[2] if message.startswith("rpc error:") else message


def _pool_of(operation: wire.PoolOperation) -> str:
    result = operation.result
    return result.node_pool.id if result is not None and result.node_pool is not None else ""


def _seconds(text: str) -> int:
    try:
        return unix_seconds(text)
    except UnreadableError:
        return 0
