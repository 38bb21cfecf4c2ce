"""One HTTP connection: one request, checked in order of cost, and one answer."""

import asyncio
import http
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import h11
import msgspec

from reconciler.control.pages.page_certificate import Certificate
from reconciler.control.pages.route import Admission, Answer, Broken, Request, Route, routed

_CHUNK = 16_384
_LINGER_SECONDS = 1
_T = TypeVar("_T")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one server takes. Where all `connections` are open, one that has had `grace_seconds` makes room: a request takes one
    packet and arrives right behind the connection. `head_seconds` is for handshake, request line and headers together,
    `body_seconds` for a body. `answer_seconds` is for making a page, `total_seconds` for everything from first byte to last."""

    connections: int = 256
    grace_seconds: float = 0.5
    head_bytes: int = 16_384
    head_seconds: float = 5
    body_seconds: float = 10
    answer_seconds: float = 120
    total_seconds: float = 180


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What a server shows, to whom, and the threads that make the pages: a page may wait for an API server."""

    routes: tuple[Route, ...]
    admission: Admission
    broken: Broken
    workers: Executor


class HttpConnection:
    """`client` was accepted from `peer`. `reading`: its request has not arrived whole. `opened` is by the
    clock of the event loop, in which it is made."""

    def __init__(self, client: socket.socket, peer: str, site: Site, limits: Limits, certificate: Certificate | None) -> None:
        self.reading = True
        self.opened = asyncio.get_running_loop().time()
        self._client = client
        self._peer = peer
        self._site = site
        self._limits = limits
        self._certificate = certificate
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self._reader = asyncio.StreamReader(limit=_CHUNK)
        self._method = b""

    async def run(self) -> None:
        """Take the request and answer it, within the limits; a broken connection is the other side's business."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._limits.total_seconds):
                async with asyncio.timeout(self._limits.head_seconds):
                    writer = await self._opened()
                await self._send(writer, await self._answer(writer))
        except (OSError, EOFError, TimeoutError, h11.LocalProtocolError):
            pass
        finally:
            if writer is not None:
                writer.transport.abort()

    def close(self) -> None:
        """Give the socket back once `run` has ended, or was called off before it began."""
        self._client.close()

    async def _opened(self) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._reader)
        tls = self._certificate.context if self._certificate is not None else None
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, self._client, ssl=tls)
        return asyncio.StreamWriter(transport, protocol, self._reader, loop)

    async def _answer(self, writer: asyncio.StreamWriter) -> Answer:
        """Route first, then who asks, then the body: nobody's body is read before it is known that somebody wants it."""
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                event = await self._next_event()
            if not isinstance(event, h11.Request):
                raise EOFError
            self._method = event.method
            length = _length(event)
            if not length:
                self._http.next_event()  # the end of a request that is its head alone
            request = self._request(event, writer)
            route = routed(self._site.routes, request.method, request.path)
            if isinstance(route, Answer):
                return route
            if length > route.max_body_bytes:
                return Answer(status=413, body=b"the body is too large or its length is not said\n")
            try:
                async with asyncio.timeout(self._limits.answer_seconds):
                    return await self._made(route, request, writer, length)
            except TimeoutError:
                return Answer(status=503, body=b"this page takes too long\n")
        except h11.RemoteProtocolError as error:
            return Answer(status=error.error_status_hint, body=b"no request that is understood here\n")
        except ValueError:
            return Answer(status=400, body=b"no request that is understood here\n")

    async def _made(self, route: Route, request: Request, writer: asyncio.StreamWriter, length: int) -> Answer:
        if route.details:
            refusal = await self._worked(route, request, lambda: self._site.admission(request))
            if isinstance(refusal, Answer):
                return refusal
            if refusal is not None:
                return Answer(status=refusal.status, body=f"{refusal.message}\n".encode())
        if length:
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    request = msgspec.structs.replace(request, body=await self._body(writer))
            except TimeoutError:
                return Answer(status=408, body=b"the body did not arrive in time\n")
        self.reading = False
        return await self._worked(route, request, lambda: route.answer(request))

    async def _worked(self, route: Route, request: Request, work: Callable[[], _T]) -> _T | Answer:
        """What `work` gives on another thread; 500 where it raises."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._site.workers, work)
        except Exception as error:
            # What went wrong may name objects; who asks here may not be allowed to see them.
            with suppress(Exception):
                self._site.broken(route, request, error)
            return Answer(status=500, body=b"this page could not be made. The log says why\n")

    def _request(self, event: h11.Request, writer: asyncio.StreamWriter) -> Request:
        method = event.method.decode("ascii")
        target = urlsplit(event.target.decode("ascii"))
        return Request(
            method="GET" if method == "HEAD" else method,
            path=unquote(target.path),
            query=target.query,
            headers={name.decode("ascii"): value.decode("latin-1") for name, value in event.headers},
            peer=self._peer,
            local=str((writer.get_extra_info("sockname") or ("",))[0]),
            secure=self._certificate is not None,
        )

    async def _body(self, writer: asyncio.StreamWriter) -> bytes:
        if self._http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            writer.write(self._http.send(go_on) or b"")
        parts: list[bytes] = []
        while isinstance(event := await self._next_event(), h11.Data):
            parts.append(bytes(event.data))
        return b"".join(parts)

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_CHUNK))
        if isinstance(event, h11.ConnectionClosed):
            raise EOFError
        return event

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        self.reading = False
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Connection", "close"),
        ]
        if answer.status == 401:
            headers.append(("WWW-Authenticate", "Bearer"))
        reason = http.HTTPStatus(answer.status).phrase.encode()
        # `drain` then waits until all has left us.
        writer.transport.set_write_buffer_limits(high=0)
        head = self._http.send(h11.Response(status_code=answer.status, headers=headers, reason=reason)) or b""
        writer.writelines((head, b"" if self._method == b"HEAD" else answer.body))
        await writer.drain()
        if self._http.their_state is not h11.DONE:
            await self._linger(writer)
        writer.close()
        await writer.wait_closed()

    async def _linger(self, writer: asyncio.StreamWriter) -> None:
        """Let the other side read its answer: to close over a body that nobody has read would take the answer back."""
        if writer.can_write_eof():
            writer.write_eof()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while await self._reader.read(_CHUNK):
                    pass


def _length(event: h11.Request) -> int:
    """Bytes of the body; more than any route takes where it is not said beforehand."""
    headers = dict(event.headers)
    if b"transfer-encoding" in headers:
        return sys.maxsize
    return int(headers.get(b"content-length", b"0"))
