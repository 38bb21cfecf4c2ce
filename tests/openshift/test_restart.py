"""kill -9 before and after each write on a MachineSet, on a server in memory whose controller chooses what goes: the next process
comes to the same end, and no running Machine is lost."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from reconciler.providers.contract import LeavingMachine, RemovalState
from tests.openshift.objects import machine, machine_set
from tests.openshift.server import MACHINES, MARKS, OURS, TARGET, Server, bound, provider

FAILED = ("a-0", "a-9")
RUNNING = {"a-n1", "a-n2"}
TIMES = [(write, after) for write in (1, 2, 3) for after in (False, True)]


class KilledError(Exception):
    """The process ends here."""


class MachineApi(Server):
    """The server with a controller that brings the number of Machines to replicas, when it is its turn. SOURCE: the deletion
    order of MachineSets: one that failed and one that is marked come first, alike; here the last of those by name."""

    def __init__(self, *machines: Any) -> None:
        super().__init__(machine_set("a", len(machines), managed=[OURS]), *machines)
        self.dies_at: tuple[int, bool] | None = None
        self._one_at_a_time = threading.Lock()

    def write(self, *given: Any, **more: Any) -> bytes:
        """The writes of a process that died are not done, whichever of its threads they come from."""
        at, after = self.dies_at or (0, False)
        with self._one_at_a_time:
            if at and len(self.sent) + 1 >= at + after:
                raise KilledError
            answer = super().write(*given, **more)
            if at and len(self.sent) >= at:
                raise KilledError
        return answer

    def settles(self) -> None:
        first = sorted(self.machines, key=lambda name: (self._worst(self.machines[name]), name), reverse=True)
        for name in first[: len(self.machines) - self.set["spec"]["replicas"]]:
            self.remove(f"{MACHINES}/{name}")

    def _worst(self, item: Any) -> bool:
        return bool(item["status"].get("errorReason") or any(mark in item["metadata"]["annotations"] for mark in MARKS))

    def marked(self) -> set[str]:
        return {name for name, item in self.machines.items() if any(mark in item["metadata"]["annotations"] for mark in MARKS)}


def server_with(*, nodes: bool) -> MachineApi:
    """Two that run, two that failed, before or after they became nodes."""
    nodes_of = dict(zip(FAILED, ("n0", "n9"), strict=True)) if nodes else {}
    failed = [machine(name, "a", error="quota", node=nodes_of.get(name, "")) for name in FAILED]
    server = MachineApi(*(machine(f"a-{node}", "a", node=node) for node in ("n1", "n2")), *failed)
    server.nodes("n1", "n2", *nodes_of.values())
    return server


def cancel(server: MachineApi) -> None:
    """As the loop decides it each turn anew: those that failed and are there, as long as more are asked for than are wanted."""
    failed, asked = tuple(name for name in FAILED if name in server.machines), server.set["spec"]["replicas"]
    if failed and asked > 2:
        provider(server).cancel(TARGET, failed, asked - len(failed), bound(server, asked))


def remove(server: MachineApi) -> None:
    """Both nodes are empty: both Machines are to go."""
    leaving = tuple(
        LeavingMachine(machine=name, node=node, marked=name in server.marked())
        for name, node in zip(FAILED, ("n0", "n9"), strict=True)
        if name in server.machines
    )
    if leaving:
        ended = provider(server).step(TARGET, leaving, 0)
        assert {one.state for one in ended} <= {RemovalState.FINISHED, RemovalState.DRAINING}


WAYS = pytest.mark.parametrize(("act", "nodes"), [(cancel, False), (remove, True)], ids=["cancelled", "removed"])


@WAYS
@pytest.mark.parametrize(("write", "after"), TIMES)
def test_two_that_failed_go_and_no_other(act: Callable[[MachineApi], None], write: int, *, nodes: bool, after: bool) -> None:
    """Whichever write the process dies around: replicas fall by two once, though the next process is before the controller."""
    server = server_with(nodes=nodes)
    server.dies_at = write, after
    with pytest.raises(KilledError):
        act(server)
    server.dies_at = None
    for _ in range(3):
        act(server)
        act(server)
        server.settles()
        assert set(server.machines) >= RUNNING
    assert (set(server.machines), server.set["spec"]["replicas"], server.marked()) == (RUNNING, 2, set())


@WAYS
def test_three_writes_are_all_there_are(act: Callable[[MachineApi], None], *, nodes: bool) -> None:
    """A mark for each and replicas once: no time at which the process could die is left out."""
    server = server_with(nodes=nodes)
    act(server)
    assert [method for method, _, _ in server.sent] == ["PATCH"] * len({write for write, _ in TIMES})


@WAYS
@pytest.mark.parametrize(("write", "after"), TIMES[:4])
def test_what_is_no_longer_wanted_leaves_no_mark(
    act: Callable[[MachineApi], None], write: int, *, nodes: bool, after: bool
) -> None:
    """A process that died between its marks, and a policy that wants the four: the marks are taken back, and all four stay."""
    server = server_with(nodes=nodes)
    server.dies_at = write, after
    with pytest.raises(KilledError):
        act(server)
    server.dies_at = None
    marked = server.marked()
    assert marked <= set(FAILED)
    assert len(marked) == write - (not after)
    for name in marked:
        assert provider(server).abandon(TARGET, name).done
    assert (len(server.machines), server.set["spec"]["replicas"], server.marked()) == (4, 4, set())
