"""Nodes that are leaving, each thing that stops, ends or delays one of them alone, without a cluster."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.control.live.leaving_nodes import NOTHING_MAY_GO, LeavingNodes, machines_on
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.drain import DrainStep
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import Mode
from reconciler.providers.contract import RemovalProgress, RemovalState, TargetRemoval, WriteCode
from tests.builders import NOW, ClusterBuilder, node_group, policy

ONE, TWO = "general-1", "general-2"
FINISHED = TargetRemoval(state=RemovalState.FINISHED, replicas=1, generation=9)


class Leaving:
    """Two nodes of a group of three that leave; drain and provider keep what they are asked. `drains` and `answers` say by node
    what each says: an exception is raised."""

    def __init__(self) -> None:
        cluster = ClusterBuilder()
        cluster.group("general", nodes=3)
        self.world: World = cluster.world()
        self.target = self.world.targets[0].ref
        self.groups = {
            group.target: msgspec.structs.replace(group, mode=Mode.ENFORCE)
            for group in effective_groups(self.world, policy(node_group("general")), NOW)
        }
        self.taints = {ONE: "t1", TWO: "t2"}
        self.drains: dict[str, DrainStep | Exception] = {}
        self.answers: dict[str, TargetRemoval | Exception] = {}
        self.undone: list[str] = []
        self.undoing: Exception | None = None
        self.asked: list[tuple[tuple[str, ...], int]] = []
        self.said: list[tuple[str, str, str]] = []
        self.now, self.calls = NOW, 0
        self.nodes = LeavingNodes(self, {MACHINE_DEPLOYMENT: self}, self._says, lambda: self.now)  # type: ignore[arg-type, dict-item]

    def _says(self, *told: str) -> None:
        self.said.append(told)  # type: ignore[arg-type]

    def undo(self, node: str) -> None:
        self.calls += 1
        if self.undoing is not None:
            raise self.undoing
        self.undone.append(node)

    def step(self, *asked: Any) -> Any:
        self.calls += 1
        if len(asked) == 1:
            return self._answer(self.drains.get(asked[0], DrainStep(remaining=0)))
        _, leaving, floor = asked
        self.asked.append((tuple(one.node for one in leaving), floor))
        self.leaving = leaving
        return tuple(self._answer(self.answers.get(one.node, FINISHED)) for one in leaving)

    def _answer(self, answer: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    def machine(self, of: str, **changes: object) -> None:
        machines = [msgspec.structs.replace(one, **changes) if one.node == of else one for one in self.world.machines]
        self.world = msgspec.structs.replace(self.world, machines=tuple(machines))

    def facts(self, **changes: object) -> None:
        facts = msgspec.structs.replace(self.world.targets[0], **changes)
        self.world = msgspec.structs.replace(self.world, targets=(facts,))

    def group(self, **changes: object) -> None:
        self.groups = {self.target: msgspec.structs.replace(self.groups[self.target], **changes)}

    def turn(self) -> dict[str, RemovalProgress]:
        found: list[RemovalProgress] = []
        self.asked.clear()
        self.nodes.proceed(self.world, self.groups, self.taints, found)
        return {one.node: one for one in found}


@pytest.fixture
def leaving() -> Leaving:
    return Leaving()


def test_empty_nodes_go_together(leaving: Leaving) -> None:
    """Told with replicas and generation, and once: the provider is asked again until the view shows the machine going."""
    told = leaving.turn()
    assert {node: (one.state, one.replicas, one.generation, one.target) for node, one in told.items()} == {
        ONE: (RemovalState.FINISHED, 1, 9, leaving.target),
        TWO: (RemovalState.FINISHED, 1, 9, leaving.target),
    }
    assert leaving.asked == [((ONE, TWO), 0)]
    assert leaving.turn() == {}
    assert leaving.asked == [((ONE, TWO), 0)]
    leaving.machine(ONE, deleting=True)
    assert leaving.turn() == {}
    assert leaving.asked == [((TWO,), 0)]
    leaving.taints[TWO] = "another time"
    leaving.nodes.look(leaving.world, leaving.taints)
    assert set(leaving.turn()) == {TWO}


def test_a_new_beginning_is_told_again(leaving: Leaving) -> None:
    """A removal that begins in the same second has the same taint; after another instance led nothing is known."""
    leaving.turn()
    leaving.nodes.began(leaving.target, ONE, 2)
    assert set(leaving.turn()) == {ONE}
    assert leaving.asked[0][1] == 2
    leaving.nodes.forget()
    assert set(leaving.turn()) == {ONE, TWO}
    assert leaving.asked[0][1] == 0


@pytest.mark.parametrize("case", ["step", "answer", "drain", "eviction", "undo"])
def test_what_is_denied_is_tried_again_after_a_while(leaving: Leaving, case: str) -> None:
    """After 30 s, then after a minute, whatever else happens; one that succeeds begins again with 30 s."""
    denied = ApiError(403, "Forbidden", "not you")
    answer = TargetRemoval(state=RemovalState.DRAINING, code=WriteCode.DENIED, message="not you")
    leaving.taints = {ONE: "t1"}
    match case:
        case "step" | "answer":
            leaving.answers[ONE] = denied if case == "step" else answer
        case "drain" | "eviction":
            leaving.drains[ONE] = denied if case == "drain" else DrainStep(remaining=1, code="Denied", message="not you")
        case _:
            leaving.facts(replicas=3)
            leaving.groups, leaving.undoing = {}, denied
            leaving.answers[ONE] = TargetRemoval(state=RemovalState.FAILED)
    for after, asked in ((0, True), (1, False), (29, False), (30, True), (31, False), (89, False), (90, True)):
        leaving.now, leaving.calls = NOW + after, 0
        assert leaving.turn()[ONE].state is RemovalState.DRAINING
        assert bool(leaving.calls) == asked, after
        leaving.nodes.look(leaving.world, leaving.taints)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("hold", "general is held: by me"),
        ("observe", "general is in mode Observe"),
        ("no group", "no group of the policy has this target any more"),
    ],
)
def test_a_held_removal_is_handed_over_to_end(leaving: Leaving, case: str, why: str) -> None:
    """Nothing is drained and nothing may go; the provider takes its mark off, and the end says why."""
    if case == "no group":
        leaving.groups = {}
    else:
        leaving.group(**({"hold": "by me"} if case == "hold" else {"mode": Mode.OBSERVE}))
    leaving.drains = dict.fromkeys((ONE, TWO), AssertionError("drained"))
    refused = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.REFUSED, message="below the floor")
    leaving.answers = {ONE: refused, TWO: refused}
    told = leaving.turn()
    assert {(one.state, one.code, one.message) for one in told.values()} == {(RemovalState.FAILED, "Held", why)}
    assert leaving.asked == [((ONE,), NOTHING_MAY_GO), ((TWO,), NOTHING_MAY_GO)]
    assert leaving.undone == [ONE, TWO]


def test_one_is_called_off(leaving: Leaving) -> None:
    """In the next step alone; the other one goes on, and after it."""
    leaving.nodes.call_off(TWO, "a pod needs the room")
    leaving.drains = {TWO: AssertionError("drained")}
    leaving.answers = {TWO: TargetRemoval(state=RemovalState.FAILED, code=WriteCode.REFUSED, message="below the floor")}
    told = leaving.turn()
    leaving.drains.clear()
    assert (told[TWO].code, told[TWO].message) == ("CalledOff", "a pod needs the room")
    assert told[ONE].state is RemovalState.FINISHED
    assert leaving.asked == [((TWO,), NOTHING_MAY_GO), ((ONE,), 0)]
    leaving.nodes.forget()
    leaving.turn()
    assert leaving.asked == [((ONE, TWO), 0)]


def test_the_minimum_of_the_group_is_a_floor(leaving: Leaving) -> None:
    """Also where the plan left fewer."""
    leaving.group(min_size=2)
    leaving.nodes.began(leaving.target, ONE, 1)
    leaving.turn()
    assert leaving.asked == [((ONE, TWO), 2)]


@pytest.mark.parametrize("changes", [{"deleting": True}, {"delete_marked": True}])
def test_a_machine_that_is_going_is_not_drained_again(leaving: Leaving, changes: dict[str, bool]) -> None:
    """Its node may have pods again that nobody must evict; a mark that is seen is told to the provider."""
    leaving.machine(ONE, **changes)
    leaving.drains = {ONE: AssertionError("drained")}
    assert leaving.turn()[ONE].state is RemovalState.FINISHED
    assert [one.marked for one in leaving.leaving] == ["delete_marked" in changes, False]


@pytest.mark.parametrize(
    ("step", "state", "code", "message"),
    [
        (DrainStep(remaining=2, message="a budget"), RemovalState.DRAINING, "", "a budget"),
        (DrainStep(remaining=1, given_up="late", code="Blocked"), RemovalState.FAILED, "Blocked", "late"),
        (DrainStep(remaining=1, given_up="late"), RemovalState.FAILED, "DrainTimeout", "late"),
        (UnreachableError("cut"), RemovalState.DRAINING, "", "cut"),
        (ApiError(500, "", "no"), RemovalState.DRAINING, "", "500: no"),
    ],
)
def test_what_a_drain_says(leaving: Leaving, step: DrainStep | Exception, state: RemovalState, code: str, message: str) -> None:
    """It holds up no other node; one that is given up is opened again."""
    leaving.drains = {ONE: step}
    told = leaving.turn()
    assert (told[ONE].state, told[ONE].code, told[ONE].message) == (state, code, message)
    assert told[ONE].remaining == (2 if isinstance(step, DrainStep) and not step.given_up else 0)
    assert told[TWO].state is RemovalState.FINISHED
    assert leaving.undone == ([ONE] if state is RemovalState.FAILED else [])


def test_a_guard_ends_the_step_and_keeps_what_was_told(leaving: Leaving) -> None:
    """Nothing is handed over by an instance that does not lead any more."""
    leaving.drains = {ONE: DrainStep(remaining=1), TWO: NotLeaderError("late")}
    found: list[RemovalProgress] = []
    with pytest.raises(NotLeaderError):
        leaving.nodes.proceed(leaving.world, leaving.groups, leaving.taints, found)
    assert ([one.node for one in found], leaving.asked) == ([ONE], [])


@pytest.mark.parametrize("case", ["no machine", "no target", "no provider", "no facts"])
def test_a_node_that_nobody_lowers_anything_for(leaving: Leaving, case: str) -> None:
    """It is opened again; one whose machine is going is left closed."""
    other = msgspec.structs.replace(leaving.target, kind="Other")
    match case:
        case "no machine":
            leaving.machine(ONE, node="")
        case "no target":
            leaving.machine(ONE, target=None)
        case "no provider":
            leaving.machine(ONE, target=other)
            (facts,) = leaving.world.targets
            targets = (facts, msgspec.structs.replace(facts, ref=other))
            leaving.world = msgspec.structs.replace(leaving.world, targets=targets)
        case "no facts":
            leaving.machine(ONE, target=msgspec.structs.replace(leaving.target, name="elsewhere"))
    told = leaving.turn()
    assert (told[ONE].state, told[ONE].code) == (RemovalState.FAILED, "NotFound")
    assert (leaving.undone, leaving.asked) == ([ONE], [((TWO,), 0)])
    leaving.machine(ONE, deleting=True)
    leaving.undone.clear()
    leaving.turn()
    assert leaving.undone == ([ONE] if case == "no machine" else [])


def test_a_node_that_cannot_be_reached_is_tried_again(leaving: Leaving) -> None:
    """Its taint stays, so does its removal; what failed is told once it is off."""
    leaving.undoing = UnreachableError("cut")
    leaving.answers = {ONE: TargetRemoval(state=RemovalState.FAILED, code=WriteCode.CONFLICT, message="theirs")}
    told = leaving.turn()[ONE]
    assert (told.state, told.message, told.remaining) == (RemovalState.DRAINING, "cut", 0)
    leaving.machine(TWO, node="")
    cut = leaving.turn()[TWO]
    assert (cut.state, cut.message, cut.remaining) == (RemovalState.DRAINING, "cut", 0)
    leaving.undoing = None
    told = leaving.turn()[ONE]
    assert (told.state, told.code, told.message) == (RemovalState.FAILED, WriteCode.CONFLICT, "theirs")


def test_a_failure_that_leaves_the_node_closed(leaving: Leaving) -> None:
    """Its machine goes without us: the taint stays."""
    gone = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.NOT_FOUND, message="gone", reopen=False)
    leaving.answers = {ONE: gone}
    assert leaving.turn()[ONE].code == WriteCode.NOT_FOUND
    assert leaving.undone == []


@pytest.mark.parametrize("error", [UnreachableError("cut"), ApiError(500, "", "cut")])
def test_a_provider_that_cannot_answer(leaving: Leaving, error: Exception) -> None:
    """Marks may be there: others of the target wait for those that were handed over."""
    leaving.answers = {ONE: error}
    assert {(one.state, one.remaining) for one in leaving.turn().values()} == {(RemovalState.DRAINING, 0)}
    leaving.answers, leaving.drains = {}, {ONE: DrainStep(remaining=1)}
    waits = leaving.turn()[TWO]
    assert (waits.message, waits.remaining) == (f"waits until replicas are lowered for {ONE}", 0)
    assert leaving.asked == []
    leaving.drains = {}
    assert {one.state for one in leaving.turn().values()} == {RemovalState.FINISHED}
    assert [one.marked for one in leaving.leaving] == [True, True]


def test_what_goes_on_after_its_end_is_told_as_going_on(leaving: Leaving) -> None:
    """Only a machine that is gone since says nothing new."""
    leaving.turn()
    leaving.answers = {ONE: TargetRemoval(state=RemovalState.DRAINING, message="asked again", reopen=False)}
    told = leaving.turn()
    assert {node: (one.state, one.message, one.remaining) for node, one in told.items()} == {
        ONE: (RemovalState.DRAINING, "asked again", 0)
    }


def test_what_cannot_be_understood_stops_no_other(leaving: Leaving) -> None:
    """Nothing was marked: it waits, and it is said why."""
    leaving.answers = {ONE: msgspec.DecodeError("odd")}
    assert {(one.state, one.message) for one in leaving.turn().values()} == {(RemovalState.DRAINING, "odd")}
    assert [code for code, _, _ in leaving.said] == ["RemovalWaits"] * 2
    assert leaving.said[0][2] == f"the removal of node {ONE} waits: odd"
    leaving.answers, leaving.drains = {}, {ONE: DrainStep(remaining=1)}
    assert leaving.turn()[TWO].state is RemovalState.FINISHED


def test_a_held_one_waits_for_nobody(leaving: Leaving) -> None:
    """Taking a mark off lowers nothing."""
    leaving.answers = {ONE: UnreachableError("cut")}
    leaving.turn()
    leaving.drains = {ONE: DrainStep(remaining=1)}
    leaving.nodes.call_off(TWO, "why")
    leaving.turn()
    assert leaving.asked == [((TWO,), NOTHING_MAY_GO)]
    del leaving.taints[ONE]
    leaving.group(hold="by me")
    leaving.turn()
    assert leaving.asked == [((TWO,), NOTHING_MAY_GO)]


def test_a_target_whose_machines_cannot_be_chosen(leaving: Leaving) -> None:
    """The provider gets no name."""
    leaving.facts(selectable=False)
    leaving.turn()
    assert {one.machine for one in leaving.leaving} == {""}


def test_of_machines_of_one_name_the_provider_id_decides(leaving: Leaving) -> None:
    """Two workload clusters have nodes of one name: the machine of this node, or none where nobody can tell."""
    ours = next(one for one in leaving.world.machines if one.node == ONE)
    elsewhere = msgspec.structs.replace(leaving.target, name="elsewhere")
    theirs = msgspec.structs.replace(ours, target=elsewhere, provider_id="other://1")
    nodes = [msgspec.structs.replace(node, provider_id="ours://1") if node.name == ONE else node for node in leaving.world.nodes]

    def found(provider_id: str) -> Any:
        machines = (msgspec.structs.replace(ours, provider_id=provider_id), theirs)
        world = msgspec.structs.replace(leaving.world, machines=machines, nodes=tuple(nodes))
        return machines_on(world, [ONE, TWO]).get(ONE)

    assert found("ours://1").target == leaving.target
    assert found("") is found("third://1") is None
    alike = msgspec.structs.replace(leaving.world, machines=(ours, ours))
    assert machines_on(alike, [ONE]) == {ONE: ours}


def test_a_machine_without_provider_id_is_no_namesake(leaving: Leaving) -> None:
    """The only one of that name is the node's; of two of different targets none is told by an id that neither has."""
    ours = msgspec.structs.replace(next(one for one in leaving.world.machines if one.node == ONE), provider_id="")
    theirs = msgspec.structs.replace(ours, target=msgspec.structs.replace(leaving.target, name="elsewhere"), provider_id="x://1")
    known, nameless = (
        tuple(msgspec.structs.replace(node, provider_id=text) for node in leaving.world.nodes) for text in ("ours://1", "")
    )
    assert machines_on(msgspec.structs.replace(leaving.world, machines=(ours,), nodes=known), [ONE]) == {ONE: ours}
    assert machines_on(msgspec.structs.replace(leaving.world, machines=(ours, theirs), nodes=nameless), [ONE]) == {}
