"""What policies say about node pools of Crusoe Managed Kubernetes (experimental)."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.platform.policy_keys import PolicyKeys

KEYS = PolicyKeys(
    target=Field(
        yaml_key="crusoe",
        kind=Kind.OBJECT,
        description="A node pool of Crusoe Managed Kubernetes (experimental: tried only on a server of our own).",
        constants=(("provider", "crusoe"), ("kind", "NodePool")),
        children=(
            text_field("nodePool", Kind.STRING, "Its name.", "h100", "name"),
            text_field("location", Kind.STRING, "The location of its cluster.", "us-east1-a", "region"),
        ),
    ),
    discovery=Field(
        yaml_key="crusoe",
        kind=Kind.OBJECT,
        description="Node pools of the Crusoe cluster that the process's credentials name (experimental).",
        constants=(("provider", "crusoe"),),
        children=(
            text_field("location", Kind.STRING, "In this location.", "us-east1-a", "region"),
            Field(
                yaml_key="nodeLabels",
                kind=Kind.STRING_MAP,
                description='With these labels on their nodes. An empty value ("") matches any.',
                examples=("team: training",),
                attribute="tags",
            ),
        ),
    ),
    in_cloud=True,
    experimental="the calls that size node pools of Crusoe were tried only on a server of our own",
)
