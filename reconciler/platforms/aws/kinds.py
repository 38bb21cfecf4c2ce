"""The kind of target on AWS."""

AUTO_SCALING_GROUP = "AutoScalingGroup"
