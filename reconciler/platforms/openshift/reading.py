"""What there is to read of OpenShift's Machine API."""

from reconciler.cluster.platform_reading import PlatformReading, WireKind
from reconciler.platforms.openshift.kinds import AUTOSCALING_GROUP, GROUP, MACHINE, MACHINE_AUTOSCALER, MACHINE_SET

READING = PlatformReading(
    name="openshift",
    group=GROUP,
    kinds=(
        WireKind(
            kind="MachineSet",
            name=MACHINE_SET,
            plural="machinesets",
            target=True,
            needed=True,
            verbs=("get", "patch"),
        ),
        WireKind(
            kind="Machine",
            name=MACHINE,
            plural="machines",
            needed=True,
            verbs=("get", "patch", "delete"),
        ),
        WireKind(kind=MACHINE_AUTOSCALER, group=AUTOSCALING_GROUP, plural="machineautoscalers"),
    ),
    annotations=("machineconfiguration.openshift.io/", "autoscaling.openshift.io/"),
    autoscaler_namespaces=("openshift-machine-api",),
    labels=("node.openshift.io/os_id",),
)
