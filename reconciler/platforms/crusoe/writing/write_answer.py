"""What Crusoe's answer to one write means for the caller."""

from reconciler.platforms.crusoe.facts.failures import failure_kind
from reconciler.platforms.crusoe.writing.calls import NO_NOTE, CrusoeError
from reconciler.providers.cloud_writes import CloudErrors
from reconciler.providers.contract import WriteCode, WriteResult


def failed(error: CrusoeError, what: str) -> WriteResult:
    """The result of a write that was refused or never answered."""
    message = f"{what}: {error.message or error.code}"
    if error.sent:
        return WriteResult(code=WriteCode.UNKNOWN, message=message)
    if error.throttled or error.code in ("Unreachable", "NoCredentials", NO_NOTE) or error.status == 401:
        return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
    if error.status == 403:
        return WriteResult(code=WriteCode.DENIED, message=f"{message} (`reconciler doctor` lists the missing rights)")
    if error.status == 404:
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    kind = failure_kind(error.message)
    if kind == "Configuration":
        return WriteResult(code=WriteCode.REFUSED, message=message)
    # A quota is a bound that the platform sets. Stock is what it happens to have.
    code = WriteCode.REFUSED if kind == "Quota" else WriteCode.FAILED
    return WriteResult(code=code, message=f"{what}: {kind}: {error.message}")


def unread(error: CrusoeError, what: str) -> WriteResult:
    """The result of a write that was not tried, because the state to judge it by could not be read."""
    if error.status in (403, 404) or error.code == NO_NOTE:
        return failed(error, what)
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{what} could not be read: {error}")


ERRORS = CloudErrors(CrusoeError, failed, unread)
