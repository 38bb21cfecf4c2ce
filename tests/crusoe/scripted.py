"""A `Crusoe` that answers what a test has put there, in the test's own process, and keeps every call with its parameters."""

from collections.abc import Mapping
from typing import Any

from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.credentials import Credentials
from tests.crusoe.documents import CLUSTER, PROJECT, Object

P = f"/projects/{PROJECT}"
POOLS = f"{P}/kubernetes/nodepools"
DENIED = CrusoeError("unauthorized", "no", status=403)
Asked = tuple[str, str, Mapping[str, str] | None, Object | None]


class Scripted:
    """`answers` by the end of the path, the first that fits: bodies and errors one after the other, the last one again and again.
    A path without any is answered by nothing."""

    def __init__(self, answers: Mapping[str, Any] | None = None, **environment: str) -> None:
        self.answers: dict[str, list[Any]] = {
            key: list(found) if isinstance(found, tuple) else [found] for key, found in (answers or {}).items()
        }
        self.asked: list[Asked] = []
        needed = {
            "CRUSOE_ACCESS_KEY": "k",
            "CRUSOE_SECRET_KEY": "YWJj",
            "CRUSOE_PROJECT_ID": PROJECT,
            "CRUSOE_CLUSTER_ID": CLUSTER,
        }
        self.account = Account(self, lambda: Credentials({**needed, **environment}))

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None) -> Object:
        """As `Crusoe.call`."""
        self.asked.append((method, path, query, body))
        found = next((found for ending, found in self.answers.items() if path.endswith(ending)), [{}])
        answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, CrusoeError):
            raise answer
        whole: Object = answer
        return whole

    def told(self) -> list[Asked]:
        """The calls since this was asked last."""
        found, self.asked = self.asked, []
        return found
