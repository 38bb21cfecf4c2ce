"""The reasons why other groups were not options of a scale-up."""

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.expanders import Option
from reconciler.decisions.growth.zones import rejection
from reconciler.decisions.reasons.pods import GroupRejects
from reconciler.decisions.reasons.sizes import GrownForShare

_MOST_NAMED = 5


def others_of(draft: Draft, options: list[Option], waiting: list[tuple[int, int]]) -> tuple[str, ...]:
    """Groups that offered nothing for `waiting`, each with the code of the reason: `big (AtMaxSize)`. The first few are named,
    the others counted. `waiting` is (shape, pods) in serving order. `LowerTier`: used if the tiers above offer nothing.
    `TriedBefore`: it failed while these pods waited, so others come first.
    `GrownForShare`: of another tier than the one that grows for its share."""
    offering = {option.position for option in options}
    rank = min((draft.groups[position].group.tier_rank for position in offering), default=0)
    rest = sorted((group for group in draft.groups if group.position not in offering), key=lambda group: group.group.name)
    named = [f"{group.group.name} ({_why(draft, group, rank, waiting[0][0])})" for group in rest[:_MOST_NAMED]]
    more = len(rest) - len(named)
    return (*named, f"{more} more") if more else tuple(named)


def _why(draft: Draft, group: GroupDraft, rank: int, shape: int) -> str:
    stop, template = draft.growth_stop(group), group.group.template
    if stop is not None:
        return stop.code
    if template is None:
        return "TemplateUnknown"
    if draft.ceiling is not None and group.group.tier_rank != rank:
        return GrownForShare.code
    if group.group.tier_rank > rank:
        return "LowerTier"
    if draft.was_tried(group, shape):
        return "TriedBefore"
    if _runs_on_last(draft, group, shape) and (plugins := draft.state.shut_by(shape, group.new_nodes[-1])):
        return ", ".join(plugins)
    rejected = rejection(draft, group, template, shape)
    if isinstance(rejected, GroupRejects):
        return ", ".join(sorted(set(rejected.plugins)))
    if rejected is not None:
        return rejected.code
    refusal = draft.room(group, template)[1]
    return refusal.code if refusal is not None else "NotShortlisted"


def _runs_on_last(draft: Draft, group: GroupDraft, shape: int) -> bool:
    """Whether the last new node of the group is as its next one will be, and runs pods of the shape. Then only the domains of
    such a node can keep the next pod off one that is empty."""
    if not group.new_nodes or group.order is not None:
        return False
    node = group.new_nodes[-1]
    return draft.state.shape_of(node) == group.group.template and any(bound == shape for bound, _ in draft.state.bound(node))
