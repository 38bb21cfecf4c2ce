"""Holds on Auto Scaling groups: a tag with the name and the format of the annotation on Kubernetes objects."""

from reconciler.cluster.target import TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.marks import LONGEST, delete_tags, set_tags
from reconciler.providers.cloud_answers import CloudError


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
