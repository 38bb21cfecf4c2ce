"""What policies say about Cluster API objects."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.platform.policy_keys import Elsewhere, PolicyKeys

_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
_OPTION = "cluster.x-k8s.io/autoscaling-options-"

KEYS = PolicyKeys(
    target=Field(
        yaml_key="clusterAPI",
        kind=Kind.OBJECT,
        description="A Cluster API object.",
        constants=(("provider", "clusterAPI"),),
        children=(
            Field(
                yaml_key="kind",
                kind=Kind.ENUM,
                description="The kind of the object.",
                enum=("MachineDeployment", "MachineSet", "MachinePool"),
                examples=("MachineDeployment",),
                required=True,
                attribute="kind",
            ),
            text_field("namespace", Kind.OBJECT_NAME, "Its namespace in the management cluster.", "prod", "namespace"),
            text_field("name", Kind.OBJECT_NAME, "Its name.", "general-a", "name"),
        ),
    ),
    discovery=Field(
        yaml_key="clusterAPI",
        kind=Kind.OBJECT,
        description="Cluster API objects that have both size annotations. {} takes all of them.",
        cluster_autoscaler="--node-group-auto-discovery=clusterapi:namespace=…,clusterName=…",
        constants=(("provider", "clusterAPI"),),
        children=(
            Field(
                yaml_key="namespaces",
                kind=Kind.LIST,
                description="In one of these namespaces. Without it, in any.",
                examples=(("prod",),),
                unique=True,
                attribute="namespaces",
                item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("prod",)),
            ),
            text_field("clusterName", Kind.OBJECT_NAME, "Of this Cluster.", "prod", "cluster_name", required=False),
            text_field("labels", Kind.LABEL_MAP, "With these labels.", "team: ml", "labels", required=False),
        ),
    ),
    default_discovery="cluster-api",
    never_adopted=dict.fromkeys(
        ("capi-topology", "topology", "topology controller"),
        "declare both size annotations in the Cluster instead of replicas: `reconciler plan` prints the block",
    ),
    controllers={
        "capi-machinedeployment": "a MachineDeployment writes the replicas of its MachineSets: size the MachineDeployment",
    },
    elsewhere=Elsewhere(
        column="CAPI",
        meaning="annotations on Cluster API objects",
        names={
            "size.min": _SIZE + "min-size",
            "size.max": _SIZE + "max-size",
            "template.capacity": _CAPACITY + "{cpu,memory,ephemeral-disk,maxPods,gpu-type,gpu-count,csi-driver}",
            "template.devices": _CAPACITY + "{dra-driver,gpu-count}",
            "template.labels": _CAPACITY + "labels",
            "template.taints": _CAPACITY + "taints",
            "scaleDown.utilizationThresholdPercent": _OPTION + "scaledownutilizationthreshold",
            "scaleDown.gpuUtilizationThresholdPercent": _OPTION + "scaledowngpuutilizationthreshold",
            "scaleDown.unneededTime": _OPTION + "scaledownunneededtime",
            "scaleDown.unreadyTime": _OPTION + "scaledownunreadytime",
            "scaleUp.maxNodeProvisionTime": _OPTION + "maxnodeprovisiontime",
            "scaleUp.maxNodeStartupTime": _OPTION + "maxnodestartuptime",
        },
    ),
)
