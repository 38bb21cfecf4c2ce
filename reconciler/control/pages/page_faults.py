"""Pages that could not be made: who asks is told nothing, the log is."""

import hashlib
import threading
import traceback
from collections.abc import Callable

from reconciler.control.log import Log
from reconciler.control.pages.route import Request, Route


def request_digest(request: Request) -> str:
    """The same for the same request, and nothing can be read from it, as for a command that ends by a defect."""
    digest = hashlib.sha256("\0".join((request.method, request.path)).encode("utf-8", "surrogateescape"))
    digest.update(b"\0" + request.body)
    return f"sha256:{digest.hexdigest()[:12]}"


class PageFaults:
    """What an `HttpServer` calls for a page that broke: counts each by its path, logs it once until another defect breaks it."""

    def __init__(self, log: Log, count: Callable[[str], None] = lambda _: None) -> None:
        """`count` is given the path of the route."""
        self._log = log
        self._count = count
        self._lock = threading.Lock()
        self._logged: dict[str, str] = {}

    def __call__(self, route: Route, request: Request, error: Exception) -> None:
        """One page of `route` broke for `request`."""
        self._count(route.path)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.name}:{frame.lineno}"
        message = f"{route.path} could not be made: {type(error).__name__}: {error}"
        with self._lock:
            if self._logged.get(route.path) == f"{where} {message}":
                return
            self._logged[route.path] = f"{where} {message}"
        self._log.error("PageFailed", message, path=route.path, where=where, inputs=request_digest(request))
