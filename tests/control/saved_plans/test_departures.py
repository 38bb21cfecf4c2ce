"""Nodes that a carried out plan removes: followed until each has left or stays, told in sentences, one turn at a time."""

from typing import Any

import pytest

from reconciler.cluster.world import World
from reconciler.control.saved_plans.apply import Applied
from reconciler.control.saved_plans.departures import Departures
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.memory import Memory, Replacement
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

TARGET = machine_deployment("general")


def _action(*nodes: str, kind: ActionKind = ActionKind.REMOVE_NODE) -> Action:
    return Action(
        kind=kind, group="general", target=str(TARGET), from_=3, to=2, nodes=nodes, reason=Reason(code="Empty", message=""),
        bound=Bound(resource_version="1", replicas=3, owner_digest="", policy_digest=""),
    )  # fmt: skip


def _result(*nodes: str, kind: ActionKind = ActionKind.REMOVE_NODE, state: ResultState = ResultState.DONE) -> ActionResult:
    return ActionResult(action=_action(*nodes, kind=kind), state=state)


def _removal(node: str, state: RemovalState = RemovalState.DRAINING, **said: Any) -> RemovalProgress:
    return RemovalProgress(target=TARGET, node=node, state=state, **said)


def _world(*nodes: str) -> World:
    cluster = ClusterBuilder()
    for name in nodes:
        cluster.node(name)
    return cluster.world()


class Stage:
    """Departures whose turns the test writes; `said` are the sentences that were told."""

    def __init__(self, *begun: ActionResult) -> None:
        self.said: list[str] = []
        self.store = InMemoryStore()
        self.report = LoopReport(at_seconds=NOW)
        self.departures = Departures(None, None, self.store, self.said.append)  # type: ignore[arg-type]
        self.departures._loop = self  # type: ignore[assignment]
        self.applied = Applied(results=begun)
        self.departures.begin(self.applied)

    def turn(self) -> LoopReport:
        return self.report

    def after(self, *there: str, removals: tuple[RemovalProgress, ...] = (), results: tuple[ActionResult, ...] = ()) -> list[str]:
        """One turn whose view has these nodes (none named: there is no view)."""
        decided = Decided(world=_world(*there), policy=policy(node_group("general")), memory=Memory(), now_seconds=NOW)
        self.report = LoopReport(at_seconds=NOW, decided=decided if there else None, removals=removals, results=results)
        return self.departures.turn()

    def ends(self) -> list[tuple[ResultState, str, str]]:
        return [(one.state, one.code, one.message) for one in self.departures.ended(self.applied).results]


def _replacing(stage: Stage, *nodes: str) -> None:
    """The memory has a replacement of these under way."""
    item = Replacement(target=str(TARGET), nodes=nodes, to=3, started_seconds=NOW, saving_micros=1)
    stage.store.save(Memory(replacements=(item,) if nodes else ()))


@pytest.mark.parametrize(
    ("result", "nodes", "replacing"),
    [
        (_result("n1"), ("n1",), False),
        (_result("n2", "n1", kind=ActionKind.REPLACE), ("n1", "n2"), True),
        (_result("n1", state=ResultState.REFUSED), (), False),
        (_result("n1", kind=ActionKind.REPLACE, state=ResultState.SKIPPED), (), False),
        (_result("n1", kind=ActionKind.RESIZE), (), False),
    ],
)
def test_which_nodes_are_to_leave(result: ActionResult, nodes: tuple[str, ...], *, replacing: bool) -> None:
    """Those of removals and replacements that were done; only a replacement needs later decisions."""
    stage = Stage(result)
    assert (stage.departures.nodes, stage.departures.replacing) == (nodes, replacing)


@pytest.mark.parametrize(
    ("removal", "sentence"),
    [
        (_removal("n1", remaining=2), "node n1: 2 pods have not left yet"),
        (_removal("n1", remaining=2, message="a budget"), "node n1: 2 pods have not left yet. a budget"),
        (_removal("n1"), "node n1: it is empty"),
        (
            _removal("n1", RemovalState.FINISHED, replicas=2),
            f"node n1: drained, its machine is being deleted. {TARGET} has 2 replicas",
        ),
        (_removal("n1", RemovalState.FAILED, code="Blocked", message="a pod came"), "node n1 stays: a pod came [Blocked]"),
    ],
)
def test_progress_is_told_when_it_is_news(removal: RemovalProgress, sentence: str) -> None:
    """The same again is not told; an end is handed back as what happened, and then the node is waited for no more."""
    stage = Stage(_result("n1"))
    ended = removal.state is not RemovalState.DRAINING
    assert stage.after("n1", removals=(removal,)) == ([sentence] if ended else [])
    assert stage.departures.nodes == (() if ended else ("n1",))
    assert stage.after("n1", removals=(removal,)) == []
    assert stage.said == [sentence]


def test_fewer_pods_are_news() -> None:
    stage = Stage(_result("n1"))
    for remaining in (3, 3, 1):
        stage.after("n1", removals=(_removal("n1", remaining=remaining),))
    assert stage.said == ["node n1: 3 pods have not left yet", "node n1: 1 pod has not left yet"]


def test_a_removal_that_failed_is_the_end_of_its_action() -> None:
    """With its code and sentence; of several nodes with all sentences. What was refused before stays as it was told."""
    stage = Stage(_result("n1"), _result("n2"), _result("n2", state=ResultState.REFUSED))
    stage.after("n1", "n2", removals=(_removal("n2", RemovalState.FAILED, code="Blocked", message="a pod came"),))
    assert stage.ends() == [
        (ResultState.DONE, "", ""),
        (ResultState.FAILED, "Blocked", "node n2 stays: a pod came [Blocked]"),
        (ResultState.REFUSED, "", ""),
    ]


def test_a_node_that_is_gone_has_left() -> None:
    """Nobody told of its end; without a view nobody knows whether it is there."""
    stage = Stage(_result("n1"))
    stage.after()
    assert stage.departures.nodes == ("n1",)
    stage.after("n2")
    assert stage.departures.nodes == ()
    assert stage.ends() == [(ResultState.DONE, "", "")]


def test_what_keeps_a_turn_from_deciding_is_told() -> None:
    stage = Stage(_result("n1"))
    stage.report = LoopReport(at_seconds=NOW, unavailable="no view to trust")
    assert stage.departures.turn() == []
    assert stage.said == ["waiting: no view to trust"]


def test_nothing_is_waited_for_after_it_was_given_up() -> None:
    """Each node that had not left stays, for the reason that is given of it: leaving ones and replaced ones."""
    stage = Stage(_result("n1"), _result("n2", "n3", kind=ActionKind.REPLACE))
    stage.departures.give_up("Stopped", lambda node: f"{node} had not left")
    assert (stage.departures.nodes, stage.departures.replacing) == ((), False)
    assert stage.ends() == [
        (ResultState.FAILED, "Stopped", "n1 had not left"),
        (ResultState.FAILED, "Stopped", "n2 had not left, and n3 had not left"),
    ]


def test_a_replaced_node_leaves_when_its_removal_has_begun() -> None:
    """From then on it is one that leaves; the other old one waits on."""
    stage = Stage(_result("n1", "n2", kind=ActionKind.REPLACE))
    _replacing(stage, "n1", "n2")
    stage.after("n1", "n2", results=(_result("n1", state=ResultState.SKIPPED),))
    assert (stage.departures.nodes, stage.departures.replacing) == (("n1", "n2"), True)
    stage.after("n1", "n2", results=(_result("n1"),))
    assert (stage.departures.nodes, stage.departures.replacing) == (("n1", "n2"), True)
    stage.after("n2")
    assert (stage.departures.nodes, stage.departures.replacing) == (("n2",), True)
    _replacing(stage)
    stage.after("n2", results=(_result("n2"),))
    assert (stage.departures.nodes, stage.departures.replacing) == (("n2",), False)
    assert stage.ends() == [(ResultState.DONE, "", "")]


def test_a_replacement_that_was_given_up_leaves_its_nodes() -> None:
    """No memory of it is left while the node is there."""
    stage = Stage(_result("n1", "n2", kind=ActionKind.REPLACE))
    _replacing(stage, "n2")
    stage.after("n1", "n2")
    assert stage.departures.nodes == ("n2",)
    assert stage.ends() == [(ResultState.FAILED, "GivenUp", "n1 stays: the replacement was given up")]


def test_a_replaced_node_that_went_without_us_is_no_failure() -> None:
    """The replacement is over because its node is gone."""
    stage = Stage(_result("n1", kind=ActionKind.REPLACE))
    stage.after("n2")
    assert (stage.departures.nodes, stage.ends()) == ((), [(ResultState.DONE, "", "")])


def test_later_decisions_only_remove_what_is_replaced() -> None:
    """No growth, no other removal, and none that takes another node with it."""
    stage = Stage(_result("n1", "n2", kind=ActionKind.REPLACE), _result("n5"))
    wanted = (_action("n1"), _action("n1", "n2"))
    others = (_action("n1", kind=ActionKind.RESIZE), _action("n5"), _action("n2", "n3"), _action("n4"))
    plan = Plan(now="", mode="Enforce", summary="", actions=(*wanted, *others))
    assert stage.departures._choose(plan, _world()) == wanted
