"""OpenShift's kind of target, the API groups that identify it, and names of its marks. Cluster API has MachineSets as well."""

GROUP = "machine.openshift.io"
AUTOSCALING_GROUP = "autoscaling.openshift.io"
MACHINE_SET = f"MachineSet.{GROUP}"
MACHINE = f"Machine.{GROUP}"
MACHINE_AUTOSCALER = "MachineAutoscaler"
# Its controllers read both spellings; the Cluster Autoscaler writes both.
DELETE_MARKS = (f"{GROUP}/delete-machine", f"{GROUP}/cluster-api-delete-machine")
TWIN = "its twin in Cluster API"
