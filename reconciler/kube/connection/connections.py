"""The connections of one user to one API server: a pool that announces a request before its first byte leaves."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reconciler.kube.connection.api import Guard

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool, PoolManager
    from urllib3.connection import HTTPConnection


_current = threading.local()


class Attempt:
    """One request on its way. `sent` is true once bytes of it may have left this process."""

    __slots__ = ("_guard", "sent")

    def __init__(self, guard: Guard | None) -> None:
        self._guard = guard
        self.sent = False

    def __enter__(self) -> "Attempt":
        _current.attempt = self
        return self

    def __exit__(self, *_: object) -> None:
        _current.attempt = None

    def leaving(self) -> None:
        """The connection is open and the request is built. If the guard raises, nothing is sent."""
        if self._guard is not None:
            self._guard()
        self.sent = True


def announce_requests(pools: "PoolManager") -> None:
    """Let every connection of these pools call `Attempt.leaving` of its thread at the last moment. That moment is after the
    handshake, which may take as long as the time limit, and before the first byte of the request."""
    known: Mapping[str, type[HTTPConnectionPool]] = pools.pool_classes_by_scheme
    pools.pool_classes_by_scheme = {
        scheme: type(pool.__name__, (pool,), {"ConnectionCls": _announcing(pool.ConnectionCls)}) for scheme, pool in known.items()
    }


def _announcing(connection: "type[HTTPConnection] | type[object]") -> type:
    def putrequest(self: "HTTPConnection", *arguments: object, **options: object) -> None:
        if self.sock is None:
            self.connect()
        attempt: Attempt | None = getattr(_current, "attempt", None)
        if attempt is not None:
            attempt.leaving()
        put = getattr(connection, "putrequest")  # noqa: B009 - arguments go through as they come
        put(self, *arguments, **options)

    return type(connection.__name__, (connection,), {"putrequest": putrequest})
