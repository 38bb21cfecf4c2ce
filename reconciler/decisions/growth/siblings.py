"""Spreads the new nodes of one choice over sibling groups, always to the smallest."""

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.similar_groups import OFF, balance_difference, ignored_labels


def siblings(draft: Draft, group: GroupDraft) -> tuple[tuple[GroupDraft, ...], tuple[str, ...]]:
    """The groups that share the growth of `group`, itself included, and for `Auto` why each other one does not.

    A shared name makes siblings by the user's word; `Auto` by similarity among groups that say `Auto` as well. All must
    be of one tier and able to grow.
    """
    if group.group.balance_with == OFF:
        return (group,), ()
    balanced, apart = [], []
    ignored = ignored_labels(draft.policy)
    for other in draft.groups:
        if other is group:
            balanced.append(other)
            continue
        broken = balance_difference(group.group, other.group, ignored)
        if broken is None or draft.growth_stop(other) is not None:
            continue
        if broken:
            apart.append(f"{other.group.name}: {broken}")
        else:
            balanced.append(other)
    return tuple(balanced), tuple(apart)


def next_group(draft: Draft, group: GroupDraft, together: tuple[GroupDraft, ...]) -> GroupDraft:
    """Which sibling gets the next node: the smallest that has room, ties by name; `group` when none has."""
    able = [other for other in together if other.group.template is not None and draft.room(other, other.group.template)[0] > 0]
    return min(able, key=lambda other: (other.desired, other.group.name), default=group)
