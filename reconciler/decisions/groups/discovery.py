"""Which targets become groups without a document of their own, and which tier takes a group."""

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import kind_of, platform_rules, rules_of
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, TargetSpec, Tier
from reconciler.policy.values.label_selector import selector_matches
from reconciler.policy.values.pattern import matches


def target_ref(spec: TargetSpec) -> TargetRef:
    """The target that a NodeGroup document names."""
    kind = kind_of(spec.provider, spec.kind)
    return TargetRef(kind=kind, namespace=spec.namespace, region=spec.region, name=spec.name)


def discovered(policy: NodeGroupPolicy, facts: TargetFacts) -> Discovery | None:
    """The first discovery item that takes the target; None when none does. OR between items; inside one, its platform's rules."""
    rules = rules_of(facts.ref.kind)
    if rules is None:
        return None
    return next((item for item in policy.discovery if item.provider == rules.provider and rules.takes(item, facts)), None)


def clusters_of_discovery(policy: NodeGroupPolicy) -> frozenset[str]:
    """Names of clusters that the policy asks for where it discovers targets."""
    rules = {one.provider: one for one in platform_rules()}
    return frozenset(
        name for item in policy.discovery if item.provider in rules for name in rules[item.provider].clusters_named(item)
    )


def tier_of(
    policy: NodeGroupPolicy, name: str, labels: tuple[tuple[str, str], ...], document: NodeGroup | None, found: Discovery | None
) -> tuple[Tier | None, int]:
    """The tier of a group and its rank: named by the document, else by the discovery item, else the first whose `match`
    takes it; rank `len(tiers)` and no tier when none does."""
    named = (document.tier if document is not None else None) or (found.tier if found is not None else None)
    for rank, tier in enumerate(policy.tiers):
        if tier.name == named or (named is None and _matches(tier, name, labels)):
            return tier, rank
    return None, len(policy.tiers)


def _matches(tier: Tier, name: str, labels: tuple[tuple[str, str], ...]) -> bool:
    match = tier.match
    if match.names and any(matches(pattern, name) for pattern in match.names):
        return True
    return match.labels is not None and selector_matches(match.labels, dict(labels))
