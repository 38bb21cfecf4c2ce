"""Answers and objects that say less than usual, or nothing at all: what counts then."""

import json
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.ownership.owner import OUR_MANAGER, POLICY_MARK
from reconciler.kube.connection.api import ApiError
from reconciler.providers.answer import failed
from reconciler.providers.contract import LeavingMachine, RemovalProgress, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.field_claims import claim, disclaim
from reconciler.providers.ownership_guard import held_by_others
from tests.providers.machines_in_memory import APPLIED, GENERAL, MachinesInMemory, entry

OURS = "nodegroup-reconciler.test.g4.r5"


@pytest.fixture
def machines() -> MachinesInMemory:
    return MachinesInMemory()


def test_values_of_the_contract() -> None:
    """Done, of a generation that nobody knows; a node that is opened again; a machine that bears no mark."""
    nothing: dict[str, Any] = {"generation": 0, "code": "", "message": ""}
    assert msgspec.structs.asdict(WriteResult()) == {**nothing, "resource_version": "", "replicas": None}
    progress = RemovalProgress(target=None, node="n", state=RemovalState.DRAINING)
    assert msgspec.structs.asdict(progress) == {
        "target": None, "node": "n", "state": RemovalState.DRAINING, "replicas": 0, "remaining": 0, **nothing
    }  # fmt: skip
    removal = TargetRemoval(state=RemovalState.FAILED)
    assert msgspec.structs.asdict(removal) == {
        "state": RemovalState.FAILED, "replicas": 0, "reopen": True, "untouched": False, **nothing
    }  # fmt: skip
    assert not LeavingMachine(machine="m", node="n").marked


def test_an_error_without_a_message() -> None:
    """Its code and reason are all that there is to say."""
    assert failed(ApiError(400, "BadRequest", ""), "x").message == "x: 400 BadRequest: "
    assert failed(ApiError(400, "BadRequest", "no such field"), "x").message == "x: no such field"


def test_an_answer_to_a_write_without_a_generation(machines: MachinesInMemory) -> None:
    """It is done all the same, of a generation that nobody knows."""
    machines.write = lambda *_, **__: b'{"metadata": {}}'  # type: ignore[method-assign]
    assert machines.provider().resize(GENERAL, 7, machines.bound()) == WriteResult(generation=0)


def test_what_a_write_has_made(machines: MachinesInMemory) -> None:
    """Generation and resourceVersion are those of the server's answer: 4 and 70 before, and metadata has no generation."""
    resized = machines.provider().resize(GENERAL, 7, machines.bound())
    released = machines.provider().release(GENERAL, machines.bound())
    assert resized == WriteResult(generation=5, resource_version="71")
    assert released == WriteResult(generation=5, resource_version="72")
    machines.fields = []
    assert machines.provider().release(GENERAL, machines.bound()) == released, "there was nothing left to take off"


def test_many_machines_of_a_target_that_declares_no_replicas(machines: MachinesInMemory) -> None:
    """It has none: they are asked for in one list, and nothing is lowered."""
    machines.replicas = None  # type: ignore[assignment]
    found = machines.step(*(f"m{number}" for number in range(1, 9)))
    assert machines.lists == 1
    assert {one.code for one in found[5:]} == {WriteCode.NOT_FOUND}
    assert machines.written == []


def test_a_conflict_before_anything_was_judged(machines: MachinesInMemory) -> None:
    """Who meets one is read again, and waits: a machine that was not judged is none that goes, whatever it bears."""
    machines.change("m1", mark=OURS)
    machines.replicas, machines.generation, machines.observed = 4, 5, 5

    def living(*_: Any) -> frozenset[str]:
        raise ApiError(409, "Conflict", "the list is being compacted")

    machines.living_machines = living  # type: ignore[method-assign]
    (found,) = machines.step("m1", marked=("m1",))
    assert (found.state, found.code) == (RemovalState.DRAINING, WriteCode.STALE)
    assert machines.written == []


def test_a_write_that_nobody_explains(machines: MachinesInMemory) -> None:
    """The mark of a policy that is there stays, and replicas alone are written."""
    machines.annotations = {POLICY_MARK: "another"}
    assert machines.provider().resize(GENERAL, 7, machines.bound()).done
    assert (machines.annotations, machines.written) == ({POLICY_MARK: "another"}, [("PATCH", "general")])


def test_managers_of_other_fields_of_the_spec() -> None:
    """Who does not stand on replicas keeps everything that he stands on."""
    other = {"manager": "x", "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}}
    theirs, ours = entry("kubectl", "Update"), entry(OUR_MANAGER, "Apply")
    body = json.dumps({"metadata": {"resourceVersion": "7", "managedFields": [other, theirs, ours]}}).encode()
    assert claim(body)["metadata"]["managedFields"] == [other, ours]
    taken = disclaim(body, ())
    assert taken is not None
    assert taken["metadata"]["managedFields"] == [other, theirs]


@pytest.mark.parametrize(("asked", "replicas", "lists"), [(7, 5, 0), (8, 16, 1), (8, 17, 0), (9, 5, 1)])
def test_when_one_list_is_the_smaller_answer(machines: MachinesInMemory, asked: int, replicas: int, lists: int) -> None:
    """From eight machines on, where they are half of the target's at least."""
    machines.replicas = replicas
    machines.step(*(f"m{number}" for number in range(1, asked + 1)))
    assert machines.lists == lists


def test_those_that_bear_our_mark_go_first(machines: MachinesInMemory) -> None:
    """Where the floor lets one go and no more: another would leave it behind, to go when somebody else shrinks the target."""
    machines.change("m2", mark=OURS)
    first, second = machines.step("m1", "m2", floor=4, marked=("m2",))
    assert (first.state, second.state) == (RemovalState.FAILED, RemovalState.FINISHED)
    assert machines.replicas == 4


@pytest.mark.parametrize(
    ("manager", "operation", "held"),
    [(OUR_MANAGER, "Apply", False), (OUR_MANAGER, "Update", True), ("argocd-controller", "Apply", True)],
)
def test_what_our_next_apply_would_meet(machines: MachinesInMemory, manager: str, operation: str, *, held: bool) -> None:
    """Everybody else's claim, and an Update of our own."""
    machines.owner = OwnerEvidence(owners=(APPLIED, FieldOwner(manager=manager, operation=operation)))
    assert held_by_others(machines.facts()) is held
