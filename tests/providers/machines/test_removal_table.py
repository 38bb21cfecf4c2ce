"""Every row of the table by which a removal of a machine goes on, and what each answer of the server makes of it."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.providers.contract import RemovalState, WriteCode
from tests.providers.machines_in_memory import GENERAL, MachinesInMemory

OURS = "nodegroup-reconciler.test.g4.r5"
OTHERS = FieldOwner(manager="kustomize-controller", operation="Apply")
LOWER = ("PATCH", "general")


@pytest.fixture
def machines() -> MachinesInMemory:
    return MachinesInMemory()


def _raise_at(machines: MachinesInMemory, name: str, error: Exception, times: int = 1) -> None:
    def before(path: str) -> None:
        nonlocal times
        if path.endswith(f"/{name}") and times:
            times -= 1
            raise error

    machines.before = before


def test_all_are_marked_and_then_lowered_once(machines: MachinesInMemory) -> None:
    """The mark says whose it is and what the target was: generation 4, five replicas."""
    ended = machines.step("m1", "m3")
    assert [(one.state, one.replicas, one.generation, one.code) for one in ended] == [(RemovalState.FINISHED, 3, 5, "")] * 2
    assert (machines.machines["m1"].mark, machines.machines["m3"].mark, machines.machines["m2"].mark) == (OURS, OURS, None)
    assert sorted(machines.written[:2]) == [("PATCH", "m1"), ("PATCH", "m3")]
    assert machines.written[2:] == [LOWER]


def test_the_platform_hears_of_marks_before_it_is_asked_for_fewer(
    machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All marks, then a pause, then the write; no pause where all bore theirs before."""
    slept: list[tuple[float, int]] = []
    monkeypatch.setattr("time.sleep", lambda seconds: slept.append((seconds, len(machines.written))))
    machines.heard_seconds = 0.25
    machines.change("m1", mark=OURS)
    assert {one.state for one in machines.step("m1", "m2", "m3", marked=("m1",))} == {RemovalState.FINISHED}
    assert (slept, len(machines.written)) == ([(0.25, 2)], 3)
    machines.change("m4", mark="nodegroup-reconciler.test.g5.r2")
    machines.step("m4", marked=("m4",))
    assert (len(slept), machines.replicas) == (1, 1)


def test_marks_are_set_and_nothing_is_lowered_while_controllers_reconnect(machines: MachinesInMemory) -> None:
    """The API server was away: a controller that sees fewer replicas before our marks would take another machine."""
    machines.reconnecting = lambda: 3.0
    (waits,) = machines.step("m1")
    assert (waits.state, waits.code, waits.untouched) == (RemovalState.DRAINING, WriteCode.UNAVAILABLE, False)
    assert "the API server was away" in waits.message
    (still,) = machines.step("m1", marked=("m1",))
    assert (still.state, machines.written, machines.replicas) == (RemovalState.DRAINING, [("PATCH", "m1")], 5)
    machines.reconnecting = lambda: 0.0
    (ended,) = machines.step("m1", marked=("m1",))
    assert (ended.state, machines.replicas, machines.written) == (RemovalState.FINISHED, 4, [("PATCH", "m1"), LOWER])


def test_a_target_that_loses_all_machines_need_not_wait(machines: MachinesInMemory) -> None:
    """At 0 replicas the platform has nothing to choose."""
    machines.reconnecting = lambda: 3.0
    ended = machines.step(*machines.machines, floor=0)
    assert ({one.state for one in ended}, machines.replicas) == ({RemovalState.FINISHED}, 0)


def test_one_that_bears_its_mark_is_lowered_only(machines: MachinesInMemory) -> None:
    """A process ended between mark and write: nothing of the spec was written since, so replicas are lowered now."""
    machines.change("m1", mark=OURS)
    (ended,) = machines.step("m1", marked=("m1",))
    assert (ended.state, ended.replicas, machines.written) == (RemovalState.FINISHED, 4, [LOWER])


@pytest.mark.parametrize("mark", [None, OURS])
@pytest.mark.parametrize("why", ["held", "others", "rollout", "floor", "keeps"])
def test_what_may_not_be_done_is_given_up(machines: MachinesInMemory, why: str, mark: str | None) -> None:
    """Nothing is lowered, the node is opened again, and our mark goes."""
    match why:
        case "held":
            machines.owner = OwnerEvidence(owners=machines.owner.owners, hold="by me")
        case "others":
            machines.owner = OwnerEvidence(owners=(OTHERS,))
        case "rollout":
            machines.rolling_out = True
        case "keeps":
            machines.keeps_nodes = "another one would go"
    machines.change("m1", mark=mark)
    (ended,) = machines.step("m1", floor=5 if why == "floor" else 4)
    assert (ended.state, ended.reopen) == (RemovalState.FAILED, True)
    assert ended.code == (WriteCode.CONFLICT if why == "others" else WriteCode.REFUSED)
    sentence = {
        "held": "Set prod/general is held: by me",
        "others": 'conflict with "kustomize-controller"',
        "rollout": "cannot tell which of its MachineSets would shrink",
        "floor": "has 5 replicas and must keep 5",
        "keeps": "Set prod/general: another one would go",
    }[why]
    assert sentence in ended.message
    assert ("Our mark was removed from Machine m1 of Set prod/general" in ended.message) == (mark is not None)
    assert machines.machines["m1"].mark is None
    assert LOWER not in machines.written


def test_the_floor_counts_those_of_the_same_write(machines: MachinesInMemory) -> None:
    """Of three with a floor of three the first two go."""
    states = [one.state for one in machines.step("m1", "m2", "m3", floor=3)]
    assert states == [RemovalState.FINISHED, RemovalState.FINISHED, RemovalState.FAILED]
    assert machines.replicas == 3


@pytest.mark.parametrize(
    ("generation", "replicas", "observed", "living", "ends"),
    [
        (5, 4, 4, 5, "finished"),  # the platform has yet to follow
        (5, 4, None, 4, "finished"),  # it has said nothing yet
        (5, 4, 5, 5, "finished"),  # it follows: five live and four are wanted
        (5, 4, 5, 4, "passed over"),  # it took another one
        (5, 4, 5, 3, "passed over"),
        (5, 5, 5, 5, "nobody can tell"),
        (5, 6, 5, 5, "nobody can tell"),
        (3, 4, 4, 5, "nobody can tell"),
    ],
)
def test_a_marked_machine_of_a_target_that_was_written(
    machines: MachinesInMemory, generation: int, replicas: int, observed: int | None, living: int, ends: str
) -> None:
    """The mark says generation 4 and five replicas."""
    machines.change("m1", mark=OURS)
    machines.generation, machines.replicas, machines.observed = generation, replicas, observed
    for one in range(living + 1, 6):
        machines.change(f"m{one}", deleting=True)
    (ended,) = machines.step("m1", marked=("m1",))
    if ends == "finished":
        assert (ended.state, ended.replicas, ended.generation) == (RemovalState.FINISHED, replicas, generation)
        assert machines.writes == []
        return
    code = WriteCode.PASSED_OVER if ends == "passed over" else WriteCode.STALE
    assert (ended.state, ended.code, ended.reopen) == (RemovalState.FAILED, code, True)
    assert ("The platform took another one instead" in ended.message) == (ends == "passed over")
    assert ("cannot tell whether it shrank" in ended.message) == (ends == "nobody can tell")
    assert (machines.machines["m1"].mark, machines.written) == (None, [("PATCH", "m1")])


def test_a_rollout_hides_who_was_taken(machines: MachinesInMemory) -> None:
    """While revisions change nobody counts: it was lowered, so it is finished."""
    machines.change("m1", mark=OURS)
    machines.generation, machines.replicas, machines.observed, machines.rolling_out = 5, 4, 5, True
    machines.change("m5", deleting=True)
    assert machines.step("m1")[0].state is RemovalState.FINISHED
    assert machines.writes == []


@pytest.mark.parametrize(
    ("changes", "code", "message", "reopen"),
    [
        ({"mark": "nodegroup-reconciler.prod.g4.r5"}, WriteCode.REFUSED, "marked for deletion by somebody else", True),
        ({"mark": ""}, WriteCode.REFUSED, "marked for deletion by somebody else", True),
        ({"deleting": True}, WriteCode.REFUSED, "Machine m1 is being deleted already", False),
        ({"node": "n9"}, WriteCode.NOT_FOUND, "Machine m1 is the machine of node n9, not of n1", True),
        (None, WriteCode.NOT_FOUND, "Machine m1 is gone", False),
    ],
)
def test_what_is_not_ours_to_remove(
    machines: MachinesInMemory, changes: dict[str, object] | None, code: WriteCode, message: str, *, reopen: bool
) -> None:
    """Nothing is written, and other removals of the target go on."""
    if changes is None:
        del machines.machines["m1"]
    else:
        machines.change("m1", **changes)
    ended, other = machines.step("m1", "m2")
    assert (ended.state, ended.code, ended.reopen) == (RemovalState.FAILED, code, reopen)
    assert message in ended.message
    assert (other.state, machines.replicas) == (RemovalState.FINISHED, 4)
    assert ("PATCH", "m1") not in machines.written


def test_one_without_a_node_is_ours(machines: MachinesInMemory) -> None:
    """Its node has gone already."""
    machines.change("m1", node="")
    assert machines.step("m1")[0].state is RemovalState.FINISHED


def test_our_mark_on_one_that_goes(machines: MachinesInMemory) -> None:
    """Lowered and going: nothing is left to write."""
    machines.change("m1", mark=OURS, deleting=True)
    (ended,) = machines.step("m1")
    assert (ended.state, ended.replicas, ended.generation, machines.writes) == (RemovalState.FINISHED, 5, 4, [])


def test_those_that_failed_go_together(machines: MachinesInMemory) -> None:
    """The platform may take any of them: none before the nodes of all are empty; those without node are in nobody's way."""
    machines.failed, machines.on_nodes = frozenset({"m1", "m2", "m3"}), frozenset({"m1", "m2"})
    machines.keeps_nodes = "another one would go"
    (waits,) = machines.step("m1")
    assert (waits.state, waits.code, waits.untouched) == (RemovalState.DRAINING, WriteCode.UNAVAILABLE, True)
    assert "Machine m2 of Set prod/general failed too" in waits.message
    assert machines.writes == []
    assert [one.state for one in machines.step("m1", "m2")] == [RemovalState.FINISHED] * 2


def test_a_healthy_one_waits_for_no_failed_one(machines: MachinesInMemory) -> None:
    """What failed goes first only where the chosen one failed."""
    machines.failed = machines.on_nodes = frozenset({"m2"})
    assert machines.step("m1")[0].state is RemovalState.FINISHED


@pytest.mark.parametrize("error", [UnreachableError("cut"), ApiError(500, "InternalError", "no"), msgspec.DecodeError("odd")])
def test_a_machine_that_cannot_be_read(machines: MachinesInMemory, error: Exception) -> None:
    """It waits untouched and holds up no other; if it bears a mark the platform might take it, so nothing is lowered."""
    machines.unreadable["m1"] = error
    waits, other = machines.step("m1", "m2")
    assert (waits.state, waits.untouched, other.state) == (RemovalState.DRAINING, True, RemovalState.FINISHED)
    assert waits.code == (WriteCode.REFUSED if isinstance(error, msgspec.DecodeError) else WriteCode.UNAVAILABLE)
    written = len(machines.writes)
    assert {one.state for one in machines.step("m1", "m3", marked=("m1",))} == {RemovalState.DRAINING}
    assert len(machines.writes) == written


def test_a_target_that_cannot_be_read(machines: MachinesInMemory) -> None:
    """All wait, untouched."""
    machines.unreadable["general"] = UnreachableError("cut")
    assert {(one.state, one.untouched, one.code) for one in machines.step("m1", "m2")} == {
        (RemovalState.DRAINING, True, WriteCode.UNAVAILABLE)
    }


@pytest.mark.parametrize("where", ["m1", "general"])
def test_a_conflict_is_read_again_once(machines: MachinesInMemory, where: str) -> None:
    """The first conflict is overcome; whoever meets a second one waits for the next call."""
    conflict = ApiError(409, "Conflict", "the object has been modified")
    _raise_at(machines, where, conflict)
    assert machines.step("m1")[0].state is RemovalState.FINISHED
    _raise_at(machines, where.replace("m1", "m2"), conflict, times=2)
    (waits,) = machines.step("m2")
    assert (waits.state, waits.code) == (RemovalState.DRAINING, WriteCode.STALE)
    assert waits.message == "Set prod/general changed during each of three attempts"
    assert machines.replicas == 4


def test_a_target_that_is_written_while_machines_are_marked(machines: MachinesInMemory) -> None:
    """Its generation moved between our mark and our write: whether it shrank cannot be told, so it is not lowered."""

    def before(path: str) -> None:
        if path.endswith("/m1"):
            machines.generation = 5

    machines.before = before
    (ended,) = machines.step("m1")
    assert (ended.state, ended.code) == (RemovalState.FAILED, WriteCode.STALE)
    assert (machines.replicas, machines.machines["m1"].mark, LOWER in machines.written) == (5, None, False)


def test_a_target_that_is_taken_over_while_machines_are_marked(machines: MachinesInMemory) -> None:
    """Ownership is judged again right before replicas are lowered."""

    def before(path: str) -> None:
        if path.endswith("/m1"):
            machines.owner = OwnerEvidence(owners=(OTHERS,))

    machines.before = before
    (ended,) = machines.step("m1")
    assert (ended.state, ended.code) == (RemovalState.FAILED, WriteCode.CONFLICT)
    assert (machines.replicas, machines.machines["m1"].mark) == (5, None)


def test_a_mark_whose_answer_was_lost(machines: MachinesInMemory) -> None:
    """It may be there: nothing is lowered without it, for none of those that go together."""
    _raise_at(machines, "m1", UnreachableError("cut"))
    first, second = machines.step("m1", "m2")
    assert (first.state, first.code, first.untouched) == (RemovalState.DRAINING, WriteCode.UNKNOWN, False)
    assert (second.state, second.untouched) == (RemovalState.DRAINING, False)
    assert machines.replicas == 5
    assert [one.state for one in machines.step("m1", "m2")] == [RemovalState.FINISHED] * 2


def test_a_mark_that_is_refused(machines: MachinesInMemory) -> None:
    """That removal is given up, the other one is lowered alone."""
    _raise_at(machines, "m1", ApiError(403, "Forbidden", "no right"))
    first, second = machines.step("m1", "m2")
    assert (first.state, first.code, second.state) == (RemovalState.FAILED, WriteCode.REFUSED, RemovalState.FINISHED)
    assert (machines.replicas, machines.machines["m1"].mark) == (4, None)


@pytest.mark.parametrize(
    ("error", "state", "code"),
    [
        (UnreachableError("cut"), RemovalState.DRAINING, WriteCode.UNKNOWN),
        (UnreachableError("refused", sent=False), RemovalState.DRAINING, WriteCode.UNAVAILABLE),
        (ApiError(429, "TooManyRequests", "busy"), RemovalState.DRAINING, WriteCode.UNAVAILABLE),
        (msgspec.DecodeError("odd"), RemovalState.DRAINING, WriteCode.UNKNOWN),
        (ApiError(422, "Invalid", "below the minimum"), RemovalState.FAILED, WriteCode.REFUSED),
    ],
)
def test_what_lowering_meets(machines: MachinesInMemory, error: Exception, state: RemovalState, code: WriteCode) -> None:
    """What may pass is waited for with the mark in place; a refusal takes it off."""
    _raise_at(machines, "general", error)
    (ended,) = machines.step("m1")
    assert (ended.state, ended.code) == (state, code)
    assert machines.machines["m1"].mark == (OURS if state is RemovalState.DRAINING else None)


def test_a_mark_that_cannot_be_taken_off_keeps_the_removal(machines: MachinesInMemory) -> None:
    """Without the taint nobody would look for it: the node stays closed until the mark is gone."""
    machines.change("m1", mark=OURS)
    machines.rolling_out = True
    _raise_at(machines, "m1", UnreachableError("cut"))
    assert machines.step("m1")[0].state is RemovalState.DRAINING
    assert machines.step("m1")[0].state is RemovalState.FAILED


@pytest.mark.parametrize(
    ("case", "left", "message"),
    [
        ("ours", None, "our mark was removed from Machine m1 of Set prod/general"),
        ("gone", None, ""),
        ("deleting", OURS, ""),
        ("others", "nodegroup-reconciler.prod.g4.r5", ""),
        ("lowered", OURS, ""),
        ("passed over", None, "our mark was removed from Machine m1 of Set prod/general"),
        ("passed over while it rolls out", OURS, ""),
    ],
)
def test_abandoned(machines: MachinesInMemory, case: str, left: str | None, message: str) -> None:
    """Our mark goes, unless the machine goes or replicas were lowered for it and it may still go."""
    machines.change("m1", mark="nodegroup-reconciler.prod.g4.r5" if case == "others" else OURS)
    if case == "gone":
        del machines.machines["m1"]
    elif case == "deleting":
        machines.change("m1", deleting=True)
    elif case in ("lowered", "passed over", "passed over while it rolls out"):
        machines.generation = machines.observed = 5
        machines.replicas = 4
        machines.change("m5", deleting=case != "lowered")
        machines.rolling_out = case.endswith("rolls out")
    result = machines.provider().abandon(GENERAL, "m1")
    assert (result.done, result.message) == (True, message)
    found = machines.machines.get("m1")
    assert (found.mark if found else None) == left
    assert machines.provider().abandon(GENERAL, "").done


def test_abandoning_is_tried_three_times(machines: MachinesInMemory) -> None:
    """Two conflicts are overcome, a third is told; another fault is told at once."""
    machines.change("m1", mark=OURS)
    conflict = ApiError(409, "Conflict", "changed")
    _raise_at(machines, "m1", conflict, times=3)
    assert machines.provider().abandon(GENERAL, "m1").code is WriteCode.STALE
    _raise_at(machines, "m1", ApiError(403, "Forbidden", "no"), times=1)
    assert machines.provider().abandon(GENERAL, "m1").code is WriteCode.REFUSED
    _raise_at(machines, "m1", conflict, times=2)
    assert machines.provider().abandon(GENERAL, "m1").done


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"mark": OURS}, "still has a mark of ours"),
        ({"mark": "theirs"}, "marked for deletion by somebody else"),
        ({"deleting": True}, "is being deleted already"),
        ({"node": "n2"}, "is the machine of node n2"),
    ],
)
def test_whether_it_may_begin(machines: MachinesInMemory, changes: dict[str, object], message: str) -> None:
    """Before its node is emptied: a machine without any mark, ours to remove."""
    machines.change("m1", **changes)
    result = machines.provider().may_begin(GENERAL, "m1", "n1", machines.bound())
    assert (result.done, result.generation) == (not message, 0 if message else 4)
    assert message in result.message
    assert machines.writes == []


def test_the_target_may_forbid_to_begin(machines: MachinesInMemory) -> None:
    """Other replicas than were judged, other evidence, a rollout, nodes that are kept, a machine nobody knows, no answer."""

    def code(machine: str = "m1", **bound: object) -> WriteCode | str:
        return machines.provider().may_begin(GENERAL, machine, "n1", machines.bound(**bound)).code

    assert code() == ""
    assert code(replicas=4) is code(owner_digest="other") is WriteCode.STALE
    assert code("") is WriteCode.REFUSED
    assert code("m9") is WriteCode.NOT_FOUND
    machines.rolling_out = True
    assert code() is WriteCode.REFUSED
    machines.rolling_out, machines.keeps_nodes = False, "kept"
    assert code() is WriteCode.REFUSED
    machines.unreadable["general"] = UnreachableError("cut")
    assert code() is WriteCode.UNAVAILABLE


def test_a_no_is_by_what_is_there_now(machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look may be half a second old: what it is against is looked at again, and what it is for is not."""
    monkeypatch.setattr("reconciler.providers.machines.shared_readings.RECENT_SECONDS", 3600)
    provider = machines.provider()
    assert provider.may_begin(GENERAL, "m1", "n1", machines.bound()).done
    machines.replicas = 6
    assert provider.may_begin(GENERAL, "m1", "n1", machines.bound()).done
    machines.rolling_out = True
    assert provider.may_begin(GENERAL, "m1", "n1", machines.bound()).done
    assert provider.may_begin(GENERAL, "m1", "n1", machines.bound(replicas=7)).code is WriteCode.STALE
    assert provider.may_begin(GENERAL, "m1", "n1", machines.bound()).code is WriteCode.REFUSED


def test_whose_mark_it_is(machines: MachinesInMemory) -> None:
    """The policy that our program's mark names; nothing for others', for none, and where it cannot be read."""
    machines.change("m1", mark=OURS)
    machines.change("m2", mark="theirs")
    machines.unreadable["m4"] = UnreachableError("cut")
    marked_by = machines.provider("prod").marked_by
    assert [marked_by(GENERAL, name) for name in ("m1", "m2", "m3", "m4", "m9")] == ["test", "", "", "", ""]


def _ten(machines: MachinesInMemory) -> tuple[str, ...]:
    for one in range(6, 11):
        machines.machines[f"m{one}"] = msgspec.structs.replace(machines.machines["m1"], name=f"m{one}", node=f"n{one}")
    machines.replicas = 10
    return tuple(machines.machines)


def test_many_machines_are_read_in_one_answer(machines: MachinesInMemory) -> None:
    """One that is not in it is asked for by its name; each is judged as if it had been read alone."""
    names = _ten(machines)
    machines.change("m2", mark="somebody-else")
    machines.change("m4", node="n2")
    machines.unlisted = {"m3"}
    ended = dict(zip(names, machines.step(*names), strict=True))
    assert (machines.lists, machines.gets) == (1, ["m3"])
    assert {name for name, one in ended.items() if one.state is RemovalState.FAILED} == {"m2", "m4"}
    assert machines.replicas == 2
    assert machines.machines["m3"].mark == "nodegroup-reconciler.test.g4.r10"


def test_machines_that_cannot_be_listed_are_read_one_by_one(machines: MachinesInMemory) -> None:
    """Nobody loses a removal over an answer that is only cheaper."""
    names = _ten(machines)
    machines.unlistable = ApiError(503, "ServiceUnavailable", "not now")
    assert {one.state for one in machines.step(*names)} == {RemovalState.FINISHED}
    assert sorted(machines.gets) == sorted(names)


def test_few_of_many_are_read_one_by_one(machines: MachinesInMemory) -> None:
    """A list of all would be the larger answer."""
    names = _ten(machines)
    machines.replicas = 20
    machines.step(*names[:8])
    assert (machines.lists, sorted(machines.gets)) == (0, sorted(names[:8]))
