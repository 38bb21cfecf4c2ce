"""What policies say about MachineSets of OpenShift's Machine API."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.platform.policy_keys import Elsewhere, PolicyKeys

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
        description="MachineSets that have both size annotations or a MachineAutoscaler. {} takes all of them.",
        constants=(("provider", "openshift"),),
        children=(
            Field(
                yaml_key="namespaces",
                kind=Kind.LIST,
                description="In one of these namespaces. Without it, in any.",
                examples=(("openshift-machine-api",),),
                unique=True,
                attribute="namespaces",
                item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("openshift-machine-api",)),
            ),
            text_field("labels", Kind.LABEL_MAP, "With these labels.", "team: ml", "labels", required=False),
        ),
    ),
    elsewhere=Elsewhere(
        column="OpenShift",
        meaning="fields of ClusterAutoscaler and MachineAutoscaler",
        names={
            "balanceWith": "spec.balanceSimilarNodeGroups",
            "balancing.ignoreLabels": "spec.balancingIgnoredLabels",
            "discovery[].openshift": "MachineAutoscaler, one for each MachineSet",
            "drain.localStorage": "spec.skipNodesWithLocalStorage",
            "expanders": "spec.expanders",
            "limits[].max": "spec.resourceLimits.{maxNodesTotal,cores.max,memory.max,gpus[].max}",
            "limits[].min": "spec.resourceLimits.{cores.min,memory.min,gpus[].min}",
            "pace.delayAfterAdd": "spec.scaleDown.delayAfterAdd",
            "pace.delayAfterDelete": "spec.scaleDown.delayAfterDelete",
            "pace.delayAfterFailure": "spec.scaleDown.delayAfterFailure",
            "pods.expendableBelowPriority": "spec.podPriorityThreshold",
            "pods.newPodDelay": "spec.scaleUp.newPodScaleUpDelay",
            "scaleDown.daemonSetUtilization": "spec.ignoreDaemonsetsUtilization",
            "scaleDown.mode": "spec.scaleDown.enabled",
            "scaleDown.unneededTime": "spec.scaleDown.unneededTime",
            "scaleDown.utilizationThresholdPercent": "spec.scaleDown.utilizationThreshold",
            "scaleUp.maxNodeProvisionTime": "spec.maxNodeProvisionTime",
            "size.max": "MachineAutoscaler spec.maxReplicas",
            "size.min": "MachineAutoscaler spec.minReplicas",
            "template.startupTaints": "spec.startupTaints",
        },
    ),
)
