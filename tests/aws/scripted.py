"""An `Aws` that answers what a test has put there, in the test's own process, and keeps every call with its parameters."""

from collections.abc import Callable
from typing import Any

from reconciler.platforms.aws.writing.calls import Answer, AwsError
from tests.aws.documents import Object

Asked = tuple[str, Object]
DENIED = AwsError("AccessDenied", "not authorized", status=403)
THROTTLED = AwsError("Throttling", "Rate exceeded", status=400)


class Scripted:
    """`answers` by action: bodies and errors one after the other, the last one again and again; or what makes one of the
    parameters. An action without any is answered by nothing."""

    def __init__(self, date_seconds: int = 1_800_000_000, **answers: Any) -> None:
        self.answers: dict[str, list[Any] | Callable[..., Any]] = answers
        self.date_seconds = date_seconds
        self.asked: list[Asked] = []
        self.services: set[tuple[str, str]] = set()

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        """As `Aws.call`."""
        self.asked.append((action, parameters))
        self.services.add((service, action))
        found = self.answers.get(action, [{}])
        answer = found(**parameters) if callable(found) else found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, AwsError):
            raise answer
        return Answer(answer, self.date_seconds)

    def told(self) -> list[Asked]:
        """The calls since this was asked last."""
        found, self.asked = self.asked, []
        return found

    def actions(self) -> list[str]:
        """Their names."""
        return [action for action, _ in self.told()]
