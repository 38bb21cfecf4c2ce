"""What decisions ask about rows."""

from collections.abc import Mapping

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import PlatformRules
from reconciler.policy.documents import Discovery


def takes(item: Discovery, facts: TargetFacts) -> bool:
    """Every row of the field."""
    return item.region == facts.ref.region


def policy_value(ref: TargetRef) -> Mapping[str, Mapping[str, str]]:
    """`spec.target` of a NodeGroup."""
    return {"orchard": {"row": ref.name, "field": ref.region}}


RULES = PlatformRules(
    provider="orchard", kinds=("TreeRow",), takes=takes, policy_value=policy_value, size_origin="its own bounds"
)
