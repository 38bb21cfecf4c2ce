"""What decisions ask about Auto Scaling groups."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.aws.facts.clusters import clusters
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, READ_LAG_SECONDS
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """In the region, with every tag; an empty value takes any."""
    tags = dict(facts.labels)
    return item.region in ("", facts.ref.region) and all(
        tags.get(key) == value if value else key in tags for key, value in item.tags
    )


def clusters_named(item: Discovery) -> tuple[str, ...]:
    """By the tags that it asks for."""
    return clusters(item.tags)


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"aws": {"autoScalingGroup": ref.name, "region": ref.region}}


RULES = PlatformRules(
    provider="aws",
    kinds=(AUTO_SCALING_GROUP,),
    takes=takes,
    policy_value=policy_value,
    size_origin="its own MinSize and MaxSize",
    clusters_named=clusters_named,
    read_lag_seconds=READ_LAG_SECONDS,
    unsigned_writer="a writer that Auto Scaling does not record",
    writer_told_by="CloudTrail names who called SetDesiredCapacity or UpdateAutoScalingGroup",
)
