"""Counts nodes for limits with a minimum. Nodes that are leaving do not count."""

from reconciler.decisions.draft import Draft
from reconciler.decisions.limits import LimitLedger
from reconciler.plan.plan import NodeState


def floor_of(draft: Draft) -> LimitLedger | None:
    """What limits with a minimum count once the nodes that are leaving are gone; None without such limits."""
    if not any(limit.min for limit in draft.policy.limits):
        return None
    ledger = LimitLedger(draft.policy.limits)
    for index in range(len(draft.world.nodes)):
        where = draft.members.group_of[index]
        if draft.states[index] is not NodeState.LEAVING:
            ledger.count(draft.groups[where].group if where >= 0 else None, draft.counted(index))
    for group in draft.groups:
        if group.group.template is not None:
            ledger.count(group.group, group.group.template, group.situation.upcoming + len(group.new_nodes))
    return ledger
