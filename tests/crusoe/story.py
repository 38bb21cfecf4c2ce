"""The story of two reserved machines, replayed on our own server: `python -m tests.crusoe.story` tells it, and writes what was
seen at its turns as snapshots below examples/crusoe/story, where `reconciler plan` reads them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reconciler.platforms.crusoe.reading import READING
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.asking import Known
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Notes
from tests.cluster.objects import container, node, obj, owner, pod
from tests.crusoe.documents import PROJECT
from tests.crusoe.service.server import Service
from tests.crusoe.service.state import Machine, stamp

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "crusoe"
_BEGIN = 1_795_255_200
_KINDS = (
    "[Node, Pod, PodDisruptionBudget, PriorityClass, Namespace, ReplicaSet, StatefulSet, Job, DaemonSet, PersistentVolume, "
    "PersistentVolumeClaim, StorageClass, CSINode]"
)
_GPU = "nvidia.com/gpu"
_LEFT_OUT = ("CrusoeCapacity", "CrusoeMachineType", "CrusoePoolOperation")


class Story:
    """One pool of count 2 in a reservation of 2, with a training pod on each machine. `rival` is the platform's autoscaler: while
    it runs it raises the count for a pod that waits."""

    def __init__(self, service: Service) -> None:
        self.service = service
        service.reset()
        service.account.now = _BEGIN
        service.account.reservations["h100-2026"] = 2
        self.pool = service.account.add("h100", 2, reservation="h100-2026")
        self.first, self.second = service.account.of(self.pool)
        self.rival = True
        self.sick = False
        self._client = HttpCrusoe(service.credentials)
        self._account = Account(self._client, self._client.credentials)

    def tick(self, seconds: float = 10) -> None:
        """Time passes; a pod waits wherever fewer than two nodes are well."""
        self.service.advance(seconds)
        if self.rival and self._waits() and self.pool.count < 2:
            self.pool.count = 2
        self.service.advance(0)

    def set_count(self, count: int) -> None:
        """What a person does in the console."""
        self._account.set_count(self.pool.id, self.pool.count, count)

    def act(self, machine: Machine, action: str) -> str:
        """START or STOP, and what the platform says to it."""
        path = f"/projects/{PROJECT}/compute/vms/instances/{machine.id}"
        try:
            self._client.call("PATCH", path, None, {"action": action})
        except CrusoeError as error:
            return f"{error.status} {error.message}"
        return "200"

    def delete_newest(self) -> None:
        """The machine that came in the place of the stopped one."""
        self._account.delete_machine(self.service.account.of(self.pool)[-1].id)

    def line(self) -> str:
        """How things stand."""
        account = self.service.account
        names = ", ".join(f"{name(one)} {one.state}" for one in account.of(self.pool))
        return f"count {self.pool.count}; {names}; reservation {account.used('h100-2026')} of 2"

    def files(self) -> dict[str, bytes]:
        """A snapshot of now, by relative name."""
        known = Known(self._account, Notes(InMemoryKeeper()))
        known.ask(0)
        keys = {kind.kind: kind.envelope.list_key for kind in READING.kinds if kind.envelope is not None}
        parts = [
            json.dumps({keys[kind]: items[0] if kind == "CrusoeBehaviour" else items}, indent=1)
            for kind, items in known.items().items()
            if kind not in _LEFT_OUT
        ]
        objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": self._objects()}, indent=1)
        when = stamp(self.service.account.now)
        head = f'formatVersion: "1.0"\ncapturedAt: "{when}"\ncluster: prod\nkinds: {_KINDS}\n'
        return {
            "snapshot.yaml": head.encode(),
            "crusoe.yaml": ("---\n".join(f"{part}\n" for part in parts)).encode(),
            "objects.json": f"{objects}\n".encode(),
        }

    def _waits(self) -> bool:
        return sum(1 for one in self.service.account.of(self.pool) if self._well(one)) < 2

    def _well(self, machine: Machine) -> bool:
        return machine.state == "RUNNING" and not (self.sick and machine is self.second)

    def _objects(self) -> list[dict[str, Any]]:
        found = []
        free = []
        for machine in self.service.account.of(self.pool):
            if machine.state in ("DEFINING", "DELETING"):
                continue
            amounts = {"cpu": "176", "memory": "960Gi", "pods": "110", _GPU: "8"}
            ready = {"type": "Ready", "status": str(self._well(machine)), "lastTransitionTime": stamp(_BEGIN - 300)}
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
            labels = {"pool": "h100"}
            found.append(node(name(machine), labels=labels, spec={"providerID": f"crusoe://{machine.id}"}, status=status))
            if self._well(machine):
                free.append(name(machine))
        for number in (1, 2):
            there = {"nodeName": free.pop(0), "status": {"phase": "Running"}} if free else {}
            work = container("100", "500Gi")
            work["resources"]["requests"][_GPU] = work["resources"].setdefault("limits", {})[_GPU] = "8"
            owned = {"ownerReferences": [owner("StatefulSet", "train", "apps/v1")]}
            found.append(pod(f"train-{number}", "ml", meta=owned, containers=[work], nodeSelector={"pool": "h100"}, **there))
        found.append(obj("StatefulSet", "apps/v1", "train", "ml", meta={"uid": "uid-train"}, spec={"replicas": 2}))
        running = 1 if self.rival else 0
        found.append(obj("Deployment", "apps/v1", "cluster-autoscaler", "crusoe-system", spec={"replicas": running}))
        return found


def name(machine: Machine) -> str:
    """The node of a machine."""
    return f"h100-{int(machine.id[-4:], 16)}"


def told(service: Service, seen: dict[str, dict[str, bytes]] | None = None) -> Iterator[str]:
    """The story line by line; `seen` takes the snapshots of its turns."""
    kept = seen if seen is not None else {}
    story = Story(service)
    yield "What happens without us"
    yield f"  two machines, two reserved:        {story.line()}"
    story.sick = True
    kept["1-not-ready"] = story.files()
    yield f"  {name(story.second)} does not answer any more:   {story.line()}"
    story.act(story.second, "STOP")
    yield f"  it is stopped for repair:          {story.line()}"
    story.tick(60)
    kept["2-stopped"] = story.files()
    yield f"  a minute later:                    {story.line()}"
    yield f"  START {name(story.second)}:                      {story.act(story.second, 'START')}"
    for _ in range(2):
        story.set_count(1)
        story.delete_newest()
        yield f"  count lowered, that one deleted:   {story.line()}"
        story.tick(60)
        yield f"  the autoscaler sees train-2 wait:  {story.line()}"
        yield f"  START {name(story.second)}:                      {story.act(story.second, 'START')}"
    story = Story(service)
    yield "With the group on hold, and the count lowered first"
    story.sick, story.rival = True, False
    story.set_count(1)
    yield f"  the count is lowered:              {story.line()}"
    story.act(story.second, "STOP")
    story.tick(60)
    kept["3-lowered-first"] = story.files()
    yield f"  {name(story.second)} is stopped, then a minute:  {story.line()}"
    story.sick = False
    yield f"  START {name(story.second)}:                      {story.act(story.second, 'START')}"
    story.set_count(2)
    story.tick(60)
    kept["4-recovered"] = story.files()
    yield f"  the count is what it was:          {story.line()}"


def main() -> None:
    """Tell it, and write the snapshots."""
    service = Service()
    seen: dict[str, dict[str, bytes]] = {}
    for line in told(service, seen):
        print(line)
    service.stop()
    for turn, files in seen.items():
        for file, content in files.items():
            path = EXAMPLE / "story" / turn / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    main()
