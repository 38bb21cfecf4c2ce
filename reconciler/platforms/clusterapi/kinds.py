"""Cluster API's kinds of target."""

MACHINE_DEPLOYMENT = "MachineDeployment"
MACHINE_SET = "MachineSet"
MACHINE_POOL = "MachinePool"
KINDS = (MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE_POOL)
