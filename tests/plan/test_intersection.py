"""What a saved plan and the decision of now have in common, and by what name the rest is refused."""

import msgspec
import pytest

from reconciler.plan.plan import (
    Action,
    ActionKind,
    Blocker,
    Bound,
    GroupLine,
    NodeLine,
    NodeState,
    Ownership,
    OwnerState,
    Plan,
)
from reconciler.plan.reason import Reason
from reconciler.plan.saved_intersection import Intersection, intersection

POLICY = "sha256:" + "a" * 64
OTHER_POLICY = "sha256:" + "b" * 64
TARGET = "MachineDeployment prod/general"
BOUND = Bound(resource_version="7", replicas=4, owner_digest="sha256:ours", policy_digest=POLICY)
WHY = Reason("PendingPods", "9 pending pods")
OURS = Ownership(state=OwnerState.OURS)
HELD = Ownership(state=OwnerState.HELD, by="argocd-controller", evidence=("tracked by argocd:prod",))
LINE = GroupLine(name="general", target=TARGET, tier="", current=4, desired=7, min=1, max=10, owner=OURS)
UP = Action(kind=ActionKind.RESIZE, group="general", target=TARGET, from_=4, to=7, bound=BOUND, reason=WHY)


def removal(node: str, from_: int) -> Action:
    return msgspec.structs.replace(UP, kind=ActionKind.REMOVE_NODE, from_=from_, to=from_ - 1, nodes=(node,))


def plan(*actions: Action, line: GroupLine | None = LINE, nodes: tuple[NodeLine, ...] = ()) -> Plan:
    return Plan(now="x", mode="Enforce", summary="", groups=(line,) if line else (), actions=actions, nodes=nodes)


def moved(action: Action, **fields: object) -> Action:
    """The same action judged on something else."""
    return msgspec.structs.replace(action, bound=msgspec.structs.replace(action.bound, **fields))


def line(**fields: object) -> GroupLine:
    return msgspec.structs.replace(LINE, **fields)


def codes(found: Intersection) -> list[list[str]]:
    return [[reason.code for reason in refusal.reasons] for refusal in found.refusals]


def both(saved: Plan, fresh: Plan, policy: str = POLICY) -> Intersection:
    return intersection(saved, fresh, policy_digest=policy)


def test_what_both_do_is_done_under_the_bound_of_now():
    """The resourceVersion of now is what the write carries: one that moved by a status is no reason to refuse."""
    found = both(plan(UP), plan(moved(UP, resource_version="9")))
    assert [(action.to, action.bound.resource_version) for action in found.actions] == [(7, "9")]
    assert found.refusals == ()


@pytest.mark.parametrize(("planned", "now", "done"), [(7, 6, 6), (7, 9, 7), (7, 7, 7)])
def test_an_up_by_the_smaller_count(planned: int, now: int, done: int):
    """4 -> 7 planned; less demand now does less, more demand does no more."""
    saved, fresh = (msgspec.structs.replace(UP, to=to) for to in (planned, now))
    assert [action.to for action in both(plan(saved), plan(fresh)).actions] == [done]


def test_what_only_now_asks_for_is_not_done():
    """An action that nobody reviewed."""
    found = both(plan(), plan(UP))
    assert (found.actions, found.refusals) == ((), ())


@pytest.mark.parametrize(
    ("fresh", "policy", "code", "words"),
    [
        (plan(moved(UP, policy_digest=OTHER_POLICY)), OTHER_POLICY, "PolicyMoved", "sha256:aaaaaaaaaaaa then"),
        (plan(moved(UP, owner_digest="sha256:x"), line=line(owner=HELD)), POLICY, "OwnerMoved", "Held by argocd-controller ("),
        (plan(line=line(owner=HELD)), POLICY, "OwnerMoved", "Ours then, Held by argocd-controller"),
        (plan(UP, line=line(max=6)), POLICY, "BoundsMoved", "were 1..10 when the plan was made and are 1..6 now"),
        (plan(UP, line=line(min=2)), POLICY, "BoundsMoved", "are 2..10 now"),
        (plan(moved(UP, replicas=5), line=line(current=5)), POLICY, "ReplicasMoved", "had 4 replicas"),
        (plan(line=None), POLICY, "GroupGone", "general no longer sizes MachineDeployment prod/general"),
        (plan(UP, line=line(target="MachineDeployment prod/other")), POLICY, "GroupGone", "no longer sizes"),
        (plan(), POLICY, "NotDecidedNow", "demand needs no more nodes of general"),
        (plan(msgspec.structs.replace(UP, to=3)), POLICY, "NotDecidedNow", "it resizes in the other direction"),
    ],
)  # fmt: skip
def test_refused_by_the_name_of_what_moved(fresh: Plan, policy: str, code: str, words: str):
    """One input moved, and only that one is named."""
    found = both(plan(UP), fresh, policy)
    assert found.actions == ()
    assert codes(found) == [[code]]
    assert words in found.refusals[0].reasons[0].message


def test_everything_that_moved_is_named():
    """Policy, bounds and replicas at once."""
    fresh = plan(moved(UP, policy_digest=OTHER_POLICY, replicas=5), line=line(current=5, max=6))
    assert codes(both(plan(UP), fresh, OTHER_POLICY)) == [["PolicyMoved", "BoundsMoved", "ReplicasMoved"]]


def test_owner_is_known_from_another_action_of_the_target():
    """A removal that is not decided any more, while the target is adopted now: the owner has moved."""
    adopt = moved(msgspec.structs.replace(UP, kind=ActionKind.ADOPT, to=4), owner_digest="sha256:new")
    assert codes(both(plan(removal("n1", 4)), plan(adopt))) == [["OwnerMoved"]]


def test_an_action_without_its_group_is_not_trusted():
    """A plan that was made by hand: no group line to compare the owner with."""
    assert codes(both(plan(UP, line=None), plan())) == [["OwnerMoved"]]


def test_removals_are_counted_down_anew():
    """Of n1, n2, n3 the second stays: 4 -> 3, then 3 -> 2, and the refusal says what keeps it."""
    saved = plan(removal("n1", 4), removal("n2", 3), removal("n3", 2))
    keeps = NodeLine(
        node="n2", group="general", state=NodeState.IN_USE, utilization_permille=900, removable=False,
        blockers=(Blocker(code="NotUnderutilized", message="utilization 90% is above the threshold 50%"),),
    )  # fmt: skip
    found = both(saved, plan(removal("n1", 4), removal("n3", 3), nodes=(keeps,)))
    assert [(action.nodes, action.from_, action.to) for action in found.actions] == [(("n1",), 4, 3), (("n3",), 3, 2)]
    assert found.refusals[0].reasons[0].message.endswith("node n2 stays, because utilization 90% is above the threshold 50%")


def test_a_node_that_is_gone():
    """Nothing is left to remove."""
    assert both(plan(removal("n1", 4)), plan()).refusals[0].reasons[0].message.endswith("node n1 no longer exists")


def test_a_release():
    """Of a group that is in no policy any more only the policy can move."""
    gone = msgspec.structs.replace(UP, kind=ActionKind.RELEASE, to=4)
    assert [action.kind for action in both(plan(gone, line=None), plan(gone, line=None)).actions] == [ActionKind.RELEASE]
    assert codes(both(plan(gone, line=None), plan(line=None), OTHER_POLICY)) == [["PolicyMoved"]]


def test_a_replacement_is_done_in_all_its_parts_or_not_at_all():
    """Nodes of two groups replace n1 and n2. Somebody took over the second group. A replacement of other nodes goes on."""
    part = msgspec.structs.replace(UP, kind=ActionKind.REPLACE, nodes=("n1", "n2"))
    taken = msgspec.structs.replace(part, group="spot", target="MachineDeployment prod/spot")
    other = msgspec.structs.replace(part, nodes=("n3",))
    spot = line(name="spot", target=taken.target)
    groups = (LINE, spot)
    saved = msgspec.structs.replace(plan(part, taken, other), groups=groups)
    assert both(saved, saved) == Intersection(actions=(part, taken, other))
    fresh = msgspec.structs.replace(plan(part, moved(taken, owner_digest="sha256:x"), other), groups=groups)
    found = both(saved, fresh)
    assert (found.actions, codes(found)) == ((other,), [["OwnerMoved"], ["PartRefused"]])
    assert found.refusals[1].reasons[0].message == "it is one part of a replacement, and the part of spot is refused"
