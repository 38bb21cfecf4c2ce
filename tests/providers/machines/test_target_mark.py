"""Where all machines of a target go, one mark on the target stands for theirs, in the write that lowers replicas: what it covers,
and what a later process makes of it. Ten machines, so that they are read in one answer."""

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence
from reconciler.kube.connection.api import ApiError, Cause, UnreachableError
from reconciler.providers.contract import RemovalState, WriteCode
from reconciler.providers.target_mark import TargetMark, marked_by_targets
from tests.builders import ClusterBuilder
from tests.providers.machines_in_memory import APPLIED, GENERAL, MachinesInMemory

KEY = "reconciler.dev/emptied"
ALL = "nodegroup-reconciler.test.g4.r10 m{1,10,2,3,4,5,6,7,8,9}"
TEN = tuple(f"m{one}" for one in range(1, 11))
TARGET = ("PATCH", "general")
CONFLICT = ApiError(409, "Conflict", "the object has been modified")


@pytest.fixture
def machines() -> MachinesInMemory:
    return _of(10)


def _of(count: int) -> MachinesInMemory:
    found = MachinesInMemory()
    like = found.machines["m1"]
    found.machines = {f"m{one}": msgspec.structs.replace(like, name=f"m{one}", node=f"n{one}") for one in range(1, count + 1)}
    found.replicas = count
    return found


def _answers(machines: MachinesInMemory, *errors: Exception | None) -> None:
    """What the next writes of the target meet, one after the other."""
    left = list(errors)

    def before(path: str) -> None:
        error = left.pop(0) if left and path.endswith("/general") else None
        if error is not None:
            raise error

    machines.before = before


def test_one_mark_and_one_write_for_all(machines: MachinesInMemory) -> None:
    """The mark names the machines and what the target was, generation 4 and ten replicas; no Machine is written."""
    ended = machines.step(*TEN)
    assert [(one.state, one.replicas, one.generation) for one in ended] == [(RemovalState.FINISHED, 0, 5)] * 10
    assert machines.written == [TARGET]
    assert machines.writes[0][2] == {
        "apiVersion": "example.dev/v1",
        "kind": "Set",
        "metadata": {"name": "general", "namespace": "prod", "uid": "", "resourceVersion": "70", "annotations": {KEY: ALL}},
        "spec": {"replicas": 0},
    }
    assert machines.lists == 1


@pytest.mark.parametrize(
    "why", ["one stays", "one is another's", "more live", "more to come", "few", "topology", "forbidden", "invalid", "long"]
)
def test_else_each_bears_its_own(machines: MachinesInMemory, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform would have a choice, or the target may not be annotated."""
    going = TEN
    match why:
        case "one stays":
            going = TEN[:9]
        case "one is another's":
            machines.change("m10", mark="somebody-else")
        case "more live":
            going, machines.replicas = TEN[:9], 9
        case "more to come":
            machines.replicas = 12
        case "few":
            machines = _of(7)
            going = TEN[:7]
        case "topology":
            machines.owner = OwnerEvidence(owners=(APPLIED,), topology_owned=True)
        case "forbidden" | "invalid":
            _answers(machines, ApiError(403 if why == "forbidden" else 422, "Forbidden", "not that annotation"))
        case "long":
            monkeypatch.setattr("reconciler.providers.machines.marks.LONGEST_BYTES", len(ALL) - 1)
    ended = machines.step(*going)
    finished = [one for one, end in zip(going, ended, strict=True) if end.state is RemovalState.FINISHED]
    assert len(finished) == (9 if why == "one is another's" else len(going))
    assert sorted(machines.written[:-1]) == [("PATCH", name) for name in sorted(finished)]
    assert KEY not in machines.annotations


def test_the_longest_mark(machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is just short enough is written."""
    monkeypatch.setattr("reconciler.providers.machines.marks.LONGEST_BYTES", len(ALL))
    machines.step(*TEN)
    assert machines.annotations == {KEY: ALL}


def test_those_that_were_asked_away_before_do_not_stay(machines: MachinesInMemory) -> None:
    """Two were lowered for and live still, by marks of their own and of the target: the other eight are all that is left."""
    machines.change("m1", mark="nodegroup-reconciler.test.g2.r10")
    machines.annotations[KEY] = "nodegroup-reconciler.test.g3.r9 {m2}"
    machines.replicas = 8
    assert {one.state for one in machines.step(*TEN[2:])} == {RemovalState.FINISHED}
    assert (machines.written, machines.replicas) == ([TARGET], 0)
    assert machines.annotations[KEY] == "nodegroup-reconciler.test.g4.r8 m{10,2,3,4,5,6,7,8,9}"


def test_one_whose_mark_is_not_lowered_for_stays(machines: MachinesInMemory) -> None:
    """It bears our mark, and nobody has asked it away: the target has nine more that go, and may not lose it with them."""
    machines.change("m10", mark="nodegroup-reconciler.test.g4.r10")
    machines.replicas = 9
    machines.step(*TEN[:9])
    assert KEY not in machines.annotations


def test_one_that_goes_already_does_not_stay(machines: MachinesInMemory) -> None:
    """It has left the target's replicas."""
    machines.change("m10", deleting=True)
    machines.replicas = 9
    assert {one.state for one in machines.step(*TEN[:9])} == {RemovalState.FINISHED}
    assert machines.written == [TARGET]
    assert machines.annotations[KEY] == "nodegroup-reconciler.test.g4.r9 m{1,2,3,4,5,6,7,8,9}"


def test_one_that_the_list_lacks_is_covered(machines: MachinesInMemory) -> None:
    """It was read by its name."""
    machines.unlisted = {"m3"}
    machines.step(*TEN)
    assert machines.annotations[KEY] == ALL


def test_those_that_bear_marks_need_no_other(machines: MachinesInMemory) -> None:
    """An earlier process marked all Machines and ended: one write is left."""
    for name in TEN:
        machines.change(name, mark="nodegroup-reconciler.test.g4.r10")
    assert {one.state for one in machines.step(*TEN, marked=TEN)} == {RemovalState.FINISHED}
    assert machines.written == [TARGET]


def test_a_process_that_ends_after_the_mark_is_continued(machines: MachinesInMemory) -> None:
    """The generation is the mark's: nothing was lowered, and it is lowered now without another mark."""
    machines.annotations[KEY] = ALL
    assert {one.state for one in machines.step(*TEN, marked=TEN)} == {RemovalState.FINISHED}
    assert (machines.written, machines.replicas) == ([TARGET], 0)


def test_a_process_that_ends_after_the_write_has_finished(machines: MachinesInMemory) -> None:
    """Told, and written by nobody again."""
    machines.annotations[KEY], machines.generation, machines.replicas = ALL, 5, 0
    ended = machines.step(*TEN, marked=TEN)
    assert [(one.state, one.replicas, one.generation) for one in ended] == [(RemovalState.FINISHED, 0, 5)] * 10
    assert machines.writes == []


@pytest.mark.parametrize(
    ("generation", "replicas", "observed", "living", "ends"),
    [
        (6, 3, 5, 10, "finished"),  # raised again, and the platform has yet to follow
        (6, 3, 6, 10, "finished"),  # it follows
        (6, 3, 6, 3, "passed over"),  # it took seven others
        (6, 12, 6, 10, "nobody can tell"),
        (6, 10, 6, 10, "nobody can tell"),
    ],
)
def test_a_target_that_was_written_after_it_was_emptied(
    machines: MachinesInMemory, generation: int, replicas: int, observed: int, living: int, ends: str
) -> None:
    """As for a machine that bears its own mark: replicas are not lowered twice, and one that was passed over is opened again
    without the others losing what covers them."""
    machines.annotations[KEY] = ALL
    machines.generation, machines.replicas, machines.observed = generation, replicas, observed
    for one in range(living + 1, 11):
        machines.change(f"m{one}", deleting=True)
    (ended,) = machines.step("m1", marked=("m1",))
    if ends == "finished":
        assert (ended.state, ended.replicas, machines.writes) == (RemovalState.FINISHED, replicas, [])
        return
    code = WriteCode.PASSED_OVER if ends == "passed over" else WriteCode.STALE
    assert (ended.state, ended.code, ended.reopen) == (RemovalState.FAILED, code, True)
    assert machines.annotations == {KEY: "nodegroup-reconciler.test.g4.r10 m{10,2,3,4,5,6,7,8,9}"}
    assert machines.written == [TARGET]


def test_what_may_not_be_done_is_given_up(machines: MachinesInMemory) -> None:
    """Marked and not lowered, and one of them is somebody else's by now: the mark proves nothing any more, the others go by their
    own."""
    machines.annotations[KEY] = ALL
    machines.change("m2", mark="somebody-else")
    ended = dict(zip(TEN, machines.step(*TEN, marked=TEN), strict=True))
    assert (ended["m2"].state, ended["m2"].reopen, ended["m2"].code) == (RemovalState.FAILED, True, WriteCode.REFUSED)
    assert {ended[name].state for name in TEN if name != "m2"} == {RemovalState.FINISHED}
    assert (machines.annotations, machines.replicas) == ({}, 1)
    assert all(machines.machines[name].mark == "nodegroup-reconciler.test.g4.r10" for name in TEN if name != "m2")


def test_a_mark_that_somebody_updated_is_written_alone(machines: MachinesInMemory) -> None:
    """By an earlier version, or for a machine that stayed: an apply may not overrule it. The replicas follow, and a process that
    ends between leaves the proof of what it had not done."""
    text = 'conflict with "nodegroup-reconciler" using example.dev/v1'
    cause = Cause(reason="FieldManagerConflict", message=text, field=f".metadata.annotations.{KEY}")
    machines.annotations[KEY] = "nodegroup-reconciler.test.g2.r3 old{1,2,3}"
    _answers(machines, ApiError(409, "Conflict", f"1 conflict: {text}", (cause,)))
    assert {one.state for one in machines.step(*TEN)} == {RemovalState.FINISHED}
    assert machines.written == [TARGET, TARGET]
    assert machines.writes[0][2] == {"metadata": {"resourceVersion": "70", "annotations": {KEY: ALL}}}
    assert (machines.replicas, machines.annotations) == (0, {KEY: ALL})


def test_a_conflict_over_replicas_is_no_conflict_over_the_mark(machines: MachinesInMemory) -> None:
    """Somebody declares them since: nothing is marked, nothing lowered, and all nodes are opened again."""
    text = 'conflict with "kustomize-controller" using example.dev/v1'
    cause = Cause(reason="FieldManagerConflict", message=text, field=".spec.replicas")
    _answers(machines, ApiError(409, "Conflict", f"1 conflict: {text}", (cause,)))
    ended = machines.step(*TEN)
    assert {(one.state, one.code, one.reopen) for one in ended} == {(RemovalState.FAILED, WriteCode.CONFLICT, True)}
    assert (machines.writes, machines.annotations, machines.replicas) == ([], {}, 10)


def test_a_mark_outlives_the_next_sizes(machines: MachinesInMemory) -> None:
    """Machines may still have to go by it when the group grows; an apply that did not name it would take it away."""
    machines.step(*TEN)
    for replicas in (3, 4):
        assert machines.provider().resize(GENERAL, replicas, machines.bound()).done
        assert (machines.replicas, machines.annotations) == (replicas, {KEY: ALL})
    assert machines.provider().release(GENERAL, machines.bound()).done
    assert machines.annotations == {}


def test_no_size_of_a_topology_names_a_mark(machines: MachinesInMemory) -> None:
    """Its annotations belong into the Cluster, where somebody may have written one like ours."""
    machines.owner = OwnerEvidence(owners=(APPLIED,), topology_owned=True)
    machines.annotations = {KEY: ALL}
    assert machines.provider().resize(GENERAL, 3, machines.bound()).done
    assert "annotations" not in machines.writes[0][2]["metadata"]


def test_a_mark_that_meets_a_conflict_is_tried_again_once(machines: MachinesInMemory) -> None:
    """Read again, and judged again; a second conflict waits for the next call."""
    _answers(machines, CONFLICT)
    assert {one.state for one in machines.step(*TEN)} == {RemovalState.FINISHED}
    machines = _of(10)
    _answers(machines, CONFLICT, CONFLICT)
    assert {(one.state, one.code) for one in machines.step(*TEN)} == {(RemovalState.DRAINING, WriteCode.STALE)}
    assert (machines.replicas, machines.annotations) == (10, {})


@pytest.mark.parametrize("done", [False, True])
def test_a_write_whose_answer_was_lost(machines: MachinesInMemory, *, done: bool) -> None:
    """Mark and replicas are written, or neither is: the next call reads which."""
    if done:
        written = machines.write

        def lost(*asked: object, **options: object) -> bytes:
            written(*asked, **options)  # type: ignore[arg-type]
            raise UnreachableError("cut")

        machines.write = lost  # type: ignore[method-assign]
    else:
        _answers(machines, UnreachableError("cut"))
    waits = machines.step(*TEN)
    assert {(one.state, one.code, one.untouched) for one in waits} == {(RemovalState.DRAINING, WriteCode.UNKNOWN, False)}
    assert machines.replicas == (0 if done else 10)
    assert {(one.state, one.replicas) for one in machines.step(*TEN)} == {(RemovalState.FINISHED, 0)}
    assert machines.written == [TARGET]


def test_a_target_that_is_written_after_it_was_judged(machines: MachinesInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another part of its spec, before our write is made of what it is now: all is judged anew, and the mark tells of that."""
    reads: list[int] = []
    read = machines.read_target

    def moving(*asked: object, **options: object) -> object:
        reads.append(machines.generation)
        if len(reads) == 2:
            machines.generation, machines.version = 5, 71
        return read(*asked, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(machines, "read_target", moving)
    assert {one.state for one in machines.step(*TEN)} == {RemovalState.FINISHED}
    assert (len(reads), machines.written) == (4, [TARGET])
    assert machines.annotations == {KEY: ALL.replace("g4", "g5")}


def test_a_mark_of_its_own_is_all_that_is_taken_off(machines: MachinesInMemory) -> None:
    """The target's covers others."""
    machines.annotations[KEY] = ALL.replace("{1,", "{")
    machines.change("m1", mark="nodegroup-reconciler.test.g4.r10")
    assert machines.provider().abandon(GENERAL, "m1").message
    assert machines.written == [("PATCH", "m1")]


@pytest.mark.parametrize(
    ("case", "left", "message"),
    [
        ("not lowered", None, "our mark was removed from Machine m1 of Set prod/general"),
        ("lowered", ALL, ""),
        ("passed over", ALL.replace("{1,", "{"), "our mark was removed from Machine m1 of Set prod/general"),
        ("deleting", ALL, ""),
        ("others", ALL.replace("test", "prod"), ""),
        ("not named", ALL.replace("{1,", "{"), ""),
    ],
)
def test_abandoned(machines: MachinesInMemory, case: str, left: str | None, message: str) -> None:
    """What covers the machine goes, unless replicas were lowered for it and it may still go."""
    machines.annotations[KEY] = {"others": ALL.replace("test", "prod"), "not named": ALL.replace("{1,", "{")}.get(case, ALL)
    if case in ("lowered", "passed over"):
        machines.generation = machines.observed = 6
        machines.replicas = 9
        machines.change("m5", deleting=case == "passed over")
    elif case == "deleting":
        machines.change("m1", deleting=True)
    result = machines.provider().abandon(GENERAL, "m1")
    assert (result.done, result.message) == (True, message)
    assert machines.annotations.get(KEY) == left


def test_a_machine_that_is_covered_still_may_not_begin(machines: MachinesInMemory) -> None:
    """A mark that was left behind goes first: the removal would count as done before it was."""
    machines.annotations[KEY] = ALL.replace("{1,", "{")
    begun = [machines.provider().may_begin(GENERAL, f"m{one}", f"n{one}", machines.bound()) for one in (1, 2)]
    assert [one.done for one in begun] == [True, False]
    assert "Machine m2 still has a mark of ours (nodegroup-reconciler.test.g4.r10)" in begun[1].message


def test_whose_mark_it_is(machines: MachinesInMemory) -> None:
    """A mark of its own goes before that of its target."""
    machines.annotations[KEY] = ALL.replace("{1,", "{")
    machines.change("m2", mark="theirs")
    machines.change("m3", mark="nodegroup-reconciler.prod.g4.r5")
    assert [machines.provider().marked_by(GENERAL, name) for name in TEN[:4]] == ["", "", "prod", "test"]


def test_a_target_without_replicas_is_nobodys(machines: MachinesInMemory) -> None:
    """Nothing is lowered, and nothing marked."""
    machines.replicas = None  # type: ignore[assignment]
    assert {one.state for one in machines.step(*TEN)} == {RemovalState.FAILED}
    assert machines.writes == []


def test_half_of_the_machines_are_read_in_one_answer(machines: MachinesInMemory) -> None:
    """Eight of sixteen; of seventeen they are read one by one."""
    for replicas, lists in ((16, 1), (17, 1)):
        machines.replicas = replicas
        machines.step(*TEN[:8])
        assert machines.lists == lists


def test_a_release_takes_it_off(machines: MachinesInMemory) -> None:
    """With all our annotations."""
    machines.annotations = {KEY: ALL, "reconciler.dev/policy": "test", "theirs": "kept"}
    assert machines.provider().release(GENERAL, machines.bound()).done
    assert machines.annotations == {"theirs": "kept"}


@pytest.mark.parametrize("text", ["", "yes", "m{1}", "nodegroup-reconciler.test.g4.r10", "nodegroup-reconciler.test.g4.r10 m{}"])
def test_other_texts_cover_nothing(machines: MachinesInMemory, text: str) -> None:
    """Somebody wrote it by hand."""
    machines.annotations[KEY] = text
    assert TargetMark.read(machines.facts(), "test") is None
    assert machines.provider().marked_by(GENERAL, "m1") == ""


def test_one_name_and_names_that_begin_alike() -> None:
    """What all begin with stands once; a name may be the beginning of another."""
    machines = _of(2)
    for names, text in ((("m-1",), "{m-1}"), (("m-1", "m-12"), "m-1{,2}"), (("a", "b"), "{a,b}")):
        mark = TargetMark(TargetMark.read(_told(machines, ALL), "test").mark, frozenset(names))  # type: ignore[union-attr]
        assert str(mark) == f"nodegroup-reconciler.test.g4.r10 {text}"
        assert TargetMark.read(_told(machines, str(mark)), "test") == mark


def _told(machines: MachinesInMemory, text: str):  # type: ignore[no-untyped-def]
    machines.annotations[KEY] = text
    return machines.facts()


@pytest.mark.parametrize("policy", ["test", "other"])
def test_the_view_marks_the_machines(policy: str) -> None:
    """Those of the target that the mark names, whichever policy set it; nothing of another target with such machines."""
    cluster = ClusterBuilder()
    for name in ("general", "other"):
        cluster.group(name, nodes=2)
    world = cluster.world()
    covered = next(one for one in world.machines if one.target.name == "general")
    marked = {KEY: f"nodegroup-reconciler.{policy}.g4.r2 {{{covered.name}}}"}
    targets = tuple(
        msgspec.structs.replace(one, annotations=tuple(marked.items())) if one.ref == covered.target else one
        for one in world.targets
    )
    found = marked_by_targets(msgspec.structs.replace(world, targets=targets))
    assert {one.name for one in found.machines if one.delete_marked} == {covered.name}
    assert msgspec.structs.replace(found, machines=world.machines, targets=world.targets) == world
    by_set = tuple(msgspec.structs.replace(one, owner=OwnerEvidence(controller="MachineDeployment a")) for one in targets)
    assert not any(one.delete_marked for one in marked_by_targets(msgspec.structs.replace(world, targets=by_set)).machines)
    assert marked_by_targets(world) is world
