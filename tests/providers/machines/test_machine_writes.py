"""Sizing, adopting, releasing and cancelling on a platform in memory: what is refused, what is written, and in which order."""

import json
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.providers.contract import WriteCode
from reconciler.providers.field_claims import claim, disclaim
from reconciler.providers.marks import DeleteMark
from reconciler.providers.ownership_guard import held_by_others, moved
from tests.providers.machines_in_memory import APPLIED, GENERAL, MachinesInMemory, entry

POLICY, REASON = "reconciler.dev/policy", "reconciler.dev/reason"
THEIRS = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=1)
CONFLICT = ApiError(409, "Conflict", "the object has been modified")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture
def machines() -> MachinesInMemory:
    return MachinesInMemory()


def _raise_at(machines: MachinesInMemory, number: int, error: Exception, *, times: int = 1) -> None:
    """Beside what was written, the write of this number (from 0) meets an error, and so many after it."""
    asked = -1

    def before(_: str) -> None:
        nonlocal asked
        asked += 1
        if number <= asked < number + times:
            raise error

    machines.before = before


def _bodies(machines: MachinesInMemory) -> list[Any]:
    return [body for _, _, body in machines.writes]


def test_replicas_alone_are_applied(machines: MachinesInMemory) -> None:
    """Under the version that was read, by one write where nothing has to be told."""
    result = machines.provider().resize(GENERAL, 7, machines.bound())
    assert (result.done, result.generation, machines.replicas) == (True, 5, 7)
    metadata = {"name": "general", "namespace": "prod", "uid": "", "resourceVersion": "70"}
    body = {"apiVersion": "example.dev/v1", "kind": "Set", "metadata": metadata, "spec": {"replicas": 7}}
    assert _bodies(machines) == [body]


def test_the_policy_is_marked_before_and_the_reason_after(machines: MachinesInMemory) -> None:
    """Annotations that are not ours are never written; what is there already is not written again."""
    said = {POLICY: "prod", REASON: "2 pods", "example.com/other": "x"}
    assert machines.provider().resize(GENERAL, 7, machines.bound(), said).done
    written = [body["metadata"].get("annotations") for body in _bodies(machines)]
    assert written == [{POLICY: "prod"}, None, {REASON: "2 pods"}]
    machines.writes.clear()
    assert machines.provider().resize(GENERAL, 8, machines.bound(), said).done
    assert [body["spec"] for body in _bodies(machines)] == [{"replicas": 8}]


def test_what_a_topology_owns_is_not_annotated(machines: MachinesInMemory) -> None:
    """Its controller would take the annotations off again."""
    machines.owner = OwnerEvidence(owners=(APPLIED,), topology_owned=True, topology_deployment="md")
    assert machines.provider().resize(GENERAL, 7, machines.bound(), {POLICY: "prod", REASON: "2 pods"}).done
    assert ["annotations" in body["metadata"] for body in _bodies(machines)] == [False]


@pytest.mark.parametrize(("status", "done"), [(403, True), (422, True), (404, False), (500, False)])
def test_a_mark_that_is_forbidden(machines: MachinesInMemory, status: int, *, done: bool) -> None:
    """Who forbids our annotations has not forbidden the write that they would explain; other faults end it."""
    _raise_at(machines, 0, ApiError(status, "Reason", "no"))
    assert machines.provider().resize(GENERAL, 7, machines.bound(), {POLICY: "prod"}).done == done
    assert machines.replicas == (7 if done else 5)


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "no"), UnreachableError("cut"), NotLeaderError("late")])
def test_a_reason_that_cannot_be_written(machines: MachinesInMemory, error: Exception) -> None:
    """The write that it explains stands."""
    _raise_at(machines, 1, error)
    assert machines.provider().resize(GENERAL, 7, machines.bound(), {REASON: "2 pods"}).done
    assert machines.replicas == 7


def test_a_claim_of_others_goes_first(machines: MachinesInMemory) -> None:
    """An Update of our own would meet our apply: it is taken off under the version that was read, the policy's mark with it."""
    machines.owner = OwnerEvidence(owners=(FieldOwner(manager="nodegroup-reconciler", operation="Update"),))
    machines.fields = [entry("nodegroup-reconciler", "Update", "paused"), entry("other", "Update", "x")]
    assert held_by_others(machines.facts())
    assert machines.provider().resize(GENERAL, 6, machines.bound(), {POLICY: "prod"}).done
    first, second = _bodies(machines)
    assert (first["metadata"]["resourceVersion"], first["metadata"]["annotations"]) == ("70", {POLICY: "prod"})
    assert (second["metadata"]["resourceVersion"], second["spec"]) == ("71", {"replicas": 6})


@pytest.mark.parametrize(("times", "done"), [(2, True), (3, False)])
def test_a_target_that_moves_is_judged_three_times(machines: MachinesInMemory, times: int, *, done: bool) -> None:
    """Conflicts are read again; after the third it is stale. Another fault ends it at once."""
    _raise_at(machines, 0, CONFLICT, times=times)
    result = machines.provider().resize(GENERAL, 7, machines.bound())
    assert (result.done, result.code) == (done, "" if done else WriteCode.STALE)
    asked: list[str] = []

    def refuse(path: str) -> None:
        asked.append(path)
        raise ApiError(403, "Forbidden", "no")

    machines.before = refuse
    assert machines.provider().resize(GENERAL, 9, machines.bound()).code is WriteCode.REFUSED
    assert len(asked) == 1


def test_who_came_after_our_mark_has_its_way(machines: MachinesInMemory) -> None:
    """Our mark was written and our apply met a conflict; meanwhile another policy marked the target: it is left to that one."""

    def before(_: str) -> None:
        if machines.writes:
            machines.version += 1
            machines.annotations[POLICY] = "another"
            machines.before = lambda _: None

    machines.before = before
    result = machines.provider().resize(GENERAL, 7, machines.bound(), {POLICY: "prod"})
    assert (result.code, machines.replicas) == (WriteCode.STALE, 5)
    assert result.message == "policy another marked Set prod/general meanwhile"


def test_our_own_mark_stands_in_nobodys_way(machines: MachinesInMemory) -> None:
    """The same conflict with nobody else's mark: judged again and written. Whoever wrote replicas meanwhile has his way."""

    def touched(_: str) -> None:
        if machines.writes:
            machines.version += 1
            machines.before = lambda _: None

    machines.before = touched
    assert machines.provider().resize(GENERAL, 7, machines.bound(), {POLICY: "prod"}).done
    bound = machines.bound()

    def resized(_: str) -> None:
        if len(machines.writes) > written:
            machines.version, machines.replicas = machines.version + 1, 9
            machines.before = lambda _: None

    machines.before, written = resized, len(machines.writes)
    assert machines.provider().resize(GENERAL, 8, bound, {POLICY: "next"}).code is WriteCode.STALE
    assert machines.replicas == 9


@pytest.mark.parametrize(
    ("words", "held"),
    [
        ("me; until 2001-01-01T00:00:00Z", False),
        ("me; until 9999-01-01T00:00:00Z", True),
        ("me", True),
        ("me; until soon", True),
    ],
)
def test_a_hold_ends_by_itself(machines: MachinesInMemory, words: str, *, held: bool) -> None:
    """At the instant that it names, though nobody has taken it off; one that names none, or none that can be read, goes on."""
    machines.owner = OwnerEvidence(owners=(APPLIED,), hold=words)
    result = machines.provider().resize(GENERAL, 7, machines.bound())
    assert (result.code, machines.replicas) == ((WriteCode.REFUSED, 5) if held else ("", 7))


ARGO = FieldOwner(manager="argocd-controller", operation="Apply")


@pytest.mark.parametrize(("left", "code"), [((), ""), ((ARGO,), WriteCode.CONFLICT)])
def test_our_own_claim_is_no_news(machines: MachinesInMemory, left: tuple[FieldOwner, ...], code: str) -> None:
    """The person's entry is gone by our own write when the apply meets a conflict: what is left is judged, and written
    where nobody else has come."""
    machines.owner = OwnerEvidence(owners=(THEIRS,))
    machines.fields = [entry("kubectl-edit", "Update")]
    bound = machines.bound()

    def touched(_: str) -> None:
        if machines.writes:
            machines.owner, machines.version = OwnerEvidence(owners=left), machines.version + 1
            machines.before = lambda _: None

    machines.before = touched
    assert machines.provider().adopt(GENERAL, 5, bound).code == code
    assert machines.owner.owners == (left or (APPLIED,))


@pytest.mark.parametrize("method", ["resize", "adopt"])
@pytest.mark.parametrize(
    ("owner", "bound", "code"),
    [
        (OwnerEvidence(owners=(APPLIED,)), {"replicas": 4}, WriteCode.STALE),
        (OwnerEvidence(owners=(APPLIED,)), {"owner_digest": "x"}, WriteCode.STALE),
        (OwnerEvidence(owners=(APPLIED,), hold="me"), {}, WriteCode.REFUSED),
        (OwnerEvidence(owners=(THEIRS,), hold="me"), {}, WriteCode.REFUSED),
        (OwnerEvidence(managed_fields_present=False), {}, WriteCode.REFUSED),
        (OwnerEvidence(owners=(APPLIED,), paused="spec.paused"), {}, WriteCode.REFUSED),
        (OwnerEvidence(owners=(APPLIED,), deleting=True), {}, WriteCode.REFUSED),
    ],
)
def test_what_may_not_be_sized(
    machines: MachinesInMemory, method: str, owner: OwnerEvidence, bound: dict[str, Any], code: WriteCode
) -> None:
    """Neither written nor marked."""
    machines.owner = owner
    write = getattr(machines.provider(), method)
    assert write(GENERAL, 5, machines.bound(**bound), {POLICY: "prod"}).code is code
    assert machines.writes == []


def test_a_persons_write_is_taken_over_by_adopting_alone(machines: MachinesInMemory) -> None:
    """Sizing meets a conflict that names who it is; adopting takes the claim off and records us with the value that is there."""
    machines.owner = OwnerEvidence(owners=(THEIRS,))
    machines.fields = [entry("kubectl-edit", "Update")]
    result = machines.provider().resize(GENERAL, 7, machines.bound())
    assert (result.code, machines.writes) == (WriteCode.CONFLICT, [])
    assert 'conflict with "kubectl-edit"' in result.message
    assert machines.provider().adopt(GENERAL, 5, machines.bound(owner_digest="x")).code is WriteCode.STALE
    assert machines.provider().adopt(GENERAL, 5, machines.bound(), {POLICY: "prod"}).done
    assert (machines.replicas, machines.owner.owners, len(machines.writes)) == (5, (APPLIED,), 2)
    assert machines.annotations == {POLICY: "prod"}


def test_what_cannot_be_read_is_not_written(machines: MachinesInMemory) -> None:
    """A target that is away, gone or malformed."""

    def code(error: Exception) -> WriteCode | str:
        machines.unreadable["general"] = error
        return machines.provider().resize(GENERAL, 7, machines.bound()).code

    assert code(UnreachableError("cut")) is WriteCode.UNAVAILABLE
    assert code(ApiError(404, "NotFound", "gone")) is WriteCode.NOT_FOUND
    assert code(ApiError(500, "InternalError", "no")) is WriteCode.UNAVAILABLE
    assert code(msgspec.ValidationError("odd")) is WriteCode.REFUSED


def test_released(machines: MachinesInMemory) -> None:
    """Our marks and our claim go in one write, the value stays; what bears nothing of ours is not written."""
    machines.annotations = {POLICY: "prod", "example.com/other": "x"}
    machines.fields = [entry("nodegroup-reconciler", "Apply"), entry("kubectl", "Update", "paused")]
    assert machines.provider().release(GENERAL, machines.bound(replicas=4)).code is WriteCode.STALE
    result = machines.provider().release(GENERAL, machines.bound())
    assert (result.done, result.generation, machines.replicas) == (True, 4, 5)
    assert machines.annotations == {"example.com/other": "x"}
    assert machines.fields == [entry("kubectl", "Update", "paused")]
    assert len(machines.writes) == 1
    result = machines.provider().release(GENERAL, machines.bound())
    assert (result.done, result.generation, len(machines.writes)) == (True, 4, 1)


def _body(*fields: dict[str, Any], annotations: dict[str, str] | None = None) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "7", "managedFields": fields, "annotations": annotations}}).encode()


def test_a_claim_takes_one_field_of_others(machines: MachinesInMemory) -> None:
    """Our own apply stays, also beside an Update of ours; entries keep their other fields, and go where none is left."""
    ours, update = entry("nodegroup-reconciler", "Apply"), entry("nodegroup-reconciler", "Update")
    status = {"manager": "m", "operation": "Update", "fieldsV1": {"f:status": {}}}
    both = {"manager": "b", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}, "f:metadata": {}}}
    metadata = claim(_body(ours, update, entry("a", "Apply", "paused"), both, status))["metadata"]
    assert metadata == {
        "resourceVersion": "7",
        "managedFields": [
            ours,
            {"manager": "a", "operation": "Apply", "fieldsV1": {"f:spec": {"f:paused": {}}}},
            {"manager": "b", "operation": "Update", "fieldsV1": {"f:metadata": {}}},
            status,
        ],
    }


def test_a_claim_never_leaves_an_empty_list(machines: MachinesInMemory) -> None:
    """An empty list would make the server forget all owners."""
    metadata = claim(_body(entry("a", "Update")))["metadata"]
    assert metadata["managedFields"] == [{"manager": "a", "operation": "Update", "fieldsV1": {"f:spec": {}}}]


@pytest.mark.parametrize(
    ("manifest", "after"),
    [
        ('{"spec":{"replicas":3,"paused":true}}', '{"spec":{"paused":true}}'),
        ('{"spec":{"paused":true}}', None),
        ('{"spec":7}', None),
        ("[]", None),
        ("{", None),
    ],
)
def test_a_manifest_that_declares_replicas(manifest: str, after: str | None) -> None:
    """The next `kubectl apply` would else remove the field."""
    patch = claim(_body(entry("a", "Update"), annotations={LAST_APPLIED: manifest}))["metadata"]
    assert patch.get("annotations") == (None if after is None else {LAST_APPLIED: after})


def test_what_is_disclaimed() -> None:
    """Entries of ours that hold the field, whatever their operation, and annotations that are there; else nothing."""
    marks = (POLICY, REASON)
    other = entry("a", "Update", "paused")
    assert disclaim(_body(other), marks) is None
    assert disclaim(_body({"manager": "nodegroup-reconciler", "operation": "Update"}, other), marks) is None
    patch = disclaim(_body(entry("nodegroup-reconciler", "Update"), other), marks)
    assert patch == {"metadata": {"resourceVersion": "7", "managedFields": [other]}}
    marked = disclaim(_body(other, annotations={POLICY: "prod"}), marks)
    assert marked == {"metadata": {"resourceVersion": "7", "managedFields": [other], "annotations": {POLICY: None}}}


def test_marks_on_machines() -> None:
    """Read by their owner alone, and only as they are written."""
    mark = DeleteMark("prod", 4, 5)
    assert str(mark) == "nodegroup-reconciler.prod.g4.r5"
    assert DeleteMark.read(str(mark), "prod") == mark
    assert DeleteMark.read(str(mark), "test") is DeleteMark.read(None, "prod") is DeleteMark.read("x", "prod") is None
    assert (DeleteMark.policy(str(mark)), DeleteMark.policy("x"), DeleteMark.policy(None)) == ("prod", "", "")
    assert (mark.not_lowered(4), mark.not_lowered(5), mark.not_lowered(3)) == (True, False, False)
    lowered = {(generation, replicas): mark.lowered(generation, replicas) for generation in (4, 5) for replicas in (4, 5)}
    assert lowered == {(4, 4): False, (4, 5): False, (5, 4): True, (5, 5): False}


def test_replicas_that_nobody_declares_count_as_none(machines: MachinesInMemory) -> None:
    """A target without the field has none of them."""
    facts = msgspec.structs.replace(machines.facts(), replicas=None)
    assert moved(facts, machines.bound(replicas=0)) is None
    assert moved(facts, machines.bound(replicas=1)) is not None


def _without_node(machines: MachinesInMemory, *names: str) -> None:
    for name in names:
        machines.change(name, node="")


def test_cancelled_with_its_replicas(machines: MachinesInMemory) -> None:
    """Those that never came are marked and replicas lowered in one write; one that has gone already is passed over."""
    _without_node(machines, "m4", "m5")
    machines.change("m5", deleting=True)
    result = machines.provider().cancel(GENERAL, ("m4", "m5", "m9"), 3, machines.bound())
    assert (result.done, result.generation, machines.replicas) == (True, 5, 3)
    assert machines.written == [("PATCH", "m4"), ("PATCH", "general")]
    assert machines.machines["m4"].mark == "nodegroup-reconciler.test.g4.r5"


def test_nothing_is_cancelled_while_controllers_reconnect(machines: MachinesInMemory) -> None:
    """A controller that sees fewer replicas before our marks could take another machine."""
    _without_node(machines, "m4", "m5")
    machines.reconnecting = lambda: 3.0
    result = machines.provider().cancel(GENERAL, ("m4", "m5"), 3, machines.bound())
    assert (result.code, machines.writes, machines.replicas) == (WriteCode.UNAVAILABLE, [], 5)


def test_a_cancellation_pauses_between_its_marks_and_the_write(
    machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open watches are given time to tell of the marks."""
    slept: list[tuple[float, int]] = []
    monkeypatch.setattr("time.sleep", lambda seconds: slept.append((seconds, len(machines.writes))))
    machines.heard_seconds = 0.25
    _without_node(machines, "m4", "m5")
    assert machines.provider().cancel(GENERAL, ("m4", "m5"), 3, machines.bound()).done
    assert slept == [(0.25, 2)]


@pytest.mark.parametrize("late", ["m4", "m5"])
def test_a_machine_that_becomes_a_node_between_the_marks_and_the_write(
    machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """It may run pods already: replicas stay, and all marks are taken off."""
    monkeypatch.setattr("time.sleep", lambda _: machines.change(late, node="n9"))
    machines.heard_seconds = 0.25
    _without_node(machines, "m4", "m5")
    result = machines.provider().cancel(GENERAL, ("m4", "m5"), 3, machines.bound())
    assert (result.code, result.message) == (WriteCode.STALE, f"Machine {late} has become node n9")
    assert (machines.replicas, [one.mark for one in machines.machines.values()]) == (5, [None] * 5)


def test_cancelled_in_place(machines: MachinesInMemory) -> None:
    """With the same replicas the machines are deleted, as they were read; the set makes others."""
    _without_node(machines, "m4", "m5")
    result = machines.provider().cancel(GENERAL, ("m4", "m5"), 5, machines.bound())
    assert (result.done, result.generation) == (True, 4)
    assert machines.writes == [
        ("DELETE", "m4", {"preconditions": {"resourceVersion": "4"}}),
        ("DELETE", "m5", {"preconditions": {"resourceVersion": "5"}}),
    ]
    _without_node(machines, "m3")
    _raise_at(machines, 0, CONFLICT)
    assert machines.provider().cancel(GENERAL, ("m3",), 5, machines.bound()).code is WriteCode.STALE


@pytest.mark.parametrize(
    ("case", "code", "message"),
    [
        ("a node", WriteCode.STALE, "Machine m5 has become node n5"),
        ("a mark", WriteCode.REFUSED, "marked for deletion by somebody else"),
        ("others failed", WriteCode.STALE, "Machine m2 could go instead of the ones to cancel"),
        ("others marked", WriteCode.STALE, "Machine m3 could go instead of the ones to cancel"),
        ("too many", WriteCode.STALE, "has 4 machines apart from those that failed, so 3 replicas could end a running one"),
        ("rollout", WriteCode.REFUSED, "is rolling out"),
        ("moved", WriteCode.STALE, "5 replicas, and 6 when the plan was made"),
        ("away", WriteCode.UNAVAILABLE, "could not be read"),
    ],
)
def test_what_is_not_cancelled(machines: MachinesInMemory, case: str, code: WriteCode, message: str) -> None:
    """Nothing is written where a running machine might go."""
    bound = machines.bound(replicas=6 if case == "moved" else 5)
    if case != "a node":
        _without_node(machines, "m5")
    match case:
        case "a mark":
            machines.change("m5", mark="theirs")
        case "others failed":
            machines.failed = frozenset({"m2", "m5"})
        case "others marked":
            machines.change("m3", mark="theirs")
        case "rollout":
            machines.rolling_out = True
        case "away":
            machines.unreadable["m5"] = UnreachableError("cut")
    result = machines.provider().cancel(GENERAL, ("m5",), 3 if case == "too many" else 4, bound)
    assert (result.done, result.code, machines.writes) == (False, code, [])
    assert message in result.message


@pytest.mark.parametrize(
    ("number", "error", "marks"),
    [
        (1, ApiError(403, "Forbidden", "no"), 0),
        (2, CONFLICT, 0),
        (1, UnreachableError("cut"), 1),
        (2, UnreachableError("cut"), 2),
        (2, UnreachableError("refused", sent=False), 0),
    ],
)
def test_a_cancellation_that_fails(machines: MachinesInMemory, number: int, error: Exception, marks: int) -> None:
    """Marks are taken back, but where replicas may have been lowered."""
    _without_node(machines, "m4", "m5")
    _raise_at(machines, number, error)
    assert not machines.provider().cancel(GENERAL, ("m4", "m5"), 3, machines.bound()).done
    assert sum(one.mark is not None for one in machines.machines.values()) == marks
    assert machines.replicas == 5
