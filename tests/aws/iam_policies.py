"""The IAM policies that the product needs, with nothing beyond its calls.

SOURCE: Service Authorization Reference of Amazon EC2 Auto Scaling: Describe actions know no resources; the writes do, with
the tags of the group as condition. The tags that may be set are ours alone, so that the discovery tag cannot be given to
another group. What `LaunchInstances` needs beside itself is in the user guide of Amazon EC2 Auto Scaling, "Launching
instances with synchronous provisioning".
"""

from typing import Any

from reconciler.platforms.aws.writing.marks import OUR_TAGS

READS = (
    "arc-zonal-shift:ListManagedResources",
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeInstanceRefreshes",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribePolicies",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeScheduledActions",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
)
WRITES = (
    "autoscaling:SetDesiredCapacity",
    "autoscaling:SetInstanceProtection",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
)
LAUNCHES = ("autoscaling:LaunchInstances",)
LAUNCHES_ON_EC2 = ("ec2:CreateFleet", "ec2:DescribeLaunchTemplateVersions")
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


def launch_policy(tag_key: str, tag_value: str) -> dict[str, Any]:
    """What is needed beside mode Enforce where groups are grown by `LaunchInstances`. A document of its own, since
    `ec2:CreateFleet` launches any instance, in any group or none: give it where a group asks for it, and nowhere else."""
    owned = {"StringEquals": {f"aws:ResourceTag/{tag_key}": tag_value}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "Launch", "Effect": "Allow", "Action": list(LAUNCHES), "Resource": _GROUPS, "Condition": owned},
            {"Sid": "LaunchNeeds", "Effect": "Allow", "Action": list(LAUNCHES_ON_EC2), "Resource": "*"},
        ],
    }
