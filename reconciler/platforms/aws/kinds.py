"""The kind of target on AWS."""

AUTO_SCALING_GROUP = "AutoScalingGroup"
READ_LAG_SECONDS = 60
"""Twice what descriptions of groups were seen to lag behind writes; AWS promises nothing."""
