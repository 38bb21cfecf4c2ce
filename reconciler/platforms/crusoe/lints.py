"""What `doctor` finds in a cluster with node pools of Crusoe."""

from collections.abc import Iterator

from reconciler.decisions.lints.finding import PlatformLints
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.values.plural import count_text

AUTOSCALER_NAMESPACE = "crusoe-system"


def findings(view: View) -> Iterator[Finding]:
    """Crusoe's autoscaler at work: every pool of the cluster is one of its groups, whatever its flags are."""
    if not any(group.target.kind == NODE_POOL for group in view.groups):
        return
    for item in view.world.controllers:
        named = item.kind == "Deployment" and "autoscaler" in item.name
        if item.namespace == AUTOSCALER_NAMESPACE and item.replicas and (named or item.autoscaler):
            yield Finding(
                code="AutoscalerOfPlatform",
                object=f"Deployment {item.namespace}/{item.name}",
                message=f"it has {count_text(item.replicas, 'replica')} and sizes every node pool of the cluster",
                advice="run one autoscaler: hold these groups with a reason and an end while it runs, or scale it to 0 for good",
            )


LINTS = PlatformLints(findings=findings)
