"""What this program writes on groups: tags with the policy that writes, its revision, and the last write.

Tags have no precondition: if two writers set one at once, the last one wins, unseen. The mark of the last write has the value and
the time, so a desired capacity that somebody else set can be distinguished from ours.
"""

from collections.abc import Mapping

from reconciler.cluster.target import TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.platforms.aws.facts.ownership import SHIELD, WRITTEN
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.providers.answer import CloudError

OUR_TAGS = (*OUR_MARKS, WRITTEN, SHIELD)
LONGEST = 256
"""The longest value of a tag, in characters."""


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
    """The mark of a write: the value and the service's time."""
    return f"{desired}.{date_seconds}"


def _tag(name: str, key: str, text: str) -> dict[str, object]:
    place = {"ResourceId": name, "ResourceType": "auto-scaling-group"}
    return {**place, "Key": key, "Value": text[:LONGEST], "PropagateAtLaunch": False}


# Holds on Auto Scaling groups: a tag with the name and the format of the annotation on Kubernetes objects.


def set_hold(aws: Aws, target: TargetRef, text: str) -> str:
    """Write the tag (an empty `text` removes it). Returns the previous text. Desired capacity stays as it is.

    Raises `CloudError`, also for a text that is too long for AWS: the end of a hold is at the end of the text."""
    if len(text) > LONGEST:
        raise CloudError(
            f"{target}: a tag may have {LONGEST} characters, and this reason with the end of the hold has {len(text)}"
        )
    action = "DescribeAutoScalingGroups"
    try:
        answer = aws.call(AUTO_SCALING, action, AutoScalingGroupNames=[target.name])
        groups = answer.body.get("AutoScalingGroups")
        if not groups:
            raise CloudError(f"{target} does not exist")
        before = next((str(tag.get("Value", "")) for tag in groups[0].get("Tags") or () if tag["Key"] == HOLD), "")
        action = "CreateOrUpdateTags" if text else "DeleteTags"
        if text and before != text:
            set_tags(aws, target.name, {HOLD: text})
        elif before and not text:
            delete_tags(aws, target.name, (HOLD,))
    except AwsError as error:
        raise CloudError(f"{target}: {error}{_way_out(action) if error.denied else ''}") from None
    return before


def _way_out(action: str) -> str:
    return f". A hold is written with your own permissions. Allow autoscaling:{action}, or hold it in the policy (spec.hold)"
