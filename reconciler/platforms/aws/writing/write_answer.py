"""What AWS's answer to one write means for the caller.

SOURCE: documented and reported texts of Amazon EC2 Auto Scaling. One code covers several causes, so fragments of the text
decide, the most specific one first.
"""

from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.providers.cloud_writes import CloudErrors
from reconciler.providers.contract import WriteCode, WriteResult

BELOW_MINIMUM = ("desiredSize equals minSize", "violate group's min size", "is below min value")
ABOVE_MAXIMUM = ("is above max value", "exceed the max size")
NO_INSTANCE = ("No managed instance found for instance ID",)
NO_GROUP = ("AutoScalingGroup name not found", "No such group")
_BUSY = frozenset(
    {"ScalingActivityInProgress", "ScalingActivityInProgressFault", "ResourceContention", "ResourceContentionFault"}
)


def says(error: AwsError, fragments: tuple[str, ...]) -> bool:
    """Whether the message has one of the fragments."""
    return any(fragment in error.message for fragment in fragments)


def failed(error: AwsError, what: str) -> WriteResult:
    """The result of a write that was refused or never answered."""
    message = f"{what}: {error.message or error.code}"
    if error.throttled or error.code in _BUSY:
        return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
    if error.code in ("Unreachable", "NoClient", "NoCredentials"):
        return WriteResult(code=WriteCode.UNKNOWN if error.sent else WriteCode.UNAVAILABLE, message=message)
    if error.unauthenticated:
        return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{message} (credentials are read again for the next call)")
    if error.denied:
        return WriteResult(code=WriteCode.DENIED, message=f"{message} (`reconciler doctor` lists the missing rights)")
    if says(error, NO_GROUP):
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    if says(error, BELOW_MINIMUM) or says(error, ABOVE_MAXIMUM):
        return WriteResult(code=WriteCode.REFUSED, message=message)
    return WriteResult(code=WriteCode.UNKNOWN if error.sent else WriteCode.REFUSED, message=message)


def unread(error: AwsError, what: str) -> WriteResult:
    """The result of a write that was not tried, because the state to judge it by could not be read."""
    if error.denied or says(error, NO_GROUP):
        return failed(error, what)
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{what} could not be read: {error}")


ERRORS = CloudErrors(AwsError, failed, unread)
