"""What decisions ask about node pools of Crusoe."""

from collections.abc import Iterator, Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.lints.finding import Finding
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.decisions.view import View
from reconciler.platforms.crusoe.kinds import NODE_POOL, READ_LAG_SECONDS
from reconciler.policy.documents import Discovery

AUTOSCALER_NAMESPACE = "crusoe-system"


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """In the location, with every label; an empty value takes any."""
    labels = dict(facts.labels)
    return item.region in ("", facts.ref.region) and all(
        labels.get(key) == value if value else key in labels for key, value in item.tags
    )


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"crusoe": {"nodePool": ref.name, "location": ref.region}}


def findings(view: View) -> Iterator[Finding]:
    """Crusoe's autoscaler at work: every pool of the cluster is a group of it, whatever its flags say."""
    if not any(group.target.kind == NODE_POOL for group in view.groups):
        return
    for item in view.world.controllers:
        named = item.kind == "Deployment" and "autoscaler" in item.name
        if item.namespace == AUTOSCALER_NAMESPACE and item.replicas and (named or item.autoscaler):
            yield Finding(
                code="AutoscalerOfPlatform",
                object=f"Deployment {item.namespace}/{item.name}",
                message=f"it has {item.replicas} replicas and sizes every node pool of the cluster",
                advice="run one autoscaler: hold these groups with a reason and an end while it runs, or scale it to 0 for good",
            )


RULES = PlatformRules(
    provider="crusoe",
    kinds=(NODE_POOL,),
    takes=takes,
    policy_value=policy_value,
    findings=findings,
    size_origin="nothing",
    read_lag_seconds=READ_LAG_SECONDS,
    unsigned_writer="a writer that Crusoe does not record",
    writer_told_by="the audit log of the Crusoe organization names who changed the count",
)
