"""The chain of effective values: NodeGroup, else the target itself, else its tier, else the policy's defaults, else built-in."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.group import Origin
from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations, Tier
from reconciler.policy.place import Place

Value = TypeVar("Value")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where values of one group can come from. `document` None: the group was discovered."""

    document: NodeGroup | None
    facts: TargetFacts | None
    policy: NodeGroupPolicy
    tier: Tier | None
    tier_index: int = -1

    def levels(self, path: str) -> tuple[tuple[GroupFields, str], ...]:
        """The policy levels from near to far, each with the place of the field `path` (`scaleDown.mode`) or a fallback."""
        found: list[tuple[GroupFields, str]] = []
        if self.document is not None:
            found.append((self.document, _place(self.document.places, f"spec.{path}", self.document.place)))
        if self.tier is not None:
            key = f"spec.tiers[{self.tier_index}].defaults.{path}"
            found.append((self.tier.defaults, f"{_place(self.policy.places, key, self.policy.place)} (tier {self.tier.name})"))
        key = f"spec.defaults.{path}"
        found.append((self.policy.defaults, f"{_place(self.policy.places, key, self.policy.place)} (policy defaults)"))
        return tuple(found)

    def of_policy(self, path: str) -> str:
        """Where the policy itself says `spec.PATH`, or that it is built in."""
        place = self.policy.places.get(f"spec.{path}")
        return f"{place} (policy)" if place is not None else "built-in"


class Resolved(msgspec.Struct, Generic[Value], frozen=True):
    """An effective value with all its sources, the one that won first."""

    value: Value
    chain: tuple[Origin, ...]


def resolve(
    sources: Sources,
    path: str,
    read: Callable[[GroupFields], Value | None],
    built_in: Value,
    text: Callable[[Value], str],
    target: tuple[Value, str] | None = None,
    last: str = "built-in",
) -> Resolved[Value]:
    """Walk the chain for one field. `target` is the target's own value and where it stands, ranked after the document; `last`
    says where `built_in` comes from.

    Source of the order: design of the product, section 4 (`Effective value = …`).
    """
    found: list[tuple[Value, Origin]] = []
    levels = sources.levels(path)
    if sources.document is not None:
        level, place = levels[0]
        value = read(level)
        if value is not None:
            found.append((value, Origin(source=place, value=text(value))))
        levels = levels[1:]
    if target is not None and sources.policy.target_annotations is TargetAnnotations.READ:
        found.append((target[0], Origin(source=target[1], value=text(target[0]))))
    for level, place in levels:
        value = read(level)
        if value is not None:
            found.append((value, Origin(source=place, value=text(value))))
    found.append((built_in, Origin(source=last, value=text(built_in))))
    return Resolved(found[0][0], tuple(origin for _, origin in found))


def target_option(facts: TargetFacts | None, path: str) -> tuple[int, str] | None:
    """The target's own value for a policy field, if it carries one."""
    if facts is None:
        return None
    return next(((option.value, option.origin) for option in facts.options if option.key == path), None)


def _place(places: Mapping[str, Place], path: str, document: Place) -> str:
    while path:
        if path in places:
            return str(places[path])
        path = path.rpartition(".")[0]
    return str(document)
