"""An orchard that answers and acts, and one row of it behind a port: there is no API server, so that the drain is here too."""

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from reconciler.cluster.platform_reading import Objects
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.kube.drain_mark import DELETING_TAINT
from reconciler.plan.plan import Bound
from reconciler.policy.documents import PolicySet, TargetSpec
from reconciler.providers.contract import RemovalProgress
from reconciler.providers.live_platforms import Surroundings
from reconciler.providers.ownership_guard import judged_now
from tests.policies import node_group, policy
from tests.providers.ended_removals import ended_removals
from tests.providers.example_platform import objects
from tests.providers.example_platform.live import LIVE
from tests.providers.example_platform.objects import Tree, TreeRow, Written
from tests.providers.example_platform.reading import KIND

OWNER = "test"
_FIELD = "valley"
_numbers = itertools.count(1)


class Service:
    """Keeps rows, takes writes over the version that is there, plants what is wanted and clears what is felled."""

    def __init__(self) -> None:
        self.rows: dict[str, TreeRow] = {}
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(service.read(self.path))

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(service.put(self.path, msgspec.json.decode(body, type=TreeRow)))

            def _answer(self, found: tuple[int, TreeRow | None]) -> None:
                body = msgspec.json.encode(found[1])
                self.send_response(found[0])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def read(self, path: str) -> tuple[int, TreeRow | None]:
        with self._lock:
            item = self.rows.get(path)
            return (200, item) if item is not None else (404, None)

    def put(self, path: str, item: TreeRow) -> tuple[int, TreeRow | None]:
        with self._lock:
            there = self.rows.get(path)
            if there is None or there.version != item.version:
                return (404 if there is None else 412), None
            self.rows[path] = msgspec.structs.replace(item, version=item.version + 1)
            return 200, self.rows[path]

    def act(self) -> None:
        """What its gardeners do."""
        with self._lock:
            for path, item in self.rows.items():
                trees = [tree for tree in item.trees if not tree.felled]
                trees += [Tree(f"oak-{next(_numbers):04}") for _ in range(item.wanted - len(trees))]
                self.rows[path] = msgspec.structs.replace(item, trees=trees)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class OrchardBench:
    """One row, and the port that writes to it."""

    def __init__(self, service: Service, replicas: int) -> None:
        self._service = service
        name = f"row-{next(_numbers)}"
        self._path = f"/{_FIELD}/{name}"
        service.rows[self._path] = TreeRow(row=name, field=_FIELD, wanted=replicas, least=0, most=20)
        self.target = TargetRef(kind=KIND, region=_FIELD, name=name)
        spec = TargetSpec(provider="orchard", kind=KIND, region=_FIELD, name=name)
        self.policy: PolicySet = policy(node_group(name, target=spec))
        self._leaving: dict[str, str] = {}
        made = LIVE.provider
        assert made is not None
        # It asks no API server.
        providers = {KIND: made(Surroundings(management=None))}  # type: ignore[arg-type]
        self.port = LivePort(self, lambda: int(time.time()), self, providers, self, OWNER)

    def current(self) -> PolicySet:
        return self.policy

    def _row(self) -> TreeRow:
        return self._service.rows[self._path]

    def observe(self) -> World:
        self._service.act()
        nodes = [_node(tree.id, self._leaving) for tree in self._row().trees]
        world = read_snapshot({"nodes.json": json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": nodes}).encode()})
        row = self._row()
        kept = {("", KIND): {(row.field, row.row): row}}
        found = objects.rows(Objects(group="", captured=frozenset({KIND}), kept=kept, nodes=world.nodes))
        return msgspec.structs.replace(world, targets=tuple(found.targets), machines=tuple(sorted(found.machines)))

    def facts(self) -> TargetFacts:
        return objects.facts(self._row())

    def bound(self) -> Bound:
        facts = self.facts()
        return Bound(
            resource_version=facts.resource_version,
            replicas=facts.replicas or 0,
            owner_digest=judged_now(facts).digest,
            policy_digest="",
        )

    def replicas(self) -> int:
        return self._row().wanted

    def nodes(self) -> list[str]:
        return sorted(f"n-{tree.id}" for tree in self._row().trees if not tree.felled)

    def until_nodes(self, count: int) -> list[str]:
        self._service.act()
        assert len(self.nodes()) == count
        return self.nodes()

    def applied_by(self, manager: str, replicas: int) -> None:
        self._change(replicas, Written(manager, keeps=True))

    def edited_by(self, manager: str, replicas: int) -> None:
        self._change(replicas, Written(manager))

    def _change(self, replicas: int, by: Written) -> None:
        item = self._row()
        assert self._service.put(self._path, msgspec.structs.replace(item, wanted=replicas, written=[by]))[0] == 200

    def removed(self, count: int = 1) -> list[RemovalProgress]:
        return ended_removals(self.port, count)

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        self._leaving[node] = f"{OWNER}.{int(time.time())}"

    def step(self, _: str) -> DrainStep:
        return DrainStep(remaining=0)

    def undo(self, node: str) -> None:
        self._leaving.pop(node, None)


def _node(tree: str, leaving: dict[str, str]) -> dict[str, object]:
    name = f"n-{tree}"
    taints = [{"key": DELETING_TAINT, "value": leaving[name], "effect": "NoSchedule"}] if name in leaving else []
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"providerID": f"orchard://{tree}", "taints": taints},
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
