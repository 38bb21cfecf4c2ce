"""`kind: NodeGroup` as fields."""

from reconciler.policy.field import Field, Kind
from reconciler.policy.field_tables.group_fields import GROUP_FIELDS
from reconciler.policy.field_tables.membership import AWS_REGION
from reconciler.policy.field_tables.metadata import document, metadata
from reconciler.policy.field_tables.selector import selector


def _text(
    yaml_key: str, kind: Kind, description: str, example: str, attribute: str, *, required: bool = True, pattern: str = ""
) -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=kind,
        description=description,
        examples=(example,),
        required=required,
        attribute=attribute,
        pattern=pattern,
    )


_TARGET = Field(
    yaml_key="target",
    kind=Kind.OBJECT,
    description="The object whose replicas this group sizes.",
    required=True,
    attribute="target",
    exactly_one_of=("clusterAPI", "aws", "openshift", "crusoe"),
    children=(
        Field(
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
                _text("namespace", Kind.OBJECT_NAME, "Its namespace in the management cluster.", "prod", "namespace"),
                _text("name", Kind.OBJECT_NAME, "Its name.", "general-a", "name"),
            ),
        ),
        Field(
            yaml_key="aws",
            kind=Kind.OBJECT,
            description="An Auto Scaling group.",
            constants=(("provider", "aws"), ("kind", "AutoScalingGroup")),
            children=(
                _text("autoScalingGroup", Kind.STRING, "Its name.", "general-a", "name"),
                _text("region", Kind.STRING, "Its region.", "eu-central-1", "region", pattern=AWS_REGION),
                _text(
                    "roleARN",
                    Kind.STRING,
                    "The role that is assumed for it, where it lives in another account.",
                    "arn:aws:iam::123456789012:role/reconciler",
                    "role_arn",
                    required=False,
                    pattern="arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+",
                ),
            ),
        ),
        Field(
            yaml_key="openshift",
            kind=Kind.OBJECT,
            description="A MachineSet of OpenShift's Machine API.",
            constants=(("provider", "openshift"), ("kind", "MachineSet")),
            children=(
                _text("namespace", Kind.OBJECT_NAME, "Its namespace.", "openshift-machine-api", "namespace"),
                _text("machineSet", Kind.OBJECT_NAME, "Its name.", "worker-a", "name"),
            ),
        ),
        Field(
            yaml_key="crusoe",
            kind=Kind.OBJECT,
            description="A node pool of Crusoe Managed Kubernetes.",
            constants=(("provider", "crusoe"), ("kind", "NodePool")),
            children=(
                _text("nodePool", Kind.STRING, "Its name.", "h100", "name"),
                _text("location", Kind.STRING, "Its location.", "us-east1-a", "region", required=False),
            ),
        ),
    ),
)

NODE_GROUP = document(
    "NodeGroup",
    "A node group: which target it sizes, and how.",
    metadata(namespaced=True),
    Field(
        yaml_key="spec",
        kind=Kind.OBJECT,
        description="What is wanted of the group.",
        required=True,
        children=(
            Field(
                yaml_key="policyRef",
                kind=Kind.OBJECT,
                description="The NodeGroupPolicy that this group belongs to.",
                required=True,
                children=(_text("name", Kind.OBJECT_NAME, "Its name.", "prod", "policy_ref"),),
            ),
            _TARGET,
            selector(
                "nodes",
                "Which nodes belong to the group, only where that cannot be read from the target.",
                attribute="nodes",
            ),
            Field(
                yaml_key="tier",
                kind=Kind.NAME,
                description="The tier of the policy; else the first tier that matches the group.",
                examples=("on-demand",),
                attribute="tier",
            ),
            *GROUP_FIELDS,
        ),
    ),
)
