"""What decisions ask about Auto Scaling groups."""

from collections.abc import Iterator, Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.lints.finding import Finding
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.decisions.view import View
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """In the region, with every tag; an empty value takes any."""
    tags = dict(facts.labels)
    return item.region in ("", facts.ref.region) and all(
        tags.get(key) == value if value else key in tags for key, value in item.tags
    )


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"aws": {"autoScalingGroup": ref.name, "region": ref.region}}


def findings(view: View) -> Iterator[Finding]:
    """Groups on Auto Scaling groups: a plan from files sizes them, and the loop neither reads nor changes them."""
    names = sorted(group.name for group in view.groups if group.target.kind == AUTO_SCALING_GROUP)
    if names:
        yield Finding(
            code="PlannedOnly",
            object=f"NodeGroupPolicy {view.policy.policy.name}",
            message=f"Auto Scaling groups are planned from snapshots, and not changed by `run`: {', '.join(names)}",
            advice="apply what the plan says of them by other means, or give them Cluster API targets",
        )


RULES = PlatformRules(
    provider="aws",
    kinds=(AUTO_SCALING_GROUP,),
    takes=takes,
    policy_value=policy_value,
    findings=findings,
    size_origin="its own MinSize and MaxSize",
)
