"""What policies say about node pools of Crusoe Managed Kubernetes."""

from reconciler.policy.field import Field, Kind
from reconciler.policy.platform_keys import PolicyKeys
from reconciler.policy.text_field import text_field

KEYS = PolicyKeys(
    target=Field(
        yaml_key="crusoe",
        kind=Kind.OBJECT,
        description="A node pool of Crusoe Managed Kubernetes.",
        constants=(("provider", "crusoe"), ("kind", "NodePool")),
        children=(
            text_field("nodePool", Kind.STRING, "Its name.", "h100", "name"),
            text_field("location", Kind.STRING, "Its location.", "us-east1-a", "region", required=False),
        ),
    ),
    unread="node pool of Crusoe",
)
