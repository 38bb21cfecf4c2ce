"""What AWS has announced for an instance, as its node says it, and why one that is going does go.

AWS tells a notice to the instance itself; whoever watches for it there puts a taint on the node. SOURCE: the four keys of
aws-node-termination-handler (EKS drains its own node groups on the same notices); causes as the activity history of Auto
Scaling words them.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, Taint
from reconciler.cluster.target import Caution
from reconciler.platforms.aws.facts.aws_beside import ScalingActivity
from reconciler.platforms.aws.facts.wire import AutoScalingGroup

_HANDLER = "aws-node-termination-handler/"
_LEAVING = ("Terminating", "Terminated")
_TERMINATING = "Terminating EC2 instance: "
# SOURCE: Amazon EC2 Auto Scaling, instance lifecycle policy: kept until a person ends it, and no part of desired capacity.
RETAINED = "Terminating:Retained"
_OURS = "user request"
_BY_TAINT = {
    f"{_HANDLER}spot-itn": ("SpotInterruption", "AWS takes it back within two minutes", True),
    f"{_HANDLER}asg-lifecycle-termination": ("InstanceLeaves", "Auto Scaling ends it when its lifecycle hook is done", True),
    f"{_HANDLER}rebalance-recommendation": ("RebalanceRecommendation", "it is more likely than others to be taken back", False),
    f"{_HANDLER}scheduled-maintenance": ("ScheduledMaintenance", "AWS will maintain or retire its host", False),
}
NOTICE_TAINTS = tuple(_BY_TAINT)
_CAUSES = (
    ("rebalance recommendation", "capacity rebalancing"),
    ("interruption", "a spot interruption"),
    ("instance refresh", "an instance refresh"),
    ("balance instances in", "AZ rebalancing"),
    ("maximum instance lifetime", "its maximum lifetime"),
    ("health check", "a health check"),
    ("status check", "a health check"),
    ("difference between desired and actual capacity", "a lower desired capacity"),
)
"""Fragments of a cause, the most specific first."""
_ADVICE = {
    True: "nothing: its pods are placed elsewhere, and its successor is waited for",
    False: "nothing, where something drains the node in time; the group is not shrunk for it",
}


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """`code` and `words` say what was announced; `ends`: the instance is certain to go, soon and by AWS."""

    code: str
    words: str
    ends: bool


def notices(taints: Mapping[str, tuple[Taint, ...]], nodes: tuple[Node, ...]) -> dict[str, Notice]:
    """By instance id, the most certain first where there are several. `taints` are those of each node by name."""
    found: dict[str, Notice] = {}
    for node in nodes:
        keys = {taint.key for taint in taints.get(node.name, ())}
        for key, (code, words, ends) in _BY_TAINT.items():
            if key in keys:
                found.setdefault(node.provider_id.rpartition("/")[2], Notice(code=code, words=words, ends=ends))
    return found


def going(item: AutoScalingGroup, noticed: Mapping[str, Notice], activities: tuple[ScalingActivity, ...]) -> Iterator[Caution]:
    """What is announced for instances of the group, and what AWS is ending without our having asked for it."""
    causes = {
        activity.description.removeprefix(_TERMINATING).partition(" ")[0]: activity.cause
        for activity in reversed(activities)
        if activity.description.startswith(_TERMINATING)
    }
    for instance in item.instances or ():
        name, notice = instance.instance_id, noticed.get(instance.instance_id)
        if instance.lifecycle_state == RETAINED:
            yield Caution(
                code="Retained",
                message=f"{name} is {RETAINED}: its lifecycle hook was abandoned, and it runs on beside the group, which "
                "has counted it off",
                advice="look at what it was kept for, then end it yourself: nothing else does",
            )
        elif instance.lifecycle_state.startswith(_LEAVING):
            cause = causes.get(name, "")
            if cause and _OURS not in cause:
                yield Caution(
                    code="TakenByAws", message=f"{name} is {instance.lifecycle_state}: {_cause(cause)}", advice=_ADVICE[True]
                )
        elif notice is not None:
            yield Caution(code=notice.code, message=f"{name}: {notice.words}", advice=_ADVICE[notice.ends])


def _cause(text: str) -> str:
    """In a few words, and in AWS's own where they are of no kind that is known."""
    return next((words for fragment, words in _CAUSES if fragment in text), text)
