"""The values of one group by key, each with its origin."""

from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.effective_values import Chains, Sources, in_order, target_option
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields, TargetAnnotations
from reconciler.policy.field import structs_in
from reconciler.policy.group_value import GroupScalar, GroupValue, attributes_of, fields_below, group_value
from reconciler.policy.levels import LEVEL_FIELDS, NOTHING, LevelField

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
        elif key.path in LEVEL_FIELDS:
            decided[key.attribute] = next((listed for listed in below if listed), ())
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
            elif key.path in LEVEL_FIELDS:
                decided[key.attribute] = self._listed(LEVEL_FIELDS[key.path])
            else:
                decided[key.attribute] = self._resolved(key.path, self._option(key.path), key.nothing)
        return kind(**decided)

    def _listed(self, field: LevelField[Any]) -> tuple[Any, ...]:
        """The list of the nearest level. Those of several open windows are added together: their order decides nothing."""
        stated = field.stated(self._levels, 0)
        ahead = [items for level, items in stated if level < self._windows]
        if len(ahead) < 2:
            return next((items for _, items in stated), ())
        return tuple(sorted({item for items in ahead for item in items}))

    def _note_below(self, path: str, kind: type[msgspec.Struct]) -> None:
        for key in _keys_below(path, kind):
            if key.part is not None:
                self._note_below(key.path, key.part)
            elif key.path not in LEVEL_FIELDS:
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
        for level in in_order(levels, self._windows, value):
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
