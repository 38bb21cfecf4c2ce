"""Two releases on one running cluster, one after the other, while nodes are draining: what the other one has stored leads to no
change of any size, whether that is an earlier one (an upgrade) or a later one (a downgrade).

`tests/fixtures/states` has one memory as each release that had a form of its own stored it, made by the code of that release:
a group of three nodes, of which two are leaving. The oldest two cannot be read any more.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.plan_record import PlanRecorder
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.memory import MEMORY_VERSION, Memory
from reconciler.kube.drain import DrainStep
from reconciler.kube.leading.state import StateObject
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import Mode, PolicySet
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteResult
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.kube.api_server import FakeApiServer

STATES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "states").glob("*.json"))
UNREADABLE = ("01.json", "02.json")
STATE = "/api/v1/namespaces/reconciler/configmaps/reconciler-state-test"
LEAVING = ("general-1", "general-2")


class Cluster:
    """Three nodes, of which two are draining, each with a pod that does not go yet. View, policy, provider and drain at once;
    `sized` are the writes of the target, `drained` and `reopened` what became of nodes."""

    def __init__(self) -> None:
        self.sized: list[tuple[object, ...]] = []
        self.drained: list[str] = []
        self.reopened: list[str] = []
        self.server = FakeApiServer()
        cluster = ClusterBuilder()
        names = cluster.group("general", nodes=3)
        for name in LEAVING:
            cluster.node(name, labels={"pool": "general"}, taints=(f"reconciler.dev/deleting=test.{NOW - 60}:NoSchedule",))
        cluster.pods("web", 2, cpu="500m", on=LEAVING)
        cluster.pods("busy", 1, cpu="3", on=names[2])
        self.world = cluster.world()

    @property
    def state(self) -> LockedState:
        """Of a process that begins now."""
        return LockedState(StateObject(self.server, "reconciler", "test"))  # type: ignore[arg-type]

    def turns(self, count: int = 3) -> list[LoopReport]:
        """Of a process that begins now, with what it tells of its plans."""
        state = self.state
        port = LivePort(self, lambda: NOW, self, {MACHINE_DEPLOYMENT: self}, self, "test")  # type: ignore[arg-type, dict-item]
        loop, recorder = ControlLoop(port, self, LiveMemoryStore(state)), PlanRecorder(state)
        found = []
        for _ in range(count):
            found.append(loop.turn())
            recorder.turned(found[-1])
        return found

    def stored(self) -> dict[str, Any]:
        """The memory as it lies on the server."""
        content = self.state.load("memory")
        assert content is not None
        found: dict[str, Any] = msgspec.json.decode(content)
        return found

    def observe(self) -> World:
        return self.world

    def current(self) -> PolicySet:
        return policy(node_group("general", min=1), mode=Mode.ENFORCE)

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str]) -> WriteResult:
        self.sized.append(("resize", target, replicas))
        return WriteResult()

    def step(self, *asked: Any) -> Any:
        """Of one node's drain, as it is asked of the drain; of machines to take, as it is asked of the provider."""
        if len(asked) == 1:
            self.drained.append(asked[0])
            return DrainStep(remaining=1)
        self.sized += [("take", one.node) for one in asked[1]]
        return (TargetRemoval(state=RemovalState.DRAINING, replicas=3),) * len(asked[1])

    def undo(self, node: str) -> None:
        self.reopened.append(node)

    def abandon(self, *_: object) -> WriteResult:
        return WriteResult()

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        self.sized.append(("remove", node))
        return WriteResult()

    def begin(self, node: str, seen: object = None) -> None:
        self.sized.append(("drain", node))

    def unchanged(self) -> bool:
        """No size was written, both drains go on, and no node was opened or closed."""
        return (self.sized, set(self.drained), self.reopened) == ([], set(LEAVING), [])


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_an_upgrade_from_each_earlier_form_changes_no_size(path: Path) -> None:
    """The first turns on what that release stored: the plan has nothing to do, drains go on. One that cannot be read any more
    costs one turn, which says so; then timers begin afresh."""
    cluster = Cluster()
    cluster.state.save("memory", path.read_bytes())
    reports = cluster.turns()
    assert cluster.unchanged(), (cluster.sized, cluster.drained, cluster.reopened)
    assert [action for report in reports if report.plan for action in report.plan.actions] == []
    lost = [report.unavailable for report in reports if report.unavailable]
    if path.name in UNREADABLE:
        assert len(lost) == 1
        assert "damaged" in lost[0]
    else:
        assert lost == []
        assert set(cluster.stored()["leaving"]) == set(LEAVING)


@pytest.mark.parametrize("content", [
    b'{"x": ' + b"[" * 100_000, b'{"examineNext": "\xff"}', b'{"unneededSince": {"general-1": 1000000000000000}}',
    b'{"denials": {"growth MachineDeployment prod/general": {"failures": 1, "failedSeconds": 0, "untilSeconds": -1000000}}}',
    b'{"departures": {"a": [[-1, 1]]}}', b'{"leadTimes": {"a": {"requests": [[1e15, 1, 1]]}}}',
], ids=lambda content: content[:20].decode("ascii", "replace"))  # fmt: skip
def test_a_memory_that_somebody_damaged_costs_one_turn(content: bytes) -> None:
    """Deep texts, bytes that are no text, and instants outside of any calendar: it says so once, and begins afresh."""
    cluster = Cluster()
    cluster.state.save("memory", content)
    first, *others = cluster.turns()
    assert "damaged" in first.unavailable
    assert [report.unavailable for report in others] == ["", ""]


@pytest.mark.parametrize("path", STATES[-1:], ids=lambda path: path.stem)
def test_the_newest_form_is_that_of_this_release(path: Path) -> None:
    """A field that is added has a form of its own here: until then the fixture is not complete."""
    assert set(msgspec.json.decode(path.read_bytes())) == {field.encode_name for field in msgspec.structs.fields(Memory)}


def _later(value: Any) -> Any:
    """The same with a field in each object that this release has never heard of; keys that are names get none."""
    if isinstance(value, list):
        return [_later(one) for one in value]
    if not isinstance(value, dict):
        return value
    grown = {key: _later(one) for key, one in value.items()}
    by_name = not value or any(" " in key or key.startswith(("general", "z-")) for key in value)
    return grown if by_name else grown | {"laterField": {"a": [1, "b"]}}


def test_a_downgrade_passes_over_fields_that_it_does_not_know() -> None:
    """In the memory, at every depth, in the record of the plan, and a part of its own: nothing is done, and `status` reads it."""
    cluster = Cluster()
    cluster.state.save("memory", STATES[-1].read_bytes())
    cluster.turns(1)
    state = cluster.state
    for part in ("memory", "plan"):
        content = state.load(part)
        assert content is not None
        state.save(part, msgspec.json.encode(_later(msgspec.json.decode(content))))
    state.load("later")
    state.save("later", b"what a later release keeps")
    assert "laterField" in cluster.stored()
    cluster.drained.clear()
    reports = cluster.turns()
    assert cluster.unchanged(), (cluster.sized, cluster.drained, cluster.reopened)
    assert [report.unavailable for report in reports if report.unavailable] == []
    assert [action for report in reports if report.plan for action in report.plan.actions] == []
    found = loop_status(cluster.server, "reconciler", "test", {}, NOW)  # type: ignore[arg-type]
    assert ([drain.node for drain in found.drains], found.plan.mode, found.problems) == (list(LEAVING), "Enforce", ())
    assert cluster.state.load("later") == b"what a later release keeps"


@pytest.mark.parametrize("where", ["memory", "state"])
def test_a_downgrade_past_another_form_waits_and_keeps_it(where: str) -> None:
    """A memory, or a whole state, of a form that only the later release reads: nothing is written at all, each turn says why, and
    what it stored is there when it comes back."""
    cluster = Cluster()
    content = msgspec.json.decode(STATES[-1].read_bytes())
    cluster.state.save("memory", msgspec.json.encode(content | ({"version": MEMORY_VERSION + 1} if where == "memory" else {})))
    if where == "state":
        changed = copy.deepcopy(cluster.server.objects[STATE])
        changed["data"]["format"] = "2"
        cluster.server.put(STATE, changed)
    before = copy.deepcopy(cluster.server.objects)
    reports = cluster.turns()
    assert (cluster.sized, cluster.reopened, cluster.server.objects) == ([], [], before)
    assert all("which" in report.unavailable and "This version reads" in report.unavailable for report in reports), reports


def test_back_and_forth() -> None:
    """This release, each earlier form after it, and this release again: six processes, and no size was written."""
    cluster = Cluster()
    for path in (STATES[-1], STATES[4], STATES[-1], STATES[8], STATES[2], STATES[-1]):
        state = cluster.state
        state.load("memory")
        state.save("memory", path.read_bytes())
        cluster.turns(2)
    assert cluster.unchanged(), (cluster.sized, cluster.drained, cluster.reopened)
