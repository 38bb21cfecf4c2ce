"""OpenShift's kind of target, and the API groups that identify it. Cluster API has MachineSets as well."""

GROUP = "machine.openshift.io"
AUTOSCALING_GROUP = "autoscaling.openshift.io"
MACHINE_SET = f"MachineSet.{GROUP}"
MACHINE = f"Machine.{GROUP}"
MACHINE_AUTOSCALER = "MachineAutoscaler"
