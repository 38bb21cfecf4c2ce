"""What a loop remembers: of each outcome of an action, and of one decision for the next."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, TargetRef
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import BackoffState, LastWrite, Memory, Outcome, Replacement
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, Hold, ScaleDown
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

BEGUN = Replacement(target="T", nodes=("n1",), to=3, started_seconds=9, saving_micros=1)
ELSEWHERE = msgspec.structs.replace(BEGUN, target="U")
OTHERS = msgspec.structs.replace(BEGUN, nodes=("n9",))
EARLIER = LastWrite(replicas=9, generation=1, written_seconds=2)
BEFORE = Memory(
    unneeded_since={"n1": 1, "n2": 2},
    leaving={"n1": 5},
    departures={"T": ((600, 2),), "U": ((600, 1),)},
    last_writes={"U": EARLIER},
    known_groups={"T": "t", "U": "u"},
    replacements=(BEGUN, ELSEWHERE, OTHERS),
    backoffs={"u": BackoffState(failures=1, failed_seconds=3, until_seconds=4)},
    last_added_seconds=11,
    last_removed_seconds=12,
    last_failed_seconds=13,
)
WRITTEN = {"U": EARLIER, "T": LastWrite(replicas=3, generation=7, written_seconds=100)}
FAILURE = BackoffState(failures=1, failed_seconds=100, until_seconds=400, reason="no")
FAILED = {"backoffs": {**BEFORE.backoffs, "t": FAILURE}, "last_failed_seconds": 100}
STAYED = {"leaving": {}, "departures": {"T": ((600, 1),), "U": ((600, 1),)}}


def _outcome(kind: ActionKind, *nodes: str, code: str = "") -> Outcome:
    return Outcome(
        kind=kind.value, group="t", target="T", to=3, nodes=nodes, done=not code, code=code, message="no", at_seconds=100,
        generation=7,
    )  # fmt: skip


CASES: dict[str, tuple[Outcome, dict[str, object]]] = {
    "grown": (_outcome(ActionKind.RESIZE), {"last_added_seconds": 100, "last_writes": WRITTEN}),
    "a replacement's node asked for": (_outcome(ActionKind.REPLACE, "n1"), {"last_writes": WRITTEN}),
    "taken back": (_outcome(ActionKind.CANCEL), {"last_writes": WRITTEN}),
    "a removal begun": (
        _outcome(ActionKind.REMOVE_NODE, "n2"),
        {
            "last_removed_seconds": 100,
            "last_writes": WRITTEN,
            "leaving": {"n1": 5, "n2": 100},
            "departures": {"T": ((600, 3),), "U": ((600, 1),)},
        },
    ),
    "released": (_outcome(ActionKind.RELEASE), {"known_groups": {"U": "u"}}),
    "adopted": (_outcome(ActionKind.ADOPT), {}),
    "a drain given up": (
        _outcome(ActionKind.REMOVE_NODE, "n1", code="DrainTimeout"),
        {**STAYED, "unneeded_since": {"n2": 2}},
    ),
    "a drain given up for a server that did not answer": (_outcome(ActionKind.REMOVE_NODE, "n1", code="Unavailable"), STAYED),
    "a drain that failed": (
        _outcome(ActionKind.REMOVE_NODE, "n1", code="Failed"),
        {**STAYED, "unneeded_since": {"n2": 2}, **FAILED},
    ),
    "a removal refused before it began": (
        _outcome(ActionKind.REMOVE_NODE, "n2", code="Blocked"),
        {"unneeded_since": {"n1": 1}},
    ),
    "a write that failed": (_outcome(ActionKind.RESIZE, code="Failed"), FAILED),
    "a write that was refused": (_outcome(ActionKind.RESIZE, code="Conflict"), {}),
    "a replacement refused": (
        _outcome(ActionKind.REPLACE, "n1", code="Conflict"),
        {**STAYED, "unneeded_since": {"n2": 2}, "replacements": (ELSEWHERE, OTHERS)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_an_outcome_changes(name: str) -> None:
    """That, and nothing else."""
    outcome, changed = CASES[name]
    assert settle(BEFORE, (outcome,)) == msgspec.structs.replace(BEFORE, **changed)


def test_outcomes_are_settled_one_after_the_other() -> None:
    """Two nodes of one plan."""
    after = settle(BEFORE, (_outcome(ActionKind.REMOVE_NODE, "n2"), _outcome(ActionKind.REMOVE_NODE, "n3")))
    assert after.leaving == {"n1": 5, "n2": 100, "n3": 100}
    assert after.departures["T"] == ((600, 4),)


def _target(name: str) -> str:
    return str(machine_deployment(name))


def test_what_a_decision_remembers() -> None:
    """Groups that are there and released targets, first sights of writes without a time, nodes that leave, holds."""
    cluster = ClusterBuilder()
    scaled = FieldOwner(manager="kubectl", operation="Update", subresource="scale")
    dated = FieldOwner(manager="script", operation="Update", time_seconds=NOW - 9)
    applied = FieldOwner(manager="argocd", operation="Apply")
    cluster.group("general", nodes=2)
    cluster.group("held", nodes=0, owners=(scaled,))
    cluster.group("old", nodes=0, owners=(scaled,))
    cluster.group("dated", nodes=0, owners=(dated,))
    cluster.group("applied", nodes=0, owners=(applied,))
    memory = Memory(
        known_groups={_target("old"): "old", _target("gone"): "gone", _target("general"): "before"},
        foreign_since={_target("old"): 7, _target("gone"): 8},
        leaving={"general-1": 5, "gone-1": 6},
        left_empty=("general-1", "gone-1"),
        unneeded_since={"gone-1": 3, "general-1": 3},
        held_groups=("gone",),
        departures={_target("general"): ((NOW, 1),)},
    )
    groups = (node_group("general"), node_group("held", hold=Hold(reason="x")), node_group("dated"), node_group("applied"))
    found = decide(cluster.world(), policy(*groups), memory, NOW)[1]
    assert found.known_groups == {
        _target("applied"): "applied", _target("dated"): "dated", _target("general"): "general", _target("held"): "held",
        _target("old"): "old",
    }  # fmt: skip
    assert found.foreign_since == {_target("held"): NOW, _target("old"): 7}
    assert (found.leaving, found.left_empty) == ({"general-1": 5}, ("general-1",))
    assert found.unneeded_since == {"general-2": NOW}
    assert found.held_groups == ("held",)
    assert found.departures == {}
    asking = policy(*groups, pace=Pace(require_approval_above=5))
    assert decide(cluster.world(), asking, memory, NOW)[1].departures == memory.departures


def test_without_groups_nothing_is_forgotten() -> None:
    """A policy without any is not taken at its word."""
    memory = Memory(known_groups={_target("old"): "old"})
    assert decide(ClusterBuilder().world(), policy(), memory, NOW)[1].known_groups == memory.known_groups


@pytest.mark.parametrize(("empty", "left"), [(True, ("general-1",)), (False, ())])
def test_empty_nodes_that_leave_are_told_from_others(empty: bool, left: tuple[str, ...]) -> None:
    """By the plan that lets them go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("base", 1, cpu="3", on="general-2", traits={"safe_to_evict": "false"})
    if not empty:
        cluster.pods("web", 1, cpu="1", on="general-1")
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=0)), budgets=(Budget(nodes=9),))
    plan, memory = decide(cluster.world(), rules, Memory(), NOW)
    assert [action.nodes for action in plan.actions] == [("general-1",)]
    assert memory.left_empty == left


def test_targets_are_told_apart_by_kind_and_place() -> None:
    """As they are named in what is stored."""
    assert str(TargetRef(kind="MachineSet", namespace="a", name="b")) == "MachineSet a/b"
