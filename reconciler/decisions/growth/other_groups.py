"""Why groups that were not among the options of a purchase were not."""

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.expanders import Option

_TOLD_AT_MOST = 5


def others_of(draft: Draft, options: list[Option], waiting: list[tuple[int, int]]) -> tuple[str, ...]:
    """`big (AtMaxSize)`, the first few by name and how many more: groups that offered nothing for `waiting`, (shape, pods) in
    serving order, with the code of what stands in the way. `LowerTier`: asked when the tiers above offer nothing."""
    offering = {option.position for option in options}
    rank = min((draft.groups[position].group.tier_rank for position in offering), default=0)
    rest = sorted((group for group in draft.groups if group.position not in offering), key=lambda group: group.group.name)
    told = [f"{group.group.name} ({_why(draft, group, rank, waiting[0][0])})" for group in rest[:_TOLD_AT_MOST]]
    more = len(rest) - len(told)
    return (*told, f"{more} more") if more else tuple(told)


def _why(draft: Draft, group: GroupDraft, rank: int, shape: int) -> str:
    stop, template = draft.growth_stop(group), group.group.template
    if stop is not None:
        return stop.code
    if template is None:
        return "TemplateUnknown"
    if group.group.tier_rank > rank:
        return "LowerTier"
    mark = draft.state.mark()
    verdict = draft.state.verdict(shape, draft.state.add_node(f"{group.group.name}-try", template, group.daemons))
    draft.state.undo(mark)
    if verdict:
        return ", ".join(sorted({rejection.plugin for rejection in verdict}))
    refusal = draft.room(group, template)[1]
    return refusal.code if refusal is not None else "NotShortlisted"
