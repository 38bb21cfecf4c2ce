"""Calls of AWS as this program sees them, whoever makes them."""

from typing import Any, Protocol

import msgspec

AUTO_SCALING, EC2, EKS, ZONAL_SHIFT = "autoscaling", "ec2", "eks", "arc-zonal-shift"
Parameters = dict[str, Any]
THROTTLED = frozenset(
    {"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "RequestThrottled"}
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
# SOURCE: the common errors in the API references of AWS; EC2 answers AuthFailure and RequestExpired.
UNAUTHENTICATED = frozenset({
    "AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "NoCredentials", "RequestExpired",
    "SignatureDoesNotMatch", "UnrecognizedClientException",
})  # fmt: skip


class Answer(msgspec.Struct, frozen=True):
    """One answer. `date_seconds` is the service's own clock; 0 if it sent none."""

    body: Parameters
    date_seconds: int = 0


class AwsError(Exception):
    """A call that was refused or never answered. `sent`: AWS may have done it nevertheless. `code` is AWS's own, or `Unreachable`
    and `NoCredentials` if AWS was never asked."""

    def __init__(self, code: str, message: str, *, status: int = 0, sent: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.sent = sent

    @property
    def throttled(self) -> bool:
        """Whether AWS refused because of too many calls."""
        return self.code in THROTTLED

    @property
    def denied(self) -> bool:
        """Whether AWS knows the caller, who lacks the right."""
        return self.code in DENIED

    @property
    def unauthenticated(self) -> bool:
        """Whether the caller's credentials do not work, or no longer. That says nothing about any group."""
        return self.code in UNAUTHENTICATED


class Aws(Protocol):
    """One account in one region. Every call is one attempt; the caller decides about another."""

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """Raises `AwsError`."""


def paged(aws: Aws, service: str, action: str, key: str, most: int, **parameters: Any) -> tuple[list[Parameters], int]:  # noqa: ANN401
    """All items of every page (a short page is not the last one), and the date of the oldest page. Raises `AwsError`."""
    limit, sent = ("MaxRecords" if service == AUTO_SCALING else "MaxResults"), "NextToken"
    if service == ZONAL_SHIFT:
        limit, sent = "maxResults", "nextToken"
    items: list[Parameters] = []
    oldest = 0
    token: str | None = None
    while True:
        page = {limit: most, **({sent: token} if token else {}), **parameters}
        answer = aws.call(service, action, **page)
        items.extend(answer.body.get(key) or ())
        oldest = oldest or answer.date_seconds
        token = answer.body.get(sent)
        if not token:
            return items, oldest
