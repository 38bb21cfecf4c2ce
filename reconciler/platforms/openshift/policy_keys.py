"""What policies say about MachineSets of OpenShift's Machine API."""

from reconciler.policy.field import Equivalents, Field, Kind, text_field
from reconciler.policy.platform_parts import PolicyKeys

KEYS = PolicyKeys(
    target=Field(
        yaml_key="openshift",
        kind=Kind.OBJECT,
        description="A MachineSet of OpenShift's Machine API.",
        constants=(("provider", "openshift"), ("kind", "MachineSet.machine.openshift.io")),
        children=(
            text_field("namespace", Kind.OBJECT_NAME, "Its namespace.", "openshift-machine-api", "namespace"),
            text_field("machineSet", Kind.OBJECT_NAME, "Its name.", "worker-a", "name"),
        ),
    ),
    discovery=Field(
        yaml_key="openshift",
        kind=Kind.OBJECT,
        description="MachineSets that carry both size annotations, or have a MachineAutoscaler; {} takes all of them.",
        equivalents=Equivalents(openshift="MachineAutoscaler, one for each MachineSet"),
        constants=(("provider", "openshift"),),
        children=(
            Field(
                yaml_key="namespaces",
                kind=Kind.LIST,
                description="In one of these namespaces; else in any.",
                examples=(("openshift-machine-api",),),
                unique=True,
                attribute="namespaces",
                item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("openshift-machine-api",)),
            ),
            Field(
                yaml_key="labels",
                kind=Kind.LABEL_MAP,
                description="With these labels.",
                examples=("team: ml",),
                attribute="labels",
            ),
        ),
    ),
)
