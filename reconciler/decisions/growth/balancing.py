"""Spreading the new nodes of one choice over sibling groups, one at a time to the smallest."""

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.similarity import difference, ignored_labels

OFF, AUTO = "Off", "Auto"


def siblings(draft: Draft, group: GroupDraft) -> tuple[tuple[GroupDraft, ...], tuple[str, ...]]:
    """The groups that share the growth of `group`, itself included, and for `Auto` why each other one does not.

    A shared name makes siblings by the user's word; `Auto` by similarity among groups that say `Auto` as well. All must
    be of one tier and able to grow.
    """
    name = group.group.balance_with
    template = group.group.template
    if name == OFF or template is None or group.group.whole:
        return (group,), ()
    found, apart = [], []
    for other in draft.groups:
        if other is group:
            found.append(other)
            continue
        shape = other.group.template
        if other.group.balance_with != name or other.group.tier_rank != group.group.tier_rank or shape is None:
            continue
        if other.group.whole or draft.growth_stop(other) is not None:
            continue
        broken = difference(template, shape, ignored_labels(draft.policy)) if name == AUTO else ""
        if broken:
            apart.append(f"{other.group.name}: {broken}")
        else:
            found.append(other)
    return tuple(found), tuple(apart)


def next_group(draft: Draft, group: GroupDraft, together: tuple[GroupDraft, ...]) -> GroupDraft:
    """Which sibling gets the next node: the smallest that has room, ties by name; `group` when none has."""
    able = [other for other in together if other.group.template is not None and draft.room(other, other.group.template)[0] > 0]
    return min(able, key=lambda other: (other.desired, other.group.name), default=group)
