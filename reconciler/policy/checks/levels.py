"""Where the values of a group come from in documents: the NodeGroup, its tier's defaults, the policy's defaults."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations, Tier
from reconciler.policy.reading.draft import AnyDraft, Draft
from reconciler.policy.reading.scalars import name_of
from reconciler.policy.values.label_selector import selector_matches
from reconciler.policy.values.pattern import matches
from reconciler.policy.yaml_nodes import Place

T = TypeVar("T")


class Level(msgspec.Struct, frozen=True):
    """Group fields that were written somewhere: the document, and the path in front of them."""

    draft: AnyDraft
    prefix: str
    fields: GroupFields

    def path(self, field: str) -> str:
        """The path of a field of this level in its document."""
        return f"{self.prefix}.{field}"

    def name(self, field: str) -> str:
        """The path as messages name it."""
        return name_of(self.path(field))

    def place(self, field: str) -> Place:
        """Where a field of this level is written."""
        return self.draft.place(self.path(field))

    def sound(self, field: str) -> bool:
        """Whether a field of this level was read without a problem."""
        return self.draft.sound(self.path(field))


class Found(msgspec.Struct, frozen=True):
    """An effective value and the level that gave it. `certain` is false when an annotation of the target may win."""

    value: int
    level: Level
    certain: bool


def own_levels(draft: AnyDraft) -> tuple[Level, ...]:
    """The levels written in one document."""
    document = draft.document
    if isinstance(document, NodeGroup):
        return (Level(draft, "spec", document),)
    tiers = (Level(draft, f"spec.tiers[{index}].defaults", tier.defaults) for index, tier in enumerate(document.tiers))
    return (*tiers, Level(draft, "spec.defaults", document.defaults))


def levels_of(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy]) -> tuple[Level, ...]:
    """All levels of a group, the strongest first."""
    found = [Level(group, "spec", group.document)]
    index = tier_index(group.document, policy.document)
    if index is not None:
        found.append(Level(policy, f"spec.tiers[{index}].defaults", policy.document.tiers[index].defaults))
    found.append(Level(policy, "spec.defaults", policy.document.defaults))
    return tuple(found)


def tier_index(group: NodeGroup, policy: NodeGroupPolicy) -> int | None:
    """The tier that a group names, else the first one that matches it; None when there is none."""
    for index, tier in enumerate(policy.tiers):
        if group.tier == tier.name if group.tier is not None else _takes(tier, group):
            return index
    return None


def effective(levels: tuple[Level, ...], policy: NodeGroupPolicy, read: Callable[[GroupFields], int | None]) -> Found | None:
    """The strongest value that documents give; None when none does."""
    for rank, level in enumerate(levels):
        value = read(level.fields)
        if value is not None:
            return Found(value, level, rank == 0 or policy.target_annotations is TargetAnnotations.IGNORE)
    return None


def strongest(levels: tuple[Level, ...], read: Callable[[GroupFields], T]) -> tuple[T, Level] | None:
    """The first value that is not empty, and its level."""
    return next(((read(level.fields), level) for level in levels if read(level.fields)), None)


def _takes(tier: Tier, group: NodeGroup) -> bool:
    if any(matches(pattern, group.name) for pattern in tier.match.names):
        return True
    return tier.match.labels is not None and selector_matches(tier.match.labels, dict(group.labels))
