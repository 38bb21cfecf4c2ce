"""Tiers that have less than their share of the nodes."""

from collections.abc import Iterator

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.reasons.sizes import ShareNotReached
from reconciler.plan.plan import PlanProblem


def share_reasons(draft: Draft) -> None:
    """Every group of a tier that has less than its share after this plan says so."""
    for short in draft.tier_shares.shortages():
        mine = [group for group in draft.groups if group.group.tier == short.tier.name]
        stops = [(group.group.name, _stop(draft, group)) for group in mine]
        because = ShareNotReached(
            tier=short.tier.name,
            percent=short.tier.share_percent,
            nodes=short.nodes,
            total=short.total,
            needed=short.needed,
            unable=tuple(f"{name} ({code})" for name, code in stops if code),
        )
        for group in mine:
            group.reasons.append(because.reason())


def _stop(draft: Draft, group: GroupDraft) -> str:
    """The code of what keeps a group from growing; empty where nothing does."""
    stop, template = draft.growth_stop(group), group.group.template
    if stop is not None or template is None:
        return stop.code if stop is not None else ""
    room, refusal = draft.room(group, template)
    return refusal.code if room <= 0 and refusal is not None else ""


def shares_of_nobody(draft: Draft) -> Iterator[PlanProblem]:
    """Tiers with a share and without groups."""
    tiers = {group.group.tier for group in draft.groups}
    for short in draft.tier_shares.shortages():
        if short.tier.name not in tiers:
            message = f"no group is of this tier, so its share of {short.tier.share_percent}% is never reached"
            yield PlanProblem(code="ShareWithoutGroups", object=f"tier {short.tier.name}", message=message)
