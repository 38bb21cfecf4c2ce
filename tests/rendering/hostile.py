"""A plan and pictures in which every text that comes from others is the given one."""

import msgspec

from reconciler.plan.picture import Picture, PictureNode, PicturePod, Pictures
from reconciler.plan.plan import (
    Action,
    ActionKind,
    Bound,
    Cost,
    GroupLine,
    NodeLine,
    NodeState,
    Ownership,
    OwnerState,
    Plan,
    PlanProblem,
    PodLine,
    PodOutcome,
)
from reconciler.plan.reason import Blocker, Reason


def hostile_plan(text: str) -> Plan:
    """One group that grows, one that is held; pods, nodes and problems."""
    reason = Reason("Code", text, {"x": text})
    bound = Bound(resource_version=text, replicas=1, owner_digest=text, policy_digest=text)
    group = GroupLine(
        name=text, target=text, tier=text, current=1, desired=2, settled=3, min=0, max=9, price_per_hour="1.5", reasons=(reason,),
        owner=Ownership(state=OwnerState.ADOPTABLE, by=text, evidence=(text,)),
    )  # fmt: skip
    held = msgspec.structs.replace(
        group, name=f"{text}2", desired=1, held=True, wanted=4, owner=Ownership(state=OwnerState.HELD, by=text, evidence=(text,))
    )
    grow = Action(kind=ActionKind.RESIZE, group=text, target=text, from_=1, to=2, bound=bound, reason=reason)
    go = Action(kind=ActionKind.REMOVE_NODE, group=text, target=text, from_=2, to=1, nodes=(text,), bound=bound, reason=reason)
    node = NodeLine(
        node=text, group=text, state=NodeState.EMPTY, utilization_permille=1, removable=True,
        blockers=(Blocker(code=text, pod=text, message=text),), removable_at=text, unneeded_since=text,
    )  # fmt: skip
    return Plan(
        digest=text, now=text, cluster=text, policy=text, mode=text, policy_revision=text, summary=text,
        groups=(group, held), actions=(grow, go),
        pods=(
            PodLine(pod=text, outcome=PodOutcome.UNPLACEABLE, reasons=(reason,)),
            PodLine(pod=f"{text}/x", outcome=PodOutcome.TRIGGERS_SCALE_UP, group=text, node=text),
        ),
        nodes=(node,), cost=Cost(current_per_hour="1", desired_per_hour="2", currency=text, unpriced_groups=(text,)),
        settled_loops=2, not_captured=(text,), problems=(PlanProblem(code=text, object=text, message=text),),
    )  # fmt: skip


def hostile_pictures(text: str) -> Pictures:
    """One node with one pod, and another that joins."""
    node = PictureNode(node=text, group=text, resource=text, used_permille=500, pods=(PicturePod(text, 500),))
    return Pictures(
        now=Picture(nodes=(node,), waiting=1), rest=Picture(nodes=(node, msgspec.structs.replace(node, node=f"{text}-2")))
    )
