"""An API server that answers what a test has put there, by path, and keeps every read."""

import json
from collections.abc import Mapping
from typing import Any

from reconciler.kube.connection.api import ApiError


class ScriptedApi:
    """`answers` by path: bodies, and statuses that are raised. All other paths are not found."""

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, dict[str, str]]] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """As `Api.get`."""
        self.asked.append((path, dict(query or {})))
        found = self.answers.get(path, 404)
        if isinstance(found, int):
            raise ApiError(found, "Refused", path)
        return json.dumps(found).encode()
