"""Which targets become groups without a document, and which tier takes a group."""

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.platform_rules import kind_of, platform_rules, rules_of
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, TargetSpec, Tier
from reconciler.policy.levels import tier_rank


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
    policy: NodeGroupPolicy,
    name: str,
    labels: tuple[tuple[str, str], ...],
    document: NodeGroup | None,
    discovery: Discovery | None,
) -> tuple[Tier | None, int]:
    """The tier of a group and its rank: named by the document, else by the discovery item, else the first whose `match` fits. If
    none does, the rank is `len(tiers)`, without a tier."""
    named = (document.tier if document is not None else None) or (discovery.tier if discovery is not None else None)
    rank = tier_rank(policy, named, name, labels)
    return (None, len(policy.tiers)) if rank is None else (policy.tiers[rank], rank)
