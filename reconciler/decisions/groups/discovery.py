"""Which targets become groups without a document of their own, and which tier takes a group."""

import re

from reconciler.cluster.target import TargetFacts, TargetKind, TargetRef
from reconciler.decisions.labels import selector_matches
from reconciler.policy.documents import Discovery, NodeGroup, NodeGroupPolicy, TargetSpec, Tier

_CLUSTER_API_KINDS = (TargetKind.MACHINE_DEPLOYMENT, TargetKind.MACHINE_SET, TargetKind.MACHINE_POOL)
_KINDS = {kind.value: kind for kind in TargetKind}


def target_ref(spec: TargetSpec) -> TargetRef:
    """The target that a NodeGroup document names."""
    if spec.provider == "aws":
        return TargetRef(kind=TargetKind.AUTO_SCALING_GROUP, region=spec.region, name=spec.name)
    return TargetRef(kind=_KINDS.get(spec.kind, TargetKind.MACHINE_DEPLOYMENT), namespace=spec.namespace, name=spec.name)


def discovered(policy: NodeGroupPolicy, facts: TargetFacts) -> Discovery | None:
    """The first discovery item that takes the target; None when none does.

    As the Cluster Autoscaler has it, a Cluster API target must carry both size annotations to be discovered, and a
    MachineSet that a MachineDeployment owns is never a target of its own. OR between items, AND inside one.
    """
    return next((item for item in policy.discovery if _takes(item, facts)), None)


def _takes(item: Discovery, facts: TargetFacts) -> bool:
    if item.provider == "aws":
        tags = dict(facts.labels)
        return (
            facts.ref.kind is TargetKind.AUTO_SCALING_GROUP
            and item.region in ("", facts.ref.region)
            and all(tags.get(key) == value if value else key in tags for key, value in item.tags)
        )
    labels = dict(facts.labels)
    return (
        facts.ref.kind in _CLUSTER_API_KINDS
        and facts.max_size is not None
        and not facts.owner.controller
        and (not item.namespaces or facts.ref.namespace in item.namespaces)
        and item.cluster_name in ("", facts.cluster_name)
        and all(labels.get(key) == value for key, value in item.labels)
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
    if match.names and any(re.search(pattern, name) for pattern in match.names):
        return True
    return match.labels is not None and selector_matches(match.labels, dict(labels))
