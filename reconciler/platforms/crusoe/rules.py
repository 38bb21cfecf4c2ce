"""What decisions ask about node pools of Crusoe."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.platforms.crusoe.kinds import NODE_POOL, READ_LAG_SECONDS
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """Whether the pool is in the location and has every label; an empty value takes any."""
    labels = dict(facts.labels)
    return item.region in ("", facts.ref.region) and all(
        labels.get(key) == value if value else key in labels for key, value in item.tags
    )


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"crusoe": {"nodePool": ref.name, "location": ref.region}}


RULES = PlatformRules(
    provider="crusoe",
    kinds=(NODE_POOL,),
    takes=takes,
    policy_value=policy_value,
    size_origin="nothing",
    read_lag_seconds=READ_LAG_SECONDS,
    unsigned_writer="a writer that Crusoe does not record",
    writer_evidence="the audit log of the Crusoe organization names who changed the count",
)
