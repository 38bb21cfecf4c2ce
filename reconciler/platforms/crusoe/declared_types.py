"""Resources of infrastructure tools that declare the size of a node pool of Crusoe Managed Kubernetes.

SOURCE: the schema of Crusoe's Terraform provider.
"""

from reconciler.policy.platform.declarations import DeclaredType, PlatformDeclarations

DECLARATIONS = PlatformDeclarations(
    provider="crusoe",
    types=(DeclaredType(tool="Terraform", type="crusoe_kubernetes_node_pool", size=("instance_count",)),),
)
