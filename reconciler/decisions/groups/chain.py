"""The chain of effective values: NodeGroup, else the target itself, else its tier, else the policy's defaults, else built-in."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations, Tier
from reconciler.policy.text.place import Place

Value = TypeVar("Value")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where values of one group can come from. `document` None: the group was discovered."""

    document: NodeGroup | None
    facts: TargetFacts | None
    policy: NodeGroupPolicy
    tier: Tier | None
    tier_index: int = -1

    def fields(self) -> tuple[GroupFields, ...]:
        """The policy levels from near to far."""
        defaults = (self.policy.defaults,) if self.tier is None else (self.tier.defaults, self.policy.defaults)
        return defaults if self.document is None else (self.document, *defaults)

    def place(self, level: int, path: str) -> str:
        """Where the level says the field `path` (`scaleDown.mode`), or where the next field around it is."""
        if self.document is not None:
            if level == 0:
                return _place(self.document.places, f"spec.{path}", self.document.place)
            level -= 1
        if self.tier is not None and level == 0:
            key = f"spec.tiers[{self.tier_index}].defaults.{path}"
            return f"{_place(self.policy.places, key, self.policy.place)} (tier {self.tier.name})"
        return f"{_place(self.policy.places, f'spec.defaults.{path}', self.policy.place)} (policy defaults)"

    def of_policy(self, path: str) -> str:
        """Where the policy itself says `spec.PATH`, or that it is built in."""
        place = self.policy.places.get(f"spec.{path}")
        return f"{place} (policy)" if place is not None else "built-in"


class Resolved(msgspec.Struct, Generic[Value], frozen=True):
    """An effective value; `sourced` tells all its sources, the one that won first."""

    value: Value
    sourced: Callable[[], tuple[Origin, ...]]


class Chains(Mapping[str, tuple[Origin, ...]]):
    """By field path the sources of each value. Every decision asks for the values and hardly any for their sources, so that
    these are told when they are asked for."""

    def __init__(self) -> None:
        self._sourced: dict[str, Callable[[], tuple[Origin, ...]]] = {}

    def __getitem__(self, path: str) -> tuple[Origin, ...]:
        return self._sourced[path]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._sourced)

    def __len__(self) -> int:
        return len(self._sourced)

    def keep(self, path: str, resolved: Resolved[Value]) -> Value:
        """Note where a value came from; the value."""
        self._sourced[path] = resolved.sourced
        return resolved.value


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
    # Where the target's own value stands among the levels; behind all of them when it has none.
    levels = sources.fields()
    rank = len(levels)
    if target is not None and sources.policy.target_annotations is TargetAnnotations.READ:
        rank = 0 if sources.document is None else 1

    def sourced() -> tuple[Origin, ...]:
        found: list[Origin] = []
        for level, fields in enumerate(levels):
            if level == rank and target is not None:
                found.append(Origin(source=target[1], value=text(target[0])))
            value = read(fields)
            if value is not None:
                found.append(Origin(source=sources.place(level, path), value=text(value)))
        return (*found, Origin(source=last, value=text(built_in)))

    for level, fields in enumerate(levels):
        if level == rank and target is not None:
            return Resolved(target[0], sourced)
        value = read(fields)
        if value is not None:
            return Resolved(value, sourced)
    return Resolved(built_in, sourced)


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
