"""Holds on Auto Scaling groups: a tag that is called like the annotation of Kubernetes objects and says the same."""

from reconciler.cluster.target import TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.marks import LONGEST, delete_tags, set_tags
from reconciler.providers.cloud_answer import CloudError


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
