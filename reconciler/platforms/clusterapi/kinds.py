"""Cluster API's kinds of target, its group, and the ending of the kinds of templates that a target refers to."""

CAPI_GROUP = "cluster.x-k8s.io"
MACHINE_DEPLOYMENT = "MachineDeployment"
MACHINE_SET = "MachineSet"
MACHINE_POOL = "MachinePool"
TEMPLATE = "MachineTemplate"
KINDS = (MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE_POOL)
