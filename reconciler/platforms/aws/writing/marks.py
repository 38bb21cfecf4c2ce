"""What this program writes on groups: tags that say which policy writes, by which revision, and what was written last.

Tags have no precondition: of two who write one at once the last wins, unseen. The mark of the last write carries value and
time, so that a desired capacity which somebody else has set can be told from ours.
"""

from collections.abc import Mapping

from reconciler.cluster.target import TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.platforms.aws.facts.ownership import WRITTEN
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.providers.answer import CloudError

SHIELD = "reconciler.dev/shield"
OUR_TAGS = (*OUR_MARKS, WRITTEN, SHIELD)
LONGEST = 256
"""Characters of the value of a tag."""


def set_tags(aws: Aws, name: str, tags: Mapping[str, str]) -> None:
    """On the group alone, not on its instances. Raises `AwsError`."""
    aws.call(AUTO_SCALING, "CreateOrUpdateTags", Tags=[_tag(name, key, text) for key, text in sorted(tags.items())])


def delete_tags(aws: Aws, name: str, keys: tuple[str, ...]) -> None:
    """Raises `AwsError`."""
    aws.call(
        AUTO_SCALING,
        "DeleteTags",
        Tags=[{key: text for key, text in _tag(name, one, "").items() if key != "Value"} for one in keys],
    )


def ours(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Which of our tags are there."""
    return tuple(key for key in OUR_TAGS if key in tags)


def written(desired: int, date_seconds: int) -> str:
    """The mark of a write: value and the service's time."""
    return f"{desired}.{date_seconds}"


def _tag(name: str, key: str, text: str) -> dict[str, object]:
    place = {"ResourceId": name, "ResourceType": "auto-scaling-group"}
    return {**place, "Key": key, "Value": text[:LONGEST], "PropagateAtLaunch": False}


# Holds on Auto Scaling groups: a tag that is called like the annotation of Kubernetes objects and says the same.


def set_hold(aws: Aws, target: TargetRef, text: str) -> str:
    """Write the tag (an empty `text`: take it off); the words that were there. Desired capacity stays as it is. Raises
    `CloudError`, also for words that AWS would not take whole: the end of a hold stands at their end."""
    if len(text) > LONGEST:
        raise CloudError(f"{target}: a tag holds {LONGEST} characters, and these words with the end of the hold are {len(text)}")
    action = "DescribeAutoScalingGroups"
    try:
        answer = aws.call(AUTO_SCALING, action, AutoScalingGroupNames=[target.name])
        found = answer.body.get("AutoScalingGroups")
        if not found:
            raise CloudError(f"{target} is not there")
        before = next((str(tag.get("Value", "")) for tag in found[0].get("Tags") or () if tag["Key"] == HOLD), "")
        action = "CreateOrUpdateTags" if text else "DeleteTags"
        if text and before != text:
            set_tags(aws, target.name, {HOLD: text})
        elif before and not text:
            delete_tags(aws, target.name, (HOLD,))
    except AwsError as error:
        raise CloudError(f"{target}: {error}{_way_out(action) if error.denied else ''}") from None
    return before


def _way_out(action: str) -> str:
    return (
        f"; a hold is written with the rights of whoever calls: allow autoscaling:{action}, or hold it in the policy (spec.hold)"
    )
