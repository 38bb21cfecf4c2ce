"""The chain of effective values: an open window, the NodeGroup, the target itself, its tier, the policy's defaults, built-in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, lru_cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields, NodeGroup, NodeGroupPolicy, TargetAnnotations, Tier, Window
from reconciler.policy.field import structs_in
from reconciler.policy.group_value import GroupScalar, GroupValue, attributes_of, fields_below, group_value
from reconciler.policy.levels import LEVEL_FIELDS, NOTHING, WINDOWS, LevelField, level_order
from reconciler.policy.place import Place
from reconciler.policy.windows import OpenWindow, open_windows, window_level
from reconciler.values.instant import instant_text


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


class Chains(Mapping[str, tuple[Origin, ...]]):
    """By field path the sources of each value. Every decision asks for the values and hardly any for their sources, so that
    these are told when they are asked for."""

    def __init__(self) -> None:
        self._noted: list[tuple[str, Callable[[], tuple[Origin, ...]]] | Callable[[], None]] = []
        self._by_path: dict[str, Callable[[], tuple[Origin, ...]]] = {}

    def __getitem__(self, path: str) -> tuple[Origin, ...]:
        return self._sourced()[path]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._sourced())

    def __len__(self) -> int:
        return len(self._sourced())

    def keep(self, path: str, sourced: Callable[[], tuple[Origin, ...]]) -> None:
        """Note what tells where a value came from, the source that won first."""
        self._noted.append((path, sourced))

    def keep_all(self, note: Callable[[], None]) -> None:
        """Let `note` keep what it has to say of several values, once anybody asks."""
        self._noted.append(note)

    def _sourced(self) -> Mapping[str, Callable[[], tuple[Origin, ...]]]:
        while self._noted:
            noted, self._noted = self._noted, []
            for position, one in enumerate(noted):
                if not callable(one):
                    self._by_path[one[0]] = one[1]
                    continue
                one()
                self._noted += noted[position + 1 :]
                break
        return self._by_path


def _in_order(levels: Sequence[GroupFields], windows: int, value: GroupValue) -> Sequence[int]:
    """The levels as they count. Of open windows, which are the first ones, the strictest value counts, whatever their order."""
    if windows <= 1:
        return range(len(levels))
    setting = [level for level in range(windows) if value.read(levels[level]) is not None]
    if len(setting) > 1:
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


class _Key(msgspec.Struct, frozen=True):
    """A key below a path: the attribute of its level, and the type of the level inside, if it is one. `nothing` is what a key
    without a default is if no level sets it."""

    path: str
    attribute: str
    part: type[msgspec.Struct] | None
    nothing: _ValueText | None


@cache
def _keys_below(path: str, kind: type[msgspec.Struct]) -> tuple[_Key, ...]:
    """Once for all groups: reading type hints takes longer than everything else here."""
    types = {info.name: info.type for info in msgspec.structs.fields(kind)}
    keys = []
    for field in fields_below(path):
        annotated = types[field.attribute]
        part = structs_in(annotated)[0] if field.children else None
        may_be_none = part is None and NoneType in get_args(get_args(annotated)[0])
        keys.append(_Key(f"{path}.{field.yaml_key}", field.attribute, part, (None, "") if may_be_none else None))
    return tuple(keys)


@lru_cache(maxsize=4096)
def _by_levels(path: str, kind: type[Part], parts: tuple[msgspec.Struct, ...]) -> Part:
    """Everything below a path where levels alone decide, in whose order `parts` are what each says. Most groups of a policy say
    the same: nothing of their own."""
    decided: dict[str, object] = {}
    for key in _keys_below(path, kind):
        below = [getattr(part, key.attribute) for part in parts]
        if key.part is not None:
            decided[key.attribute] = _by_levels(key.path, key.part, tuple(below))
        else:
            last = _last(group_value(key.path), key.nothing)
            decided[key.attribute] = next((scalar for scalar in below if scalar is not None), last)
    return kind(**decided)


def _last(value: GroupValue, nothing: _ValueText | None) -> GroupScalar | None:
    """What applies if no level states the value. Raises TypeError if the key has no default, and the caller none either."""
    if value.built_in is None and nothing is None:
        raise TypeError(f"{value.path} has no default: name the value that applies if no level sets it")
    return value.built_in if nothing is None or value.built_in is not None else nothing[0]


_BUILT_IN = "built-in"
_TARGET = -1
"""In place of a level: the target itself."""
_NEVER = -1
"""The rank of a target that is not asked."""


class Values:
    """Asks the sources of one group. `chains` notes what was asked."""

    def __init__(self, sources: Sources, facts: TargetFacts | None) -> None:
        self.sources = sources
        self.chains = Chains()
        self._facts = facts
        self._has_options = facts is not None and bool(facts.options)
        self._levels, self._windows = sources.fields, len(sources.ahead)
        reads = sources.policy.target_annotations is TargetAnnotations.READ
        self._target_rank = self._windows + (0 if sources.document is None else 1) if reads else _NEVER

    def all_below(self, path: str, kind: type[Part]) -> Part:
        """Everything that has a key below a path, in the type of its level (`ScaleDown`), every value decided.

        The target's own options count for each. A number that may be None, and that no level sets, does not limit anything.
        Raises TypeError for any other field below it that has no default.
        """
        if not self._has_options and self._windows < 2:
            self.chains.keep_all(partial(self._note_below, path, kind))
            said = tuple(map(attrgetter(".".join(attributes_of(path))), self._levels))
            by_levels: Part = _by_levels(path, kind, said)
            return by_levels
        decided: dict[str, object] = {}
        for key in _keys_below(path, kind):
            if key.part is not None:
                decided[key.attribute] = self.all_below(key.path, key.part)
            else:
                decided[key.attribute] = self._resolved(key.path, self._option(key.path), key.nothing)
        return kind(**decided)

    def _note_below(self, path: str, kind: type[msgspec.Struct]) -> None:
        for key in _keys_below(path, kind):
            if key.part is not None:
                self._note_below(key.path, key.part)
            else:
                self._note(group_value(key.path), None, key.nothing, _BUILT_IN)

    def count(self, path: str, target: tuple[int, str] | None, nothing: int, nothing_text: str, where: str = _BUILT_IN) -> int:
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
        self.chains.keep_all(partial(self._note_written, now_seconds))

    def _note_written(self, now_seconds: int) -> None:
        levels = self.sources.fields
        for path, field in LEVEL_FIELDS.items():
            self.chains.keep(path, partial(self._levels_of, path, field, levels, now_seconds))

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
        if option is not None and isinstance(built_in := group_value(path).built_in, StrEnum):
            return list(type(built_in))[option[0]], option[1]
        return option

    def _resolved(
        self, path: str, target: _ValueText | None, nothing: _ValueText | None = None, where: str = _BUILT_IN
    ) -> GroupScalar | None:
        value = group_value(path)
        self._note(value, target, nothing, where)
        return next(self._stated(value, target), (_TARGET, _last(value, nothing)))[1]

    def _note(self, value: GroupValue, target: _ValueText | None, nothing: _ValueText | None, where: str) -> None:
        self.chains.keep(value.path, partial(self._origins, value, target, nothing, where))

    def _stated(self, value: GroupValue, target: _ValueText | None) -> Iterator[tuple[int, GroupScalar | None]]:
        """Every level that states the value, and what it states: the one that counts first. The target's own value ranks after
        the document.

        Source of the order: design of the product, section 4 (`Effective value = …`).
        """
        levels, read = self._levels, value.read
        for level in _in_order(levels, self._windows, value):
            if level == self._target_rank and target is not None:
                yield _TARGET, target[0]
            scalar = read(levels[level])
            if scalar is not None:
                yield level, scalar

    def _origins(
        self,
        value: GroupValue,
        target: _ValueText | None,
        nothing: _ValueText | None,
        where: str,
    ) -> tuple[Origin, ...]:
        def text(scalar: GroupScalar | None) -> str:
            own = nothing[1] if nothing is not None and value.built_in is None and scalar == nothing[0] else ""
            return own or value.text(scalar)

        origins = [
            Origin(
                source=target[1] if level == _TARGET and target is not None else self.sources.place(level, value.path),
                value=text(scalar),
            )
            for level, scalar in self._stated(value, target)
        ]
        return (*origins, Origin(source=where, value=text(_last(value, nothing))))
