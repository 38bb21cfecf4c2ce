"""A watch on all objects of one kind that survives every way in which an API server goes away."""

import http.client
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from tests.testbed.api import Api, ApiError, Object

Name = tuple[str, str]
# What an API server that stops, hangs or starts does to its clients.
GONE = (OSError, http.client.HTTPException, ApiError, ValueError)
_RETRY_SECONDS = 0.2


class Collection(Protocol):
    """What is watched."""

    @property
    def plural(self) -> str:
        """The resource name."""

    @property
    def path(self) -> str:
        """The path of all its objects."""


Watched = TypeVar("Watched", bound=Collection)


class Watch(threading.Thread, Generic[Watched]):
    """Keeps `objects` (by namespace and name) as the server has them; calls `changed` for each object that came, changed or
    went. A list that differs from what is known counts as changes, too."""

    def __init__(self, api: Api, kind: Watched, changed: Callable[[Watched, Name], None]) -> None:
        super().__init__(name=f"watch-{kind.plural}", daemon=True)
        self._api = api
        self._kind = kind
        self._changed = changed
        self._connection: http.client.HTTPSConnection | None = None
        self._stopped = threading.Event()
        self.listed = threading.Event()
        self.objects: dict[Name, Object] = {}

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stopped.is_set():
            with suppress(*GONE):
                self._watch(self._list())
            self._close()
            self._stopped.wait(_RETRY_SECONDS)

    def stop(self) -> None:
        """End the watch; returns when the thread has ended."""
        self._stopped.set()
        while self.is_alive():
            connection = self._connection
            if connection is not None and connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            self.join(0.05)

    def _list(self) -> str:
        answer = self._api.get(self._kind.path)
        fresh = {_name(item): item for item in answer["items"]}
        touched = [name for name in self.objects.keys() | fresh.keys() if self.objects.get(name) != fresh.get(name)]
        self.objects = fresh
        self.listed.set()
        for name in touched:
            self._changed(self._kind, name)
        return str(answer["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> None:
        self._connection = self._api.connect(seconds=120)
        self._connection.request("GET", f"{self._kind.path}?watch=true&resourceVersion={version}&timeoutSeconds=90")
        response = self._connection.getresponse()
        while line := response.readline():
            event = json.loads(line)
            if event["type"] == "ERROR" or self._stopped.is_set():
                return
            item = event["object"]
            name = _name(item)
            if event["type"] == "DELETED":
                self.objects.pop(name, None)
            else:
                self.objects[name] = item
            self._changed(self._kind, name)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _name(item: Object) -> Name:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
