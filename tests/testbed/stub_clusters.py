"""Many workload clusters behind one port: captured or made-up objects, served as lists and watches, with faults drawn at random.

It runs in a process of its own (`StubClusters`), so that what it costs is not counted as the client's. Each cluster has a path
prefix, a token and faults of its own. Nothing is stored: what is written is refused.
"""

import asyncio
import base64
import json
import multiprocessing
import os
import random
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import yaml

from reconciler.kube.watching.collection import SERVICES, WORKLOAD
from tests.testbed.certificates import Authority

Object = dict[str, Any]
_KINDS = {item.path: item for item in (*WORKLOAD, SERVICES)}
_NAMESPACES = "/api/v1/namespaces"


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """How often something goes wrong: shares of requests. `latency_seconds` is the longest wait before an answer. A watch is cut
    after `cut_seconds` on average (0: never). With `drip`, answers come one byte per second."""

    refused: float = 0.0
    broken: float = 0.0
    latency_seconds: float = 0.0
    cut_seconds: float = 0.0
    drip: bool = False


class StubCluster(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster: its objects by the path of their collection (`/api/v1/pods`), and how it fails."""

    name: str
    objects: Mapping[str, list[Object]]
    faults: Faults = Faults()


def captured(directory: Path) -> dict[str, list[Object]]:
    """The objects of a snapshot that are of the workload cluster, by the path of their collection."""
    found: dict[str, list[Object]] = {}
    for file in sorted(directory.glob("*.json")):
        listed = json.loads(file.read_text())
        for path, kind in _KINDS.items():
            if listed.get("kind") == f"{kind.kind}List" and listed.get("apiVersion") == kind.api_version:
                found[path] = listed["items"]
    return found


class StubClusters:
    """The server, as a process; use it in a `with`. `kubeconfig` gives the one of a cluster; `tokens` are changed by
    `set_token`."""

    def __init__(self, directory: Path, clusters: list[StubCluster]) -> None:
        self._directory = directory
        self._authority = Authority(directory)
        self._files = self._authority.server("stub")
        self._clusters = clusters
        self.seed = int(os.environ.get("STUB_SEED", "") or random.randrange(1 << 32))
        print(f"STUB_SEED={self.seed}")

    def __enter__(self) -> "StubClusters":
        ours, theirs = multiprocessing.Pipe()
        # A process that shares nothing with this one: threads of tests would be copied half way.
        context = multiprocessing.get_context("spawn")
        self._pipe = ours
        self._process = context.Process(target=_serve, args=(self._files, self._clusters, self.seed, theirs), daemon=True)
        self._process.start()
        self.port = int(ours.recv())
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()

    def set_token(self, name: str, token: str) -> None:
        """Only this token is taken from now on; watches that are open stay."""
        self._pipe.send(("token", name, token))
        self._pipe.recv()

    def set_faults(self, name: str, faults: Faults) -> None:
        """How the cluster fails from now on; what is open is cut."""
        self._pipe.send(("faults", name, faults))
        self._pipe.recv()

    def requests(self) -> dict[str, int]:
        """How many requests each cluster has had."""
        self._pipe.send(("requests", "", None))
        found: dict[str, int] = self._pipe.recv()
        return found

    def processor_seconds(self) -> float:
        """How long the server has had a processor."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kubeconfig(self, name: str, token: str) -> bytes:
        """What the Secret of the cluster holds."""
        authority = base64.b64encode(self._authority.certificate.read_bytes()).decode()
        return yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "stub",
                "clusters": [
                    {"name": "stub", "cluster": {
                        "server": f"https://127.0.0.1:{self.port}/{name}", "certificate-authority-data": authority}}
                ],
                "users": [{"name": "stub", "user": {"token": token}}],
                "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
            }
        ).encode()  # fmt: skip


def _with_own_uids(cluster: str, namespaces: list[Object]) -> list[Object]:
    """The uid of a namespace tells API servers apart."""
    return [{**one, "metadata": {**one["metadata"], "uid": f"{cluster}-{one['metadata'].get('uid')}"}} for one in namespaces]


def _serve(files: tuple[Path, Path], clusters: list[StubCluster], seed: int, pipe: Connection) -> None:
    asyncio.run(_Server(clusters, seed).run(files, pipe))


class _Server:
    def __init__(self, clusters: list[StubCluster], seed: int) -> None:
        self._chance = random.Random(seed)
        self._faults = {one.name: one.faults for one in clusters}
        self._tokens: dict[str, str] = {}
        self._open: dict[str, set[asyncio.StreamWriter]] = {}
        self._requests = dict.fromkeys(self._faults, 0)
        # Encoded once: a hundred clusters of the same objects share them.
        encoded: dict[int, tuple[list[bytes], list[bytes]]] = {}
        self._items: dict[str, dict[str, tuple[list[bytes], list[bytes]]]] = {}
        for one in clusters:
            self._items[one.name] = {
                path: _encoded(path, _with_own_uids(one.name, items))
                if path == _NAMESPACES
                else encoded.setdefault(id(items), _encoded(path, items))
                for path, items in one.objects.items()
            }

    async def run(self, files: tuple[Path, Path], pipe: Connection) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=context, backlog=1024)
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._told, pipe, ended)
        pipe.send(server.sockets[0].getsockname()[1])
        await ended.wait()

    def _told(self, pipe: Connection, ended: asyncio.Event) -> None:
        try:
            what, name, value = pipe.recv()
        except (EOFError, OSError):
            ended.set()
            return
        if what == "token":
            self._tokens[name] = value
        elif what == "faults":
            self._faults[name] = value
            for writer in tuple(self._open.get(name, ())):
                writer.transport.abort()
        pipe.send(dict(self._requests))

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
                await reader.readexactly(int(headers.get("content-length", "0")))
                method, target, _ = head[0].split(" ")
                if not await self._answer(method, target, headers, writer):
                    break
        for writers in self._open.values():
            writers.discard(writer)
        writer.close()

    async def _answer(self, method: str, target: str, headers: Mapping[str, str], writer: asyncio.StreamWriter) -> bool:
        parts = urlsplit(target)
        name, _, path = parts.path.removeprefix("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if name not in self._faults:
            return await _send(writer, 404, _status(404, "NotFound", target))
        self._requests[name] += 1
        self._open.setdefault(name, set()).add(writer)
        faults, chance = self._faults[name], self._chance
        if faults.latency_seconds:
            await asyncio.sleep(chance.uniform(0, faults.latency_seconds))
        if name in self._tokens and headers.get("authorization") != f"Bearer {self._tokens[name]}":
            return await _send(writer, 401, _status(401, "Unauthorized", "Unauthorized"), drip=faults.drip)
        if chance.random() < faults.broken:
            return False
        if chance.random() < faults.refused:
            return await _send(writer, chance.choice((429, 500, 503)), _status(500, "InternalError", "drawn"), drip=faults.drip)
        path = f"/{path}"
        if method != "GET":
            return await _send(writer, 403, _status(403, "Forbidden", "nothing is written here"), drip=faults.drip)
        if path == "/version":
            return await _send(writer, 200, b'{"gitVersion":"v1.36.3"}', drip=faults.drip)
        kind = _KINDS.get(path)
        if kind is None:
            return await _send(writer, 404, _status(404, "NotFound", path), drip=faults.drip)
        events, items = self._items[name].get(path, ([], []))
        if query.get("watch") == "true":
            return await self._watch(name, path, query, events, writer)
        head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": {"resourceVersion": "1000"}}
        body = json.dumps(head).encode()[:-1] + b', "items": [' + b",".join(items) + b"]}"
        return await _send(writer, 200, body, drip=faults.drip)

    async def _watch(
        self, name: str, path: str, query: Mapping[str, str], events: list[bytes], writer: asyncio.StreamWriter
    ) -> bool:
        kind = _KINDS[path]
        faults = self._faults[name]
        bookmark: Object = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": {"resourceVersion": "1000"}}
        await _put(
            writer, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", faults.drip
        )
        if query.get("sendInitialEvents") == "true":
            ended = bookmark | {"metadata": {"resourceVersion": "1000", "annotations": {"k8s.io/initial-events-end": "true"}}}
            body = b"".join([*events, json.dumps({"type": "BOOKMARK", "object": ended}).encode() + b"\n"])
            await _put(writer, b"%x\r\n%b\r\n" % (len(body), body), faults.drip)
        lasts = float(query.get("timeoutSeconds", "300"))
        cut = self._chance.expovariate(1 / faults.cut_seconds) if faults.cut_seconds else lasts
        loop = asyncio.get_running_loop()
        began = loop.time()
        line = json.dumps({"type": "BOOKMARK", "object": bookmark}).encode() + b"\n"
        # As an API server: once a minute, and two seconds before the end.
        for at in (*range(60, int(lasts) - 2, 60), max(lasts - 2, 0), lasts):
            await asyncio.sleep(max(began + min(at, cut) - loop.time(), 0))
            if at >= cut and cut < lasts:
                return False
            if at < lasts:
                await _put(writer, b"%x\r\n%b\r\n" % (len(line), line), self._faults[name].drip)
        await _put(writer, b"0\r\n\r\n", faults.drip)
        return True


def _encoded(path: str, items: list[Object]) -> tuple[list[bytes], list[bytes]]:
    """Events of a watch, and items of a list."""
    kind = _KINDS[path]
    whole = [{"kind": kind.kind, "apiVersion": kind.api_version, **item} for item in items]
    return [json.dumps({"type": "ADDED", "object": item}).encode() + b"\n" for item in whole], [
        json.dumps(item).encode() for item in whole
    ]


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, *, drip: bool = False) -> bool:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    await _put(writer, head + body, drip)
    return True


async def _put(writer: asyncio.StreamWriter, data: bytes, drip: bool) -> None:
    pieces: Iterator[bytes] = (data[at : at + 1] for at in range(len(data))) if drip else iter((data,))
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        if drip:
            await asyncio.sleep(1)


def _status(code: int, reason: str, message: str) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}).encode()


@contextmanager
def stub_clusters(directory: Path, clusters: list[StubCluster]) -> Iterator[StubClusters]:
    """A running server."""
    with StubClusters(directory, clusters) as running:
        yield running
