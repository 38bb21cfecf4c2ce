"""Comparison of two plans."""

import msgspec

from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import (
    Action,
    ActionKind,
    Bound,
    GroupLine,
    NodeLine,
    NodeState,
    Ownership,
    OwnerState,
    Plan,
    PodLine,
    PodOutcome,
)
from reconciler.plan.reason import Reason

OURS = Ownership(state=OwnerState.OURS)


def group(name: str, desired: int, *reasons: Reason) -> GroupLine:
    return GroupLine(name=name, target=name, tier="", current=2, desired=desired, min=0, max=9, owner=OURS, reasons=reasons)


def resize(name: str, to: int, revision: str = "1", words: str = "pods wait") -> Action:
    bound = Bound(resource_version=revision, replicas=2, owner_digest="", policy_digest=revision)
    return Action(
        kind=ActionKind.RESIZE, group=name, target=name, from_=2, to=to, bound=bound, reason=Reason("PendingPods", words)
    )


def plan(**changes: object) -> Plan:
    return msgspec.structs.replace(Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="s"), **changes)


def test_equal_plans_have_an_empty_comparison():
    """The same plan at another time and under another policy digest differs in nothing."""
    before = plan(groups=(group("a", 3),), actions=(resize("a", 3, "1"),))
    after = plan(groups=(group("a", 3),), actions=(resize("a", 3, "2"),), now="2026-11-22T00:00:00Z", digest="sha256:x")
    assert compare_plans(before, after).empty


def test_groups_changed_added_removed():
    """Groups pair by name: changed and new ones in the order of the later plan, then those that are gone."""
    before = plan(groups=(group("a", 2), group("b", 2), group("same", 2)))
    after = plan(groups=(group("a", 5), group("c", 2), group("same", 2)))
    found = [(pair.before and pair.before.desired, pair.after and pair.after.desired, pair.either.name)
             for pair in compare_plans(before, after).groups]  # fmt: skip
    assert found == [(2, 5, "a"), (None, 2, "c"), (2, None, "b")]


def test_words_of_a_reason_are_no_difference_but_its_code_is():
    """A moved line number in a reason is noise; another reason is not."""
    one, other = Reason("NoMaxSize", "at a.yaml:3:5"), Reason("NoMaxSize", "at a.yaml:4:5")
    backed_off = Reason("BackedOff", "until noon")
    assert compare_plans(plan(groups=(group("a", 2, one),)), plan(groups=(group("a", 2, other),))).empty
    assert not compare_plans(plan(groups=(group("a", 2, one),)), plan(groups=(group("a", 2, backed_off),))).empty


def test_actions_pair_by_what_they_do_it_to():
    """Another target size of the same group is one changed action, not two."""
    (pair,) = compare_plans(plan(actions=(resize("a", 3),)), plan(actions=(resize("a", 4),))).actions
    assert pair.before is not None
    assert pair.after is not None
    assert (pair.before.to, pair.after.to) == (3, 4)


def test_pods_and_nodes_that_change_their_outcome():
    """A pod that finds a place and a node that becomes removable are told; others are not."""
    here = NodeLine(node="n1", group="a", state=NodeState.IN_USE, utilization_permille=100, removable=False)
    stuck, placed = PodLine(pod="a/p", outcome=PodOutcome.UNPLACEABLE), PodLine(pod="a/p", outcome=PodOutcome.TRIGGERS_SCALE_UP)
    same = PodLine(pod="a/q", outcome=PodOutcome.DELAYED)
    found = compare_plans(
        plan(pods=(stuck, same), nodes=(here,)), plan(pods=(placed, same), nodes=(msgspec.structs.replace(here, removable=True),))
    )
    assert [pair.either.pod for pair in found.pods] == ["a/p"]
    assert [pair.either.removable for pair in found.nodes] == [True]
