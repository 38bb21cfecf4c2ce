"""What AWS has announced for an instance, as its node shows it, and why AWS terminates an instance.

AWS sends a notice to the instance itself. A watcher on the node turns the notice into a taint. SOURCE: the four keys of aws-
node-termination-handler (EKS drains its own node groups on the same notices). The causes are in the words of the Auto Scaling
activity history.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node, Taint
from reconciler.cluster.target import Caution
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_beside import ScalingActivity

_HANDLER = "aws-node-termination-handler/"
_LEAVING = ("Terminating", "Terminated")
_TERMINATING = "Terminating EC2 instance: "
# SOURCE: Amazon EC2 Auto Scaling, instance lifecycle policy: a person must end it, and desired capacity does not count it.
RETAINED = "Terminating:Retained"
_OURS = "user request"
_BY_TAINT = {
    f"{_HANDLER}spot-itn": ("SpotInterruption", "AWS takes it back within two minutes", True),
    f"{_HANDLER}asg-lifecycle-termination": ("InstanceLeaves", "Auto Scaling ends it when its lifecycle hook is done", True),
    f"{_HANDLER}rebalance-recommendation": ("RebalanceRecommendation", "AWS is more likely to take it back than others", False),
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
    True: "nothing: the loop places its pods elsewhere and waits for its successor",
    False: "nothing, if another tool drains the node in time. The loop does not shrink the group for it",
}


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """`code` and `words` state what was announced. `ends`: AWS is certain to end the instance soon."""

    code: str
    words: str
    ends: bool


def notices(taints: Mapping[str, tuple[Taint, ...]], nodes: tuple[Node, ...]) -> dict[str, Notice]:
    """Notices by instance id, the most certain one first. `taints` has the taints of each node by name."""
    by_instance: dict[str, Notice] = {}
    for node in nodes:
        keys = {taint.key for taint in taints.get(node.name, ())}
        for key, (code, words, ends) in _BY_TAINT.items():
            if key in keys:
                by_instance.setdefault(node.provider_id.rpartition("/")[2], Notice(code=code, words=words, ends=ends))
    return by_instance


def going(item: AutoScalingGroup, noticed: Mapping[str, Notice], activities: tuple[ScalingActivity, ...]) -> Iterator[Caution]:
    """What AWS has announced for instances of the group, and which instances AWS ends without our request."""
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
                message=f"{name} is {RETAINED}: its lifecycle hook was abandoned. It still runs, but the group no longer "
                "counts it",
                advice="find out why it was kept, then end it yourself: nothing else does",
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
    """A short cause. An unknown cause stays in AWS's own words."""
    return next((words for fragment, words in _CAUSES if fragment in text), text)
