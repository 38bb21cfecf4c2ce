"""Marks that belong to no removal under way: which are taken back, whose are left, and what is said."""

from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.target_marks import FormerPolicy, LeftMarks
from reconciler.kube.connection.api import UnreachableError
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.providers.contract import WriteCode, WriteResult
from tests.builders import ClusterBuilder

TAKEN = WriteResult(message="our mark was removed")


class Hands:
    """A provider and a drain of one policy that write down what is asked of them."""

    def __init__(self, answer: WriteResult | Exception = TAKEN, mark_of: str = "") -> None:
        self.answer = answer
        self.mark_of = mark_of
        self.away = False
        self.writes = True
        self.asked: list[tuple[str, str]] = []

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        self.asked.append(("abandon", machine))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def marked_by(self, target: TargetRef, machine: str) -> str:
        return self.mark_of

    def undo(self, node: str) -> None:
        if self.away:
            raise UnreachableError("connection refused", sent=False)
        self.asked.append(("undo", node))

    def policy(self) -> FormerPolicy:
        return FormerPolicy({MACHINE_DEPLOYMENT: self} if self.writes else {}, self)  # type: ignore[dict-item]


def _world(taint: str = "", *, marked: bool, deleting: bool = False) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, taints=[f"reconciler.dev/deleting={taint}:NoSchedule"] if taint else [])
    world = cluster.world()
    machines = tuple(msgspec.structs.replace(one, delete_marked=marked, deleting=deleting) for one in world.machines)
    return msgspec.structs.replace(world, machines=machines)


def _took_back(
    world: World, own: Hands, ended: Mapping[str, Hands], *, turns: int = 1, leaving: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """What was said while our policy is `prod` and these others have ended."""
    said: list[tuple[str, str]] = []

    def former(policy: str) -> FormerPolicy | None:
        assert policy not in ("", "prod"), "nobody's, and our own"
        return ended[policy].policy() if policy in ended else None

    providers = {MACHINE_DEPLOYMENT: own}
    marks = LeftMarks(providers, "prod", lambda code, message: said.append((code, message)), former)  # type: ignore[arg-type]
    for _ in range(turns):
        marks.take_back(world, leaving or {})
    return said


def test_a_mark_that_is_taken_back_is_said_once() -> None:
    """The next turns, whose view may be older, have nothing new to say."""
    assert _took_back(_world(marked=True), Hands(), {}, turns=3) == [("MarkTakenOff", "our mark was removed")]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (WriteResult(code=WriteCode.REFUSED, message="forbidden by RBAC"), "forbidden by RBAC"),
        (msgspec.ValidationError("Expected `str`, got `int`"), "cannot be understood"),
    ],
)
def test_a_mark_that_cannot_be_taken_back_is_said(answer: WriteResult | Exception, word: str) -> None:
    """With the machine and why: else nobody would know why its node is never drained."""
    ((code, message),) = _took_back(_world(marked=True), Hands(answer), {}, turns=2)
    assert (code, word in message, "Machine general-1" in message) == ("MarkKept", True, True)


def test_the_taint_of_a_policy_that_has_ended_is_taken_off() -> None:
    """The node is open again, and it is said which policy closed it."""
    old = Hands()
    said = _took_back(_world("old.1700000000", marked=False), Hands(), {"old": old})
    assert old.asked == [("undo", "general-1")]
    assert said == [("TaintTakenOff", "node general-1 is open again: policy old closed it, and nobody runs that any more")]


def test_the_mark_of_a_policy_that_has_ended_goes_before_its_taint() -> None:
    """Without the taint nobody would look for the mark."""
    own, old = Hands(WriteResult()), Hands()
    _took_back(_world("old.1700000000", marked=True), own, {"old": old})
    assert old.asked == [("abandon", "general-1"), ("undo", "general-1")]


@pytest.mark.parametrize("machines", [0, 1])
def test_the_node_of_no_machine_is_opened_too(machines: int) -> None:
    """Its policy has ended, and nothing of it can go any more; nor can a machine of no target."""
    old, world = Hands(), _world("old.1700000000", marked=True)
    left = tuple(msgspec.structs.replace(machine, target=None) for machine in world.machines[:machines])
    _took_back(msgspec.structs.replace(world, machines=left), Hands(), {"old": old})
    assert old.asked == [("undo", "general-1")]


@pytest.mark.parametrize("taint", ["", "old.1700000000"])
def test_a_policy_whose_platform_is_not_there_any_more(taint: str) -> None:
    """Nobody can take its mark off the machine, which is no reason to keep the node closed."""
    own, old = Hands(WriteResult(), mark_of="old"), Hands()
    old.writes = False
    _took_back(_world(taint, marked=True), own, {"old": old})
    assert old.asked == ([("undo", "general-1")] if taint else [])


@pytest.mark.parametrize("case", ["leaving", "deleting", "not marked", "no target", "other platform"])
def test_a_mark_that_has_its_use_is_left_alone(case: str) -> None:
    """Its removal is under way, or its machine is going already; without a target nobody can write it."""
    world = _world(marked=case != "not marked", deleting=case == "deleting")
    (machine,) = world.machines
    assert machine.target is not None
    targets = {"no target": None, "other platform": msgspec.structs.replace(machine.target, kind="AutoScalingGroup")}
    machine = msgspec.structs.replace(machine, target=targets.get(case, machine.target))
    own = Hands()
    leaving = {"general-1": "prod.1700000000"} if case == "leaving" else {}
    assert _took_back(msgspec.structs.replace(world, machines=(machine,)), own, {}, leaving=leaving) == []
    assert own.asked == []


def test_what_was_said_of_a_machine_is_forgotten_with_it() -> None:
    """Another one of that name, and who leads anew, is told of it again."""
    said: list[tuple[str, str]] = []
    marks = LeftMarks({MACHINE_DEPLOYMENT: Hands()}, "prod", lambda *told: said.append(told), lambda _: None)  # type: ignore[dict-item, arg-type]
    here, empty = _world(marked=True), ClusterBuilder().world()
    for world in (here, empty, here, here):
        marks.take_back(world, {})
    assert len(said) == 2
    marks.forget()
    marks.take_back(here, {})
    assert len(said) == 3


@pytest.mark.parametrize("answer", [WriteResult(), WriteResult(code=WriteCode.UNAVAILABLE, message="away")])
def test_a_taint_stays_while_its_machine_may_still_go(answer: WriteResult) -> None:
    """Replicas were lowered for it, or the mark could not be taken off."""
    old = Hands(answer)
    _took_back(_world("old.1700000000", marked=True), Hands(WriteResult()), {"old": old})
    assert old.asked == [("abandon", "general-1")]


def test_a_mark_without_taint_of_a_policy_that_has_ended_is_taken_off() -> None:
    """By that policy's name, which the mark itself says."""
    own, old = Hands(WriteResult(), mark_of="old"), Hands()
    assert _took_back(_world(marked=True), own, {"old": old}) == [("MarkTakenOff", "our mark was removed")]
    assert old.asked == [("abandon", "general-1")]


@pytest.mark.parametrize("taint", ["other.1700000000", "prod.1700000000", "soon"])
def test_taints_of_policies_that_somebody_runs_stay(taint: str) -> None:
    """Another reconciler's, our own, which the removal looks after, and what no reconciler wrote."""
    old, prod = Hands(), Hands()
    assert _took_back(_world(taint, marked=False), Hands(), {"old": old, "prod": prod}) == []
    assert old.asked == prod.asked == []


def test_a_taint_of_another_program_stays() -> None:
    """Whatever its value looks like."""
    cluster, old = ClusterBuilder(), Hands()
    cluster.group("general", nodes=1, taints=["example.org/deleting=old.1700000000:NoSchedule"])
    assert _took_back(cluster.world(), Hands(), {"old": old}) == []
    assert old.asked == []


@pytest.mark.parametrize("policy", ["other", "prod", ""])
def test_marks_of_policies_that_somebody_runs_stay(policy: str) -> None:
    """Our own provider has judged its own; a mark that names nobody is another program's."""
    old, prod = Hands(), Hands()
    own = Hands(WriteResult(), mark_of=policy)
    assert _took_back(_world(marked=True), own, {"old": old, "prod": prod}) == []
    assert (own.asked, old.asked, prod.asked) == ([("abandon", "general-1")], [], [])


def test_the_node_of_a_machine_that_is_going_stays_closed() -> None:
    """Its deletion was the end of that policy's removal."""
    old = Hands()
    assert _took_back(_world("old.1700000000", marked=False, deleting=True), Hands(), {"old": old}) == []
    assert old.asked == []


def test_a_taint_that_cannot_be_taken_off_is_said() -> None:
    """And tried again in the next turn."""
    old = Hands()
    old.away = True
    ((code, message),) = _took_back(_world("old.1700000000", marked=False), Hands(), {"old": old}, turns=2)
    assert (code, "connection refused" in message) == ("TaintKept", True)


def test_policies_that_have_ended_are_told_of_those_that_stand_on_targets() -> None:
    """Of three marks one is our own, one names a policy that somebody may run, and one names a policy that has ended."""
    cluster = ClusterBuilder()
    for name in ("old", "other", "prod"):
        cluster.target(name, 1, annotations=(("reconciler.dev/policy", name),))
    marks = LeftMarks({}, "prod", lambda *_: None, lambda name: Hands().policy() if name in ("old", "prod") else None)
    assert marks.ended(cluster.world()) == ("old",)
    assert LeftMarks({}, "prod", lambda *_: None, lambda _: None).ended(cluster.world()) == ()
