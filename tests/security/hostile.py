"""Clients that mean harm: many connections at once, each of which keeps its place for as long as it is let."""

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_STEP_SECONDS = 0.2


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Connects and says nothing."""
    await reader.read()


async def dribbles_its_head(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends a byte now and then, so that no single read takes long."""
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(_STEP_SECONDS)


async def dribbles_its_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says that a megabyte will follow."""
    writer.write(b"POST /plan HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(_STEP_SECONDS)


async def sends_without_end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A header that has no end, as fast as it is taken."""
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ")
    while True:
        writer.write(b"a" * 65_536)
        await writer.drain()


async def half_a_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The first bytes of a TLS handshake."""
    writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    await reader.read()


async def never_reads(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Asks and does not take the answer."""
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    await writer.drain()
    await asyncio.sleep(3600)


async def claims_a_token(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A made-up token, another one each time."""
    writer.write(b"GET /plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + str(id(writer)).encode() + b"\r\n\r\n")
    await reader.read()


ALL: tuple[Behaviour, ...] = (
    silent, dribbles_its_head, dribbles_its_body, sends_without_end, half_a_handshake, never_reads, claims_a_token,
)  # fmt: skip


class Crowd:
    """`size` connections to loopback, spread over `ports` and `behaviours`; one that is closed comes back at once."""

    def __init__(self, ports: tuple[int, ...], size: int, behaviours: tuple[Behaviour, ...] = ALL) -> None:
        self.connected = 0
        """How often one of them was connected."""
        self._pairs = list(itertools.islice(zip(itertools.cycle(behaviours), itertools.cycle(ports)), size))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._all_there = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._all_there.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._tasks])
        self._thread.join()

    def _run(self) -> None:
        self._tasks = [self._loop.create_task(self._one(behaviour, port)) for behaviour, port in self._pairs]
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    async def _one(self, behaviour: Behaviour, port: int) -> None:
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                self.connected += 1
                if self.connected >= len(self._pairs):
                    self._all_there.set()
                await behaviour(reader, writer)
            except OSError:
                pass
            finally:
                if writer is not None:
                    writer.transport.abort()
            await asyncio.sleep(_STEP_SECONDS / 10)
