"""What policies say about MachineSets of OpenShift's Machine API."""

from reconciler.policy.field import Field, Kind
from reconciler.policy.platform_keys import PolicyKeys
from reconciler.policy.text_field import text_field

KEYS = PolicyKeys(
    target=Field(
        yaml_key="openshift",
        kind=Kind.OBJECT,
        description="A MachineSet of OpenShift's Machine API.",
        constants=(("provider", "openshift"), ("kind", "MachineSet")),
        children=(
            text_field("namespace", Kind.OBJECT_NAME, "Its namespace.", "openshift-machine-api", "namespace"),
            text_field("machineSet", Kind.OBJECT_NAME, "Its name.", "worker-a", "name"),
        ),
    ),
    unread="MachineSet of OpenShift's Machine API",
)
