"""A reflector in the test's own thread against an API server that says what a test wrote down."""

import json
import threading
from typing import Any

from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.reflector import Reflector
from reconciler.kube.watching.stream_state import Phase
from tests.kube.objects import node
from tests.kube.scripted import ManualPace, ScriptedApi

NODES = Collection(group="", kind="Node", version="v1", plural="nodes")


def event(kind: str, name: str, version: int, **spec: object) -> bytes:
    item = node(name, **spec)
    item["metadata"]["resourceVersion"] = str(version)
    return json.dumps({"type": kind, "object": item}).encode()


def bookmark(version: int, *, end: bool = False) -> bytes:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version), **annotations}}}).encode()


def gone() -> bytes:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}
    return json.dumps({"type": "ERROR", "object": status}).encode()


def page(names: list[str], version: int, more: str = "") -> bytes:
    return json.dumps(
        {"metadata": {"resourceVersion": str(version), "continue": more}, "items": [node(name) for name in names]}
    ).encode()


class Run:
    """A reflector run in the test's own thread until its scripts have run out."""

    def __init__(
        self,
        streams: list[Any],
        lists: list[Any] | None = None,
        *,
        pauses: int = 1000,
        chance: float = 0.0,
        collection: Collection = NODES,
    ) -> None:
        self.pace = ManualPace(pauses, chance)
        self.api = ScriptedApi(streams, lists, ended=self.end)
        self.changes = 0
        self.seen: list[tuple[Phase, list[str], str]] = []
        self.reflector = Reflector(
            self.api,
            collection,
            lambda found: ObjectStore(found, "cluster.x-k8s.io"),
            pace=self.pace,
            lock=threading.Lock(),
            changed=self.count,
        )

    def end(self) -> None:
        self.reflector.stop()

    def count(self) -> None:
        self.changes += 1

    def look(self) -> None:
        """Remember what a reader would see at this point of the script."""
        state = self.reflector.state()
        self.seen.append((state.phase, self.names(), state.message))

    def names(self) -> list[str]:
        store = self.reflector.store
        return [name for _, name in store.nodes.by_key()] if isinstance(store, ObjectStore) else []

    def go(self) -> "Run":
        self.reflector.run()
        return self


def watches(run: Run) -> list[dict[str, str]]:
    return [query for kind, _, query in run.api.asked if kind == "watch"]


def phases_at_pauses(run: Run) -> list[Phase]:
    """What a reader sees at every wait and at every look of the script, once `run` has gone."""
    phases: list[Phase] = []
    pause = run.pace.pause

    def noting(seconds: float) -> bool:
        phases.append(run.reflector.state().phase)
        return pause(seconds)

    run.pace.pause = noting  # type: ignore[method-assign]
    run.go()
    return phases + [phase for phase, _, _ in run.seen]
