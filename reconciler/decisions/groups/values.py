"""The values of one group, each asked for by its path in the field table, with the chain that it came from."""

from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.groups.chain import Chains, Resolved, Sources, resolve, target_option
from reconciler.decisions.groups.group import Origin
from reconciler.policy.documents import GroupFields
from reconciler.policy.group_value import GroupScalar, group_value
from reconciler.policy.levels import LEVEL_FIELDS, NOTHING, LevelField

Choice = TypeVar("Choice", bound=StrEnum)
_Told = tuple[GroupScalar, str]


class Values:
    """Asks the sources of one group. `chains` notes what was asked."""

    def __init__(self, sources: Sources, facts: TargetFacts | None) -> None:
        self.sources = sources
        self.chains = Chains()
        self._facts = facts

    def seconds(self, path: str) -> int:
        """A duration."""
        return self._number(path, None)

    def percent(self, path: str) -> int:
        """A percentage."""
        return self._number(path, None)

    def count(self, path: str, target: tuple[int, str] | None, nothing: int, nothing_text: str) -> int:
        """A number that the target itself may say, and where; `nothing` when nobody does, told as `nothing_text`."""
        return self._number(path, target, (nothing, nothing_text))

    def text(self, path: str, nothing_text: str = "", target: tuple[str, str] | None = None) -> str:
        """A text, which the target itself may say; empty when nobody does and none is built in, told as `nothing_text`."""
        return str(self._found(path, target, ("", nothing_text)))

    def choice(self, path: str, kind: type[Choice], target: tuple[Choice, str] | None = None) -> Choice:
        """One of the words of `kind`."""
        return kind(str(self._found(path, target)))

    def choice_or(self, path: str, kind: type[Choice], otherwise: Choice, where: str) -> Choice:
        """As `choice`, where nothing is built in: `otherwise`, which `where` says."""
        return kind(str(self._found(path, None, (otherwise, str(otherwise)), where)))

    def written(self, now_seconds: int) -> None:
        """Note every field that is more than one scalar, with the levels that say something at this instant."""
        levels = self.sources.fields()
        for path, field in LEVEL_FIELDS.items():
            self.chains.keep(path, Resolved(field, partial(self._levels_of, path, field, levels, now_seconds)))

    def _levels_of(
        self, path: str, field: LevelField[Any], levels: tuple[GroupFields, ...], now_seconds: int
    ) -> tuple[Origin, ...]:
        said = field.counting(levels, now_seconds) if field.adds else field.said(levels, now_seconds)
        found = (Origin(source=self.sources.place(level, path), value=field.text(value)) for level, value in said)
        last = "the target and its nodes" if path.startswith("template.") else "built-in"
        return (*found, Origin(source=last, value=NOTHING))

    def option(self, path: str) -> tuple[int, str] | None:
        """The target's own number for a path, and where it says that."""
        return target_option(self._facts, path)

    def _number(self, path: str, target: tuple[int, str] | None, nothing: _Told | None = None) -> int:
        found = self._found(path, target or self.option(path), nothing)
        if not isinstance(found, int):
            raise TypeError(f"{path} is no number")
        return found

    def _found(self, path: str, target: _Told | None, nothing: _Told | None = None, where: str = "built-in") -> GroupScalar:
        value = group_value(path)
        built_in = value.built_in
        told = dict[GroupScalar, str]()
        if built_in is None:
            if nothing is None:
                raise TypeError(f"{path} has no default: say what applies when nobody says it")
            built_in = nothing[0]
            told[built_in] = nothing[1]

        def text(found: GroupScalar) -> str:
            return told.get(found) or value.text(found)

        return self.chains.keep(path, resolve(self.sources, path, value.read, built_in, text, target, where))
