"""What policies say about Auto Scaling groups."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.platform.policy_keys import Elsewhere, PolicyKeys, Preset

_NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
_OPTION = _NODE_TEMPLATE + "autoscaling-options/"
AWS_REGION = "[a-z]{2}(-[a-z]+)+-[0-9]+"


def _role(whose: str) -> Field:
    """The role to assume for groups of another account."""
    return text_field(
        "roleARN",
        Kind.STRING,
        f"The role to assume for {whose} in another account.",
        "arn:aws:iam::123456789012:role/reconciler",
        "role_arn",
        required=False,
        pattern="arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+",
    )


KEYS = PolicyKeys(
    target=Field(
        yaml_key="aws",
        kind=Kind.OBJECT,
        description="An Auto Scaling group.",
        constants=(("provider", "aws"), ("kind", "AutoScalingGroup")),
        children=(
            text_field("autoScalingGroup", Kind.STRING, "Its name.", "general-a", "name"),
            text_field("region", Kind.STRING, "Its region.", "eu-central-1", "region", pattern=AWS_REGION),
            _role("the group, if it is"),
        ),
    ),
    discovery=Field(
        yaml_key="aws",
        kind=Kind.OBJECT,
        description="Auto Scaling groups.",
        cluster_autoscaler="--node-group-auto-discovery=asg:tag=…",
        constants=(("provider", "aws"),),
        children=(
            text_field("region", Kind.STRING, "In this region.", "eu-central-1", "region", pattern=AWS_REGION),
            _role("the groups, if they are"),
            Field(
                yaml_key="tags",
                kind=Kind.STRING_MAP,
                description='With these tags. An empty value ("") matches any.',
                examples=("k8s.io/cluster-autoscaler/prod: owned",),
                required=True,
                minimum=1,
                attribute="tags",
            ),
        ),
    ),
    in_cloud=True,
    balancing=Preset(
        name="AWS",
        labels=(
            "alpha.eksctl.io/instance-id",
            "alpha.eksctl.io/nodegroup-name",
            "eks.amazonaws.com/nodegroup",
            "k8s.amazonaws.com/eniConfig",
            "lifecycle",
            "topology.ebs.csi.aws.com/zone",
            "topology.k8s.aws/zone-id",
        ),
        clouds=("aws",),
    ),
    elsewhere=Elsewhere(
        column="ASG",
        meaning="tags and properties of Auto Scaling groups",
        names={
            "size.min": "MinSize",
            "size.max": "MaxSize",
            "template.capacity": _NODE_TEMPLATE + "resources/NAME",
            "template.labels": _NODE_TEMPLATE + "label/KEY",
            "template.taints": _NODE_TEMPLATE + "taint/KEY",
            "scaleDown.utilizationThresholdPercent": _OPTION + "scaledownutilizationthreshold",
            "scaleDown.gpuUtilizationThresholdPercent": _OPTION + "scaledowngpuutilizationthreshold",
            "scaleDown.daemonSetUtilization": _OPTION + "ignoredaemonsetsutilization",
            "scaleDown.unneededTime": _OPTION + "scaledownunneededtime",
            "scaleDown.unreadyTime": _OPTION + "scaledownunreadytime",
        },
    ),
)
