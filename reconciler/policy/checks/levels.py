"""Where the values of a group come from in documents: the NodeGroup, its tier's defaults, the policy's defaults."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations
from reconciler.policy.levels import level_order, tier_rank
from reconciler.policy.place import Place
from reconciler.policy.reading.draft import AnyDraft, Draft
from reconciler.policy.reading.path_names import name_of

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


class EffectiveValue(msgspec.Struct, frozen=True):
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
    document = policy.document
    index = tier_rank(document, group.document.tier, group.document.name, group.document.labels)
    tier = None if index is None else document.tiers[index].defaults
    paths: list[tuple[AnyDraft, str]] = [(group, "spec"), (policy, "spec.defaults")]
    if index is not None:
        paths.insert(1, (policy, f"spec.tiers[{index}].defaults"))
    ordered = level_order(group.document, tier, document.defaults)
    return tuple(Level(draft, prefix, fields) for (draft, prefix), fields in zip(paths, ordered, strict=True))


def effective(
    levels: tuple[Level, ...], policy: NodeGroupPolicy, read: Callable[[GroupFields], int | None]
) -> EffectiveValue | None:
    """The strongest value that documents give; None when none does."""
    for rank, level in enumerate(levels):
        value = read(level.fields)
        if value is not None:
            return EffectiveValue(value, level, rank == 0 or policy.target_annotations is TargetAnnotations.IGNORE)
    return None


def strongest(levels: tuple[Level, ...], read: Callable[[GroupFields], T]) -> tuple[T, Level] | None:
    """The first value that is not empty, and its level."""
    return next(((read(level.fields), level) for level in levels if read(level.fields)), None)
