"""Writes that the platform denies: how long each waits, what ends it, and what it stops."""

import pytest

from reconciler.cluster.target import FieldOwner
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import BackoffState, Memory, Outcome
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, of_kind

TARGET = str(machine_deployment("general"))
GROWTH, REMOVAL = f"growth {TARGET}", f"removal {TARGET}"


def _outcome(kind: ActionKind, code: str = "Denied", at: int = NOW, *nodes: str) -> Outcome:
    return Outcome(
        kind=kind.value, group="general", target=TARGET, to=2, nodes=nodes, done=not code, code=code, message="no right",
        at_seconds=at,
    )  # fmt: skip


def _denied(*kinds: ActionKind) -> Memory:
    return settle(Memory(), tuple(_outcome(kind) for kind in kinds))


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (ActionKind.RESIZE, GROWTH), (ActionKind.REPLACE, GROWTH), (ActionKind.REMOVE_NODE, REMOVAL),
        (ActionKind.CANCEL, REMOVAL), (ActionKind.ADOPT, GROWTH),
    ],
)  # fmt: skip
def test_a_denial_is_no_failure(kind: ActionKind, key: str) -> None:
    """It is remembered by itself: no back-off of the group, and no cool-down of the cluster."""
    memory = _denied(kind)
    assert dict(memory.denials) == {key: BackoffState(failures=1, failed_seconds=NOW, until_seconds=NOW + 30, reason="no right")}
    assert (memory.backoffs, memory.last_failed_seconds) == ({}, 0)


def test_each_further_denial_waits_twice_as_long_up_to_five_minutes() -> None:
    """From the first one's half a minute on; several in one wait are one."""
    memory, now, waits = Memory(), NOW, []
    for _ in range(6):
        memory = settle(memory, (_outcome(ActionKind.RESIZE, at=now), _outcome(ActionKind.RESIZE, at=now + 1)))
        waits.append(memory.denials[GROWTH].until_seconds - now)
        now = memory.denials[GROWTH].until_seconds
    assert waits == [30, 60, 120, 240, 300, 300]


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        (_outcome(ActionKind.RESIZE, ""), {REMOVAL}),
        (_outcome(ActionKind.REMOVE_NODE, ""), {GROWTH}),
        (_outcome(ActionKind.REMOVE_NODE, "", NOW, "general-1"), {GROWTH, REMOVAL}),
        (_outcome(ActionKind.CANCEL, ""), {GROWTH}),
        (_outcome(ActionKind.RESIZE, "Refused"), {GROWTH, REMOVAL}),
        (_outcome(ActionKind.RELEASE, ""), {GROWTH, REMOVAL}),
    ],
    ids=["growth", "a removal", "a removal that begins", "a cancellation", "a refusal", "a release"],
)
def test_what_is_done_ends_denials_of_its_kind(outcome: Outcome, left: set[str]) -> None:
    """A node that is only marked says nothing of the right to end its machine."""
    memory = settle(_denied(ActionKind.RESIZE, ActionKind.REMOVE_NODE), (outcome,))
    assert memory.denials.keys() == left


@pytest.mark.parametrize(("later", "known"), [(1799, True), (1800, False)])
def test_what_nobody_asks_for_any_more_is_forgotten(later: int, known: bool) -> None:
    """After half an hour, and at once where the target is gone."""
    cluster = ClusterBuilder(now=NOW + later)
    cluster.group("general", nodes=0)
    rules = policy(node_group("general"))
    memory = _denied(ActionKind.RESIZE)
    assert bool(decide(cluster.world(), rules, memory, NOW + later)[1].denials) is known
    assert not decide(ClusterBuilder().world(), rules, memory, NOW + 1)[1].denials


def test_denied_growth_goes_elsewhere_and_is_tried_again() -> None:
    """While it waits the pods say why; at its end the group is asked again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("waiting", 1, cpu="4")
    rules = policy(node_group("general"))
    memory = _denied(ActionKind.RESIZE)
    early, _ = decide(cluster.world(), rules, memory, NOW + 29)
    assert (early.actions, codes(early.pods[0])) == ((), ["GroupsExhausted", "WriteDenied"])
    due, _ = decide(cluster.world(), rules, memory, NOW + 30)
    assert [action.to for action in of_kind(due, ActionKind.RESIZE)] == [1]
    assert "WriteDenied" in codes(due.groups[0])


def test_a_denied_adoption_waits_and_so_does_growth() -> None:
    """Both write the size."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=(FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 9999),))
    cluster.pods("waiting", 2, cpu="4")
    rules, memory = policy(node_group("general"), adopt_from=("kubectl",)), _denied(ActionKind.ADOPT)
    early, _ = decide(cluster.world(), rules, memory, NOW + 29)
    due, _ = decide(cluster.world(), rules, memory, NOW + 30)
    assert (early.actions, [action.kind for action in due.actions]) == ((), [ActionKind.ADOPT, ActionKind.RESIZE])


def test_denied_removals_wait_and_say_why() -> None:
    """The idle node stays for the wait, and growth goes on."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    rules = policy(node_group("general"), budgets=(Budget(nodes=9),))
    memory = settle(Memory(unneeded_since={"general-1": NOW - 7200}), (_outcome(ActionKind.REMOVE_NODE),))
    early, _ = decide(cluster.world(), rules, memory, NOW + 29)
    assert (early.actions, blocker_codes(early, "general-1")) == ((), ["WriteDenied"])
    due, _ = decide(cluster.world(), rules, memory, NOW + 30)
    assert [action.nodes for action in of_kind(due, ActionKind.REMOVE_NODE)] == [("general-1",)]
    cluster.pods("waiting", 2, cpu="4")
    grown, _ = decide(cluster.world(), rules, memory, NOW + 1)
    assert [action.to for action in of_kind(grown, ActionKind.RESIZE)] == [2]


def test_requests_that_failed_are_not_taken_back_while_that_is_denied() -> None:
    """At the end of the wait they are."""
    cluster = ClusterBuilder()
    target = cluster.target("general", 1)
    cluster.machine("broken", target, failed="no image")
    rules = policy(node_group("general"))
    memory = _denied(ActionKind.CANCEL)
    assert not of_kind(decide(cluster.world(), rules, memory, NOW + 29)[0], ActionKind.CANCEL)
    assert of_kind(decide(cluster.world(), rules, memory, NOW + 30)[0], ActionKind.CANCEL)


@pytest.mark.parametrize(
    ("kind", "told"),
    [("AutoScalingGroup", "CloudTrail"), ("NodePool", "audit log of the Crusoe"), ("MachineDeployment", "managedFields")],
)
def test_the_end_of_a_hold_is_said_in_the_words_of_the_platform(kind: str, told: str) -> None:
    """Where the second writer is found differs."""
    from reconciler.decisions.platform_rules import rules_of

    rules = rules_of(kind)
    assert rules is not None
    assert told in rules.writer_evidence
