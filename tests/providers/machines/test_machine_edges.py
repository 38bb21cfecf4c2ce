"""Machines at the edges of the table: replicas that nobody declares, controllers that have not followed, places of pools."""

import pytest

from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.providers.answer import failed, unread
from reconciler.providers.cloud_answers import CloudAnswer, together
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.field_claims import claim, disclaim
from reconciler.providers.machine_of_node import machine_of
from tests.cluster.objects import CAPI, Object, obj, owner, scalable, world_of
from tests.providers.machines_in_memory import GENERAL, MachinesInMemory

OURS = "nodegroup-reconciler.test.g4.r5"


@pytest.fixture
def machines() -> MachinesInMemory:
    return MachinesInMemory()


@pytest.mark.parametrize("before", [1, 5])
@pytest.mark.parametrize(("deleting", "observed"), [(False, 4), (True, 4), (False, 5)])
def test_a_target_that_was_lowered_to_nothing(machines: MachinesInMemory, observed: int, before: int, *, deleting: bool) -> None:
    """Somebody took the field away after a machine was marked: it counts as none, and the marked one goes."""
    machines.change("m1", mark=f"nodegroup-reconciler.test.g4.r{before}", deleting=deleting)
    machines.replicas, machines.generation, machines.observed = None, 5, observed  # type: ignore[assignment]
    (found,) = machines.step("m1", marked=("m1",))
    assert found == TargetRemoval(state=RemovalState.FINISHED, replicas=0, generation=5)


@pytest.mark.parametrize(
    ("observed", "living", "passed"),
    [(5, 4, True), (4, 4, False), (None, 4, False), (5, 5, False), (6, 3, True)],
)
def test_whether_the_platform_took_another(
    machines: MachinesInMemory, observed: int | None, living: int, *, passed: bool
) -> None:
    """Only once its controller has acted on what was written, and no more machines live than are wanted."""
    machines.change("m1", mark=OURS)
    machines.replicas, machines.generation, machines.observed = 4, 5, observed
    for number in range(living + 1, 6):
        machines.change(f"m{number}", deleting=True)
    (found,) = machines.step("m1", marked=("m1",))
    assert (found.state, found.code) == ((RemovalState.FAILED, WriteCode.PASSED_OVER) if passed else (RemovalState.FINISHED, ""))


def test_the_last_machine_of_a_target_that_was_lowered_to_nothing(machines: MachinesInMemory) -> None:
    """One lives where none is wanted: it goes yet, and none went in its place."""
    machines.change("m1", mark=OURS)
    for number in range(2, 6):
        machines.change(f"m{number}", deleting=True)
    machines.replicas, machines.generation, machines.observed = None, 5, 5  # type: ignore[assignment]
    assert machines.step("m1", marked=("m1",)) == [TargetRemoval(state=RemovalState.FINISHED, replicas=0, generation=5)]


def test_a_machine_that_is_no_longer_listed(machines: MachinesInMemory) -> None:
    """It was read a moment ago, and goes: it is none that was passed over."""
    machines.change("m1", mark=OURS)
    machines.replicas, machines.generation, machines.observed = 4, 5, 5
    names = frozenset({"m2", "m3", "m4", "m5"})
    machines.living_machines = lambda *_: names  # type: ignore[method-assign]
    assert machines.step("m1", marked=("m1",))[0].state is RemovalState.FINISHED


def test_a_machine_that_is_listed_still(machines: MachinesInMemory) -> None:
    """It goes already, whatever a list that is older says."""
    machines.change("m1", mark=OURS, deleting=True)
    machines.replicas, machines.generation, machines.observed = 4, 5, 5
    names = frozenset({"m1", "m2", "m3", "m4"})
    machines.living_machines = lambda *_: names  # type: ignore[method-assign]
    assert machines.step("m1", marked=("m1",))[0].state is RemovalState.FINISHED


def test_our_mark_is_taken_off_meanwhile(machines: MachinesInMemory) -> None:
    """By whomever: no other policy has written, so that it is written again, and replicas after it."""
    answers = [ApiError(409, "Conflict", "the object has been modified")]

    def before(path: str) -> None:
        if machines.annotations and answers:
            machines.annotations = {}
            raise answers.pop()

    machines.before = before
    assert machines.provider().resize(GENERAL, 7, machines.bound(), {POLICY_MARK: "test"}).done
    assert (machines.replicas, machines.annotations) == (7, {POLICY_MARK: "test"})


@pytest.mark.parametrize(
    ("error", "write", "not_read"),
    [
        (UnreachableError("x", sent=False), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (UnreachableError("x"), WriteCode.UNKNOWN, WriteCode.UNAVAILABLE),
        (ApiError(400, "BadRequest", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(401, "Unauthorized", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (ApiError(402, "", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(403, "Forbidden", "x"), WriteCode.REFUSED, WriteCode.REFUSED),
        (ApiError(404, "NotFound", "x"), WriteCode.NOT_FOUND, WriteCode.NOT_FOUND),
        (ApiError(405, "", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(409, "Conflict", "x"), WriteCode.STALE, WriteCode.UNAVAILABLE),
        (ApiError(410, "Gone", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(422, "Invalid", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(429, "TooManyRequests", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (ApiError(430, "", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(499, "", "x"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (ApiError(500, "InternalError", "x"), WriteCode.UNKNOWN, WriteCode.UNAVAILABLE),
        (ApiError(503, "ServiceUnavailable", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (ApiError(504, "Timeout", "x"), WriteCode.UNKNOWN, WriteCode.UNAVAILABLE),
    ],
)
def test_what_an_answer_means(error: ApiError | UnreachableError, write: WriteCode, not_read: WriteCode) -> None:
    """SOURCE: measured on kube-apiserver: turned away before it did anything, perhaps done, or not."""
    assert (failed(error, "w").code, unread(error, "w").code) == (write, not_read)


@pytest.mark.parametrize(
    ("domains", "machine", "zone"),
    [(None, None, ""), (None, "a", "a"), ([], "a", "a"), (["b"], "a", "b"), (["b", "c"], "a", ""), (["b"], None, "b")],
)
def test_where_a_pool_is(domains: list[str] | None, machine: str | None, zone: str) -> None:
    """In its one failure domain, else where its template says; in several it is nowhere in particular."""
    template: Object = {"spec": {"infrastructureRef": {}, **({"failureDomain": machine} if machine else {})}}
    spec = {"failureDomains": domains} if domains is not None else {}
    (facts,) = world_of(scalable("MachinePool", template=template, spec=spec)).targets
    assert facts.template.zone == zone


@pytest.mark.parametrize("kind", ["MachineDeployment", "MachineSet"])
@pytest.mark.parametrize(("machine", "zone"), [("a", "a"), (None, "")])
def test_where_a_set_is(kind: str, machine: str | None, zone: str) -> None:
    """Where its template says."""
    template: Object = {"spec": {"infrastructureRef": {}, **({"failureDomain": machine} if machine else {})}}
    (facts,) = world_of(scalable(kind, template=template)).targets
    assert facts.template.zone == zone


def test_the_machine_of_a_node() -> None:
    """Of this target alone; where two say so nobody can tell."""
    made_by = {"ownerReferences": [owner("MachineSet", "s")]}
    machines = [
        obj("Machine", f"{CAPI}/v1beta2", name, "capi", meta=made_by, spec={}, status={"nodeRef": {"name": node}})
        for name, node in (("a", "n1"), ("b", "n2"), ("c", "n2"))
    ]
    world = world_of(scalable("MachineSet", "s"), *machines)
    (target,) = (facts.ref for facts in world.targets)
    assert [machine_of(world.machines, target, node) for node in ("n1", "n2", "n3")] == ["a", "", ""]
    assert machine_of(world.machines, GENERAL, "n1") == ""


def test_fields_that_nobody_manages() -> None:
    """Whoever resets managedFields leaves none: there is nothing to take, and our marks come off all the same."""
    for fields in ("", ', "managedFields": []', ', "managedFields": null'):
        body = f'{{"metadata": {{"resourceVersion": "7", "annotations": {{"a": "x"}}{fields}}}}}'.encode()
        assert claim(body) == {"metadata": {"resourceVersion": "7"}}
        assert disclaim(body, ("a", "b")) == {"metadata": {"resourceVersion": "7", "annotations": {"a": None}}}
        assert disclaim(body, ("b",)) is None
    silent = b'{"metadata": {"resourceVersion": "7", "managedFields": [{"manager": "x"}]}}'
    assert claim(silent)["metadata"]["managedFields"] == [{"manager": "x"}]
    assert disclaim(silent, ()) is None


def test_clouds_together() -> None:
    """In the order in which they answer."""
    assert together([CloudAnswer(unread=("a",)), CloudAnswer(), CloudAnswer(unread=("b",))]) == CloudAnswer(unread=("a", "b"))
    assert WriteResult().done
    assert not WriteResult(code=WriteCode.STALE).done
