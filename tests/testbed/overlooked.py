"""Nodes and pods that kwok has not seen to are shown to it once more.

SOURCE: kwok acts on events alone: what it dropped, because the API server answered a write of it with an error that it does not
try again (500, 504, a connection that was cut), stays as it is until the next event of that object.
"""

import time
from collections.abc import Callable, Iterable

from tests.testbed.api import Api, ApiError, Object
from tests.testbed.control_plane import FAKE_NODE

SHOWN = "testbed.reconciler.dev/shown"


class Overlooked:
    """Annotates what waits for kwok and has not changed for `patience_seconds`, so that there is an event."""

    def __init__(self, api: Api, patience_seconds: float = 15) -> None:
        self._api = api
        self._patience_seconds = patience_seconds
        self._since: dict[tuple[str, str], float] = {}

    def look(self, items: Iterable[Object]) -> None:
        """Look at Nodes or pods as they are now."""
        now = time.monotonic()
        for item in items:
            metadata = item["metadata"]
            since = self._since.setdefault((metadata["uid"], metadata["resourceVersion"]), now)
            if now - since >= self._patience_seconds and _waits(item):
                self._show(item)

    def _show(self, item: Object) -> None:
        change = {"metadata": {"annotations": {SHOWN: str(time.monotonic_ns())}}}
        try:
            self._api.merge(item, change)
        except ApiError as error:
            if error.status != 404:
                raise


def until_seen_to(api: Api, path: str, holds: Callable[[list[Object]], bool], what: str, seconds: float = 300) -> list[Object]:
    """The Nodes or pods of a list once `holds` does, which takes kwok. Raises TimeoutError."""
    overlooked = Overlooked(api)

    def looked(items: list[Object]) -> bool:
        if holds(items):
            return True
        overlooked.look(items)
        return False

    return api.wait(path, looked, what, seconds)


def _waits(item: Object) -> bool:
    """Is there something that only kwok does?"""
    metadata, status = item["metadata"], item["status"]
    if item["kind"] == "Node":
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
        return not ready and metadata.get("annotations", {}).items() >= FAKE_NODE.items()
    if "deletionTimestamp" in metadata:
        return not metadata.get("finalizers")
    return bool(item["spec"].get("nodeName")) and status["phase"] == "Pending"
