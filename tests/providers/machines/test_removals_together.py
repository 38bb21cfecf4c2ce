"""Several machines of one MachineDeployment go in one write of replicas; what stands in the way of one holds up no other."""

from itertools import groupby

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval
from tests.providers.deployments import GENERAL, MACHINES, MARK, PATH, VERSION, DeploymentServer

STALE = ApiError(409, "Conflict", "the object has been modified")


class Server(DeploymentServer):
    """Five replicas that we own."""

    def __init__(self) -> None:
        super().__init__(5)

    def step(self, *numbers: int, floor: int = 0, marked: tuple[int, ...] = ()) -> list[TargetRemoval]:
        provider = ClusterApiProvider(self, VERSION, "test")
        leaving = (LeavingMachine(machine=f"m{one}", node=f"n{one}", marked=one in marked) for one in numbers)
        return list(provider.step(GENERAL, tuple(leaving), floor))

    @property
    def written(self) -> list[str]:
        """What was written in its order; marks, which go out side by side, by name between two writes of the target."""
        found: list[str] = []
        for marks, names in groupby((path.rpartition("/")[2] for _, path, _ in self.sent), lambda name: name != "general"):
            together = list(names)
            found += sorted(together) if marks else together
        return found

    def marks(self) -> dict[str, str]:
        found = {f"m{one}": self.annotations(f"m{one}").get(MARK, "") for one in range(1, 6)}
        return {name: mark for name, mark in found.items() if mark}


class Once:
    """Raises an answer at the first writes of one object."""

    def __init__(self, name: str, *answers: Exception | None) -> None:
        self._name, self._answers = name, list(answers)

    def __call__(self, path: str) -> None:
        if path.endswith(f"/{self._name}") and self._answers and (answer := self._answers.pop(0)) is not None:
            raise answer


def test_three_machines_go_in_one_write() -> None:
    """Each is marked with what the target was, then replicas fall by three at once."""
    server = Server()
    steps = server.step(1, 2, 3)
    assert server.written == ["m1", "m2", "m3", "general"]
    assert {(one.state, one.replicas, one.generation) for one in steps} == {(RemovalState.FINISHED, 2, 5)}
    assert server.marks() == dict.fromkeys(("m1", "m2", "m3"), "nodegroup-reconciler.test.g4.r5")


def test_no_more_go_than_the_floor_allows() -> None:
    """Of three that are empty two may go: one that is marked already before the others."""
    server = Server()
    server.annotations("m3")[MARK] = "nodegroup-reconciler.test.g4.r5"
    states = [one.state for one in server.step(1, 2, 3, floor=3, marked=(3,))]
    assert states == [RemovalState.FINISHED, RemovalState.FAILED, RemovalState.FINISHED]
    assert (server.replicas, set(server.marks())) == (3, {"m1", "m3"})


def test_a_status_that_is_written_meanwhile_is_no_conflict() -> None:
    """The platform writes the target's status while machines are marked: its version is read again for the write of replicas."""
    server = Server()

    def status(path: str) -> None:
        if path.endswith("/m1"):
            server.put(PATH, server.objects[PATH])

    server.before = status
    assert [one.state for one in server.step(1, 2)] == [RemovalState.FINISHED] * 2
    assert server.written == ["m1", "m2", "general"]


def test_a_conflict_is_read_again_once() -> None:
    """The second write lowers for both; no mark is written again."""
    server = Server()
    server.before = Once("general", STALE)
    assert [one.state for one in server.step(1, 2)] == [RemovalState.FINISHED] * 2
    assert (server.written, server.replicas) == (["m1", "m2", "general", "general"], 3)


def test_a_second_conflict_waits() -> None:
    """Not fought: the marks stay for the next call, which lowers."""
    server = Server()
    server.before = Once("general", STALE, STALE)
    assert {(one.state, one.untouched) for one in server.step(1, 2)} == {(RemovalState.DRAINING, False)}
    assert (server.written.count("general"), server.replicas) == (2, 5)
    assert [one.state for one in server.step(1, 2, marked=(1, 2))] == [RemovalState.FINISHED] * 2
    assert server.replicas == 3


def test_a_machine_that_changed_goes_in_the_second_write() -> None:
    """Its mark met a conflict: the others go without it, and it is read again once."""
    server = Server()
    server.before = Once("m2", STALE)
    assert [one.state for one in server.step(1, 2, 3)] == [RemovalState.FINISHED] * 3
    assert (server.written, server.replicas) == (["m1", "m2", "m3", "general", "m2", "general"], 2)


def test_a_mark_without_an_answer_holds_the_write() -> None:
    """It may be there, and of machines that are marked the platform takes any: nothing is lowered."""
    server = Server()
    server.before = Once("m2", UnreachableError("no answer within 30 s"))
    steps = server.step(1, 2, 3)
    assert [(one.state, one.untouched) for one in steps] == [
        (RemovalState.DRAINING, False),
        (RemovalState.DRAINING, False),
        (RemovalState.DRAINING, False),
    ]
    assert server.written == ["m1", "m2", "m3"]
    assert (server.replicas, set(server.marks())) == (5, {"m1", "m3"})


def test_a_conflict_beside_a_mark_without_an_answer_bears_none() -> None:
    """It is untouched, and both wait for the next step."""
    server = Server()
    met = {"m1": Once("m1", STALE), "m2": Once("m2", UnreachableError("no answer within 30 s"), UnreachableError("nor now"))}
    server.before = lambda path: met[path.rpartition("/")[2]](path)
    steps = server.step(1, 2)
    assert [(one.state, one.untouched) for one in steps] == [(RemovalState.DRAINING, True), (RemovalState.DRAINING, False)]
    assert (server.replicas, server.marks()) == (5, {})


@pytest.mark.parametrize(("marked", "written"), [((), ["m1", "m3", "general"]), ((2,), [])])
def test_a_machine_that_cannot_be_read_holds_the_others_only_if_it_may_be_marked(
    marked: tuple[int, ...], written: list[str]
) -> None:
    """Without a mark it cannot go in place of another one."""
    server = Server()
    server.unreadable[f"{MACHINES}/m2"] = ApiError(500, "InternalError", "conversion webhook failed")
    steps = server.step(1, 2, 3, marked=marked)
    assert (steps[1].state, steps[1].untouched, server.written) == (RemovalState.DRAINING, True, written)


def test_somebody_who_resizes_while_machines_are_marked_ends_it() -> None:
    """Whether what is there now counts our machines nobody can tell: all marks go, nothing is lowered."""
    server = Server()

    def resized(path: str) -> None:
        if path.endswith("/m2") and server.replicas == 5:
            spec = server.objects[PATH]["spec"]
            server.put(PATH, server.objects[PATH] | {"spec": spec | {"replicas": 7}})

    server.before = resized
    assert [one.state for one in server.step(1, 2)] == [RemovalState.FAILED] * 2
    assert (server.replicas, server.marks()) == (7, {})
