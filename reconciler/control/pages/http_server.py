"""The HTTP side of the loop: a table of routes on a thread of its own. Reads only; nothing here can make the loop write.

A client costs little before it is known. Connections, the size of what is read and the time for it have bounds, and each
connection takes one request. When all connections are in use, the one that has been sending its request for the longest makes way
for the next.
"""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

from reconciler.control.pages.http_connection import HttpConnection, Limits, Site
from reconciler.control.pages.page_certificate import Certificate
from reconciler.control.pages.route import Admission, Broken, Route

_BACKLOG = 1024
_WORKERS = 4


class HttpServer:
    """Listens on `address` (port 0: any free one, see `port`; host empty: all of IPv4 and IPv6). `start` and `stop` once each.
    With a `certificate` over TLS alone. Raises OSError where it cannot listen."""

    def __init__(
        self,
        address: tuple[str, int],
        routes: tuple[Route, ...],
        admission: Admission,
        broken: Broken,
        *,
        certificate: Certificate | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._socket = _listening(address)
        self._limits = limits or Limits()
        self._certificate = certificate
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="page")
        self._site = Site(routes=routes, admission=admission, broken=broken, workers=self._workers)
        self._open: dict[asyncio.Task[None], HttpConnection] = {}
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def show(self, routes: tuple[Route, ...], admission: Admission, broken: Broken) -> None:
        """Answer by these from the next request on."""
        self._site = Site(routes=routes, admission=admission, broken=broken, workers=self._workers)

    def stop(self) -> None:
        """Answer no more; returns when the port is free."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()
            self._socket.close()
            # A page that is still being made is of no use to anybody; its thread ends with it. Those that wait were given up
            # with their connections.
            self._workers.shutdown(wait=False)

    async def _serve(self) -> None:
        accepting = asyncio.create_task(self._accept())
        await self._ended.wait()
        tasks = [accepting, *self._open]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            try:
                client, peer = await self._loop.sock_accept(self._socket)
            except OSError:
                # Out of file descriptors, or gone before it was taken: neither ends the listening.
                await asyncio.sleep(0.1)
                continue
            room = False
            try:
                room = await self._room()
            finally:
                if not room:
                    client.close()
            if not room:
                continue
            connection = HttpConnection(client, str(peer[0]), self._site, self._limits, self._certificate)
            task = self._loop.create_task(connection.run())
            self._open[task] = connection
            task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task).close()

    async def _room(self) -> bool:
        """Whether there is room for one more connection. If necessary, this ends the oldest connection whose request has not
        arrived. Each connection gets a moment to send its request, while new ones wait in the kernel's queue. False: every
        connection has a request that is being answered."""
        while len(self._open) >= self._limits.connections:
            oldest = next(((task, connection) for task, connection in self._open.items() if connection.reading), None)
            if oldest is None:
                return False
            task, connection = oldest
            until, now = connection.opened + self._limits.grace_seconds, self._loop.time()
            if now < until:
                await asyncio.wait(self._open, timeout=until - now, return_when=asyncio.FIRST_COMPLETED)
            else:
                task.cancel()
                await asyncio.wait((task,))
        return True


def _listening(address: tuple[str, int]) -> socket.socket:
    host, port = address
    both = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError:
        if not both:
            raise
        listener = socket.create_server((host, port), backlog=_BACKLOG)  # a kernel without IPv6
    listener.settimeout(0)
    return listener
