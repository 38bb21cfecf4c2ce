"""The kind of target on AWS."""

AUTO_SCALING_GROUP = "AutoScalingGroup"
READ_LAG_SECONDS = 60
"""Twice the longest measured delay between a write and its description. AWS promises nothing."""
