"""A first policy says where each range comes from."""

import json

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.rendering.first_policy import first_policy

ARN = "arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:0:autoScalingGroupName/web"
ANSWER = {
    "AutoScalingGroups": [
        {"AutoScalingGroupName": "web", "AutoScalingGroupARN": ARN, "MinSize": 0, "MaxSize": 5, "DesiredCapacity": 1}
    ]
}


def test_the_range_of_an_auto_scaling_group_is_its_own() -> None:
    """Every Auto Scaling group has a MinSize and a MaxSize; its tags need not say anything."""
    groups = first_policy(read_snapshot({"groups.json": json.dumps(ANSWER).encode()}), "prod")["groups.yaml"]
    assert "# AutoScalingGroup eu-central-1/web: 1 replica, nothing is known of its nodes" in groups
    assert "  size: {min: 0, max: 5}  # as its own MinSize and MaxSize say; what stands here wins\n" in groups
