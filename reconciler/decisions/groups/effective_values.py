"""The chain of effective values: an open window, the NodeGroup, the target itself, its tier, the policy's defaults, built-in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, partial
from types import NoneType
from typing import Any, Generic, TypeVar, get_args

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations, Tier, Window
from reconciler.policy.field import structs_in
from reconciler.policy.levels import (
    LEVEL_FIELDS,
    NOTHING,
    WINDOWS,
    GroupScalar,
    LevelField,
    fields_below,
    group_value,
    level_order,
)
from reconciler.policy.windows import OpenWindow, open_windows, window_level
from reconciler.policy.yaml_nodes import Place
from reconciler.values.instant import instant_text

Value = TypeVar("Value")


class Sources(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Where values of one group can come from. `document` None: the group was discovered."""

    document: NodeGroup | None
    facts: TargetFacts | None
    policy: NodeGroupPolicy
    tier: Tier | None
    tier_index: int = -1
    opened: tuple[OpenWindow, ...] = ()

    @cached_property
    def written(self) -> tuple[GroupFields, ...]:
        """The levels without open windows, from near to far."""
        return level_order(self.document, None if self.tier is None else self.tier.defaults, self.policy.defaults)

    def windows(self) -> tuple[Window, ...]:
        """Those of the nearest level that has any."""
        nearest = WINDOWS.nearest(self.written)
        return () if nearest is None else nearest[1]

    @cached_property
    def ahead(self) -> tuple[OpenWindow, ...]:
        """The open windows that set more than bounds. They come before all levels, and the strictest of them counts."""
        return tuple(one for one in self.opened if window_level(one) is not None)

    @cached_property
    def fields(self) -> tuple[GroupFields, ...]:
        """The policy levels from near to far."""
        return (*(level for one in self.opened if (level := window_level(one)) is not None), *self.written)

    def place(self, level: int, path: str) -> str:
        """Where the level says the field `path` (`scaleDown.mode`), or where the next field around it is."""
        ahead = self.ahead
        if level < len(ahead):
            opened = ahead[level]
            nearest = WINDOWS.nearest(self.written)
            where = "" if nearest is None else self._place(nearest[0], f"windows[{opened.index}].{path}")
            return f"{where} (window {opened.name}, open until {instant_text(opened.until_seconds)})"
        return self._place(level - len(ahead), path)

    def _place(self, level: int, path: str) -> str:
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


def sources_at(
    document: NodeGroup | None, facts: TargetFacts | None, policy: NodeGroupPolicy, tier: Tier | None, rank: int, now_seconds: int
) -> Sources:
    """The sources of a group, with the windows that are open at `now_seconds` (Unix time)."""
    sources = Sources(document=document, facts=facts, policy=policy, tier=tier, tier_index=rank)
    opened = open_windows(sources.windows(), now_seconds)
    return msgspec.structs.replace(sources, opened=opened) if opened else sources


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
    levels = sources.fields
    rank = len(levels)
    if target is not None and sources.policy.target_annotations is TargetAnnotations.READ:
        rank = len(sources.ahead) + (0 if sources.document is None else 1)
    order = _in_order(levels, len(sources.ahead), path, read)

    def sourced() -> tuple[Origin, ...]:
        origins: list[Origin] = []
        for level in order:
            if level == rank and target is not None:
                origins.append(Origin(source=target[1], value=text(target[0])))
            value = read(levels[level])
            if value is not None:
                origins.append(Origin(source=sources.place(level, path), value=text(value)))
        return (*origins, Origin(source=last, value=text(built_in)))

    for level in order:
        if level == rank and target is not None:
            return Resolved(target[0], sourced)
        value = read(levels[level])
        if value is not None:
            return Resolved(value, sourced)
    return Resolved(built_in, sourced)


def _in_order(
    levels: Sequence[GroupFields], windows: int, path: str, read: Callable[[GroupFields], Value | None]
) -> Sequence[int]:
    """The levels as they count. Of open windows, which are the first ones, the strictest value counts, whatever their order."""
    if windows <= 1:
        return range(len(levels))
    setting = [level for level in range(windows) if read(levels[level]) is not None]
    if len(setting) > 1:
        value = group_value(path)
        setting.sort(key=lambda level: value.looseness(value.read(levels[level]) or 0))
    return (*setting, *range(windows, len(levels)))


def target_option(facts: TargetFacts | None, path: str) -> tuple[int, str] | None:
    """The target's own value for a policy field, if it carries one."""
    if facts is None or not facts.options:
        return None
    return next(((option.value, option.origin) for option in facts.options if option.key == path), None)


def _place(places: Mapping[str, Place], path: str, document: Place) -> str:
    while path:
        if path in places:
            return str(places[path])
        path = path.rpartition(".")[0]
    return str(document)


# The values of one group, each asked for by the path of its key, with the chain that it came from.

Choice = TypeVar("Choice", bound=StrEnum)
Part = TypeVar("Part", bound=msgspec.Struct)
_ValueText = tuple[GroupScalar | None, str]


@cache
def _part(kind: type[msgspec.Struct], attribute: str) -> type[msgspec.Struct]:
    """The type of a level inside another one. Reading type hints takes longer than everything else here."""
    (inner,) = (structs_in(info.type) for info in msgspec.structs.fields(kind) if info.name == attribute)
    return inner[0]


@cache
def _may_be_none(kind: type[msgspec.Struct], attribute: str) -> bool:
    (annotated,) = (info.type for info in msgspec.structs.fields(kind) if info.name == attribute)
    return NoneType in get_args(get_args(annotated)[0])


class Values:
    """Asks the sources of one group. `chains` notes what was asked."""

    def __init__(self, sources: Sources, facts: TargetFacts | None) -> None:
        self.sources = sources
        self.chains = Chains()
        self._facts = facts

    def all_below(self, path: str, kind: type[Part]) -> Part:
        """Everything that has a key below a path, in the type of its level (`ScaleDown`), every value decided.

        The target's own options count for each. A number that may be None, and that no level sets, does not limit anything.
        Raises TypeError for any other field below it that has no default.
        """
        decided: dict[str, object] = {}
        for field in fields_below(path):
            below = f"{path}.{field.yaml_key}"
            if field.children:
                decided[field.attribute] = self.all_below(below, _part(kind, field.attribute))
            else:
                nothing = (None, "") if _may_be_none(kind, field.attribute) else None
                decided[field.attribute] = self._resolved(below, self._option(below), nothing)
        return kind(**decided)

    def count(self, path: str, target: tuple[int, str] | None, nothing: int, nothing_text: str, where: str = "built-in") -> int:
        """A number that the target itself may say, and where; `nothing`, from `where`, when nobody does, told as that text."""
        number = self._resolved(path, target, (nothing, nothing_text), where)
        if not isinstance(number, int):
            raise TypeError(f"{path} is not a number")
        return number

    def text(self, path: str, nothing_text: str = "", target: tuple[str, str] | None = None) -> str:
        """A text, which the target itself may say; empty when nobody does and none is built in, told as `nothing_text`."""
        return str(self._resolved(path, target, ("", nothing_text)))

    def choice(self, path: str, kind: type[Choice], otherwise: Choice, where: str) -> Choice:
        """One of the words of `kind`; nothing is built in, but `otherwise` applies, as `where` says."""
        return kind(str(self._resolved(path, None, (otherwise, str(otherwise)), where)))

    def written(self, now_seconds: int) -> None:
        """Note every field that is more than one scalar, with the levels that say something at this instant."""
        levels = self.sources.fields
        for path, field in LEVEL_FIELDS.items():
            self.chains.keep(path, Resolved(field, partial(self._levels_of, path, field, levels, now_seconds)))

    def _levels_of(
        self, path: str, field: LevelField[Any], levels: tuple[GroupFields, ...], now_seconds: int
    ) -> tuple[Origin, ...]:
        values = field.counting(levels, now_seconds) if field.adds else field.stated(levels, now_seconds)
        origins = (Origin(source=self.sources.place(level, path), value=field.text(value)) for level, value in values)
        last = "the target and its nodes" if path.startswith("template.") else "built-in"
        return (*origins, Origin(source=last, value=NOTHING))

    def _option(self, path: str) -> _ValueText | None:
        """The target's own value for a path, and where it says that. A switch is 0 or 1: the first or the second choice."""
        option = target_option(self._facts, path)
        built_in = group_value(path).built_in
        if option is not None and isinstance(built_in, StrEnum):
            return list(type(built_in))[option[0]], option[1]
        return option

    def _resolved(
        self, path: str, target: _ValueText | None, nothing: _ValueText | None = None, where: str = "built-in"
    ) -> GroupScalar | None:
        value = group_value(path)
        built_in = value.built_in
        texts = dict[GroupScalar | None, str]()
        if built_in is None:
            if nothing is None:
                raise TypeError(f"{path} has no default: name the value that applies if no level sets it")
            built_in = nothing[0]
            texts[built_in] = nothing[1]

        def text(scalar: GroupScalar | None) -> str:
            return texts.get(scalar) or value.text(scalar)

        return self.chains.keep(path, resolve(self.sources, path, value.read, built_in, text, target, where))
