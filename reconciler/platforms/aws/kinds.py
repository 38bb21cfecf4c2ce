"""The kind of target on AWS, kinds of what belongs to it, and the tags that describe its nodes."""

AUTO_SCALING_GROUP = "AutoScalingGroup"
RESERVATION = "CapacityReservation"
MANAGED_RESOURCE = "ManagedResource"
TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
LABEL, TAINT, RESOURCE = TEMPLATE + "label/", TEMPLATE + "taint/", TEMPLATE + "resources/"
READ_LAG_SECONDS = 60
"""Twice the longest measured delay between a write and its description. AWS promises nothing."""
