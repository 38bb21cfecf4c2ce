"""Calls of AWS as this program sees them, whoever makes them."""

from typing import Any, Protocol

import msgspec

AUTO_SCALING, EC2, EKS = "autoscaling", "ec2", "eks"
Parameters = dict[str, Any]
THROTTLED = frozenset(
    {"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "RequestThrottled"}
)
DENIED = frozenset({
    "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "ExpiredToken", "ExpiredTokenException",
    "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "NoCredentials",
})  # fmt: skip


class Answer(msgspec.Struct, frozen=True):
    """What came back. `date_seconds` is the service's own clock; 0 where it did not say."""

    body: Parameters
    date_seconds: int = 0


class AwsError(Exception):
    """A call that was refused, or never answered. `sent`: it may have been done all the same. `code` is AWS's own, or
    `Unreachable` and `NoCredentials` where AWS was never asked."""

    def __init__(self, code: str, message: str, *, status: int = 0, sent: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.sent = sent

    @property
    def throttled(self) -> bool:
        """Whether there were too many calls."""
        return self.code in THROTTLED

    @property
    def denied(self) -> bool:
        """Whether the caller may not, or could not prove who it is."""
        return self.code in DENIED


class Aws(Protocol):
    """One account in one region. Every call is one attempt: whoever asks again decides that itself."""

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """Raises `AwsError`."""


def paged(aws: Aws, service: str, action: str, key: str, most: int, **parameters: Any) -> tuple[list[Parameters], int]:  # noqa: ANN401
    """All items of every page (a page that is short is not the last one), and the date of the oldest. Raises `AwsError`."""
    limit = "MaxRecords" if service == AUTO_SCALING else "MaxResults"
    items: list[Parameters] = []
    oldest = 0
    token: str | None = None
    while True:
        page = {limit: most, **({"NextToken": token} if token else {}), **parameters}
        answer = aws.call(service, action, **page)
        items.extend(answer.body.get(key) or ())
        oldest = oldest or answer.date_seconds
        token = answer.body.get("NextToken")
        if not token:
            return items, oldest
