"""The IAM policies that this program needs, with nothing beyond its calls.

SOURCE: Service Authorization Reference of Amazon EC2 Auto Scaling: Describe actions know no resources; the writes do, with the
tags of the group as condition. The tags that may be set are ours alone, so that the discovery tag cannot be given to another
group.
"""

from typing import Any

from reconciler.platforms.aws.writing.marks import OUR_TAGS

READS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeInstanceRefreshes",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribePolicies",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeScheduledActions",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
)
WRITES = (
    "autoscaling:SetDesiredCapacity",
    "autoscaling:SetInstanceProtection",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
)
TAGGING = ("autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags")
_GROUPS = "arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*"


def iam_policy(cluster: str, tag_key: str, tag_value: str, *, enforce: bool) -> dict[str, Any]:
    """The policy document: of mode Observe, or of Enforce on groups that carry the tag."""
    owned = {"StringEquals": {f"aws:ResourceTag/{tag_key}": tag_value}}
    statements: list[dict[str, Any]] = [
        {"Sid": "Read", "Effect": "Allow", "Action": list(READS), "Resource": "*"},
        {
            "Sid": "ReadManagedNodeGroups",
            "Effect": "Allow",
            "Action": ["eks:DescribeNodegroup"],
            "Resource": f"arn:aws:eks:*:*:nodegroup/{cluster}/*/*",
        },
    ]
    if enforce:
        statements += [
            {"Sid": "Resize", "Effect": "Allow", "Action": list(WRITES), "Resource": _GROUPS, "Condition": owned},
            {
                "Sid": "Mark",
                "Effect": "Allow",
                "Action": list(TAGGING),
                "Resource": _GROUPS,
                "Condition": {**owned, "ForAllValues:StringEquals": {"aws:TagKeys": list(OUR_TAGS)}},
            },
        ]
    return {"Version": "2012-10-17", "Statement": statements}
