"""Many requests at once, over a few connections that stay open."""

import http.client
import json
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple

from tests.testbed.api import Api, ApiError, Object, collection

# The API server of the tests has two cores: more threads only wait.
_THREADS = 4


class Request(NamedTuple):
    """One request; a body that is not a new object is a merge patch or delete options."""

    method: str
    path: str
    body: Object | None = None


class Connections:
    """A pool of connections to one API server; close it, or use it in a `with`."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._own = threading.local()
        self._opened: list[http.client.HTTPSConnection] = []
        self._threads = ThreadPoolExecutor(_THREADS)

    def __enter__(self) -> "Connections":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)
        for connection in self._opened:
            connection.close()

    def send(self, requests: Iterable[Request]) -> None:
        """All requests, in no particular order; returns when all are answered. Raises ApiError for the first refused one."""
        for _ in self._threads.map(self._send, requests):
            pass

    def create(self, objects: Iterable[Object]) -> None:
        """Create objects, with the status that they carry where the server takes it at creation (nodes)."""
        self.send(Request("POST", collection(item), item) for item in objects)

    def _send(self, request: Request) -> None:
        connection: http.client.HTTPSConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._api.connect()
            self._opened.append(connection)
        kind = "application/merge-patch+json" if request.method == "PATCH" else "application/json"
        body = None if request.body is None else json.dumps(request.body)
        connection.request(request.method, request.path, body, {"Content-Type": kind, "User-Agent": "testbed"})
        response = connection.getresponse()
        text = response.read()
        if response.status >= 300:
            answer: Any = json.loads(text)
            raise ApiError(response.status, answer)
