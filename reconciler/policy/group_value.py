"""One value of a group by its key: where it is in a level of the policy, and its built-in value.

Only the key has this default. Code that uses a value names its path.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from operator import attrgetter

import msgspec

from reconciler.policy.documents import (
    GroupFields,
)
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Field, Kind, Loosens, MergeRule, words_from_tightest
from reconciler.values.duration import duration_text, parse_duration

GroupScalar = int | str


class GroupValue(msgspec.Struct, frozen=True):
    """The field at `path` (`scaleDown.unneededTime`). `read` gives the value of a level, or None. `built_in` applies if no level
    has a value; None means no value. Durations are in seconds, percentages are integers, and choices are enum members. `loosens`
    is that of the field."""

    path: str
    kind: Kind
    read: Callable[[GroupFields], GroupScalar | None]
    built_in: GroupScalar | None
    loosens: str = ""

    @property
    def ordered(self) -> bool:
        """Whether of two values one is stricter."""
        return self.loosens not in ("", Loosens.SAFE)

    def looseness(self, value: GroupScalar) -> Decimal:
        """The less, the stricter the value is."""
        if self.loosens in (Loosens.UP, Loosens.DOWN):
            return Decimal(value) if self.loosens == Loosens.UP else -Decimal(value)
        words = words_from_tightest(self.loosens)
        return Decimal(words.index(str(value)) if value in words else -1)

    def text(self, value: GroupScalar | None) -> str:
        """A value as people read it: `10m`, `50%`, `Enabled`. A number that is None does not limit anything."""
        if value is None:
            return "no limit"
        if self.kind is Kind.DURATION and isinstance(value, int):
            return duration_text(value)
        return f"{value}%" if self.kind is Kind.PERCENT else str(value)


@cache
def group_value(path: str) -> GroupValue:
    """The value at a path below the spec of a NodeGroup. Raises KeyError for a path that no key has."""
    field = _row(path)[-1]
    if not field.attribute or field.children:
        raise KeyError(path)
    read = attrgetter(".".join(attributes_of(path)))
    return GroupValue(path, field.kind, read, _built_in(field), field.loosens)


def fields_below(path: str) -> tuple[Field, ...]:
    """The keys below `scaleDown`, say. Raises KeyError for a path that no key has."""
    return _row(path)[-1].children


def attributes_of(path: str) -> tuple[str, ...]:
    """The attributes of a level that lead to a field: `("scale_down", "mode")` for `scaleDown.mode`. Raises KeyError as above."""
    return tuple(field.attribute for field in _row(path) if field.attribute)


@cache
def _row(path: str) -> tuple[Field, ...]:
    """The fields along a path, the one it names last."""
    fields, row = GROUP_FIELDS, list[Field]()
    for key in path.split("."):
        field = next((field for field in fields if field.yaml_key == key), None)
        if field is None:
            raise KeyError(path)
        fields = field.children
        row.append(field)
    return tuple(row)


@cache
def merge_rule_of(path: str) -> MergeRule:
    """How levels of the value at this path are merged."""
    return _row(path)[-1].merge


def _built_in(field: Field) -> GroupScalar | None:
    default = field.default
    if default in field.enum:
        return field.enum[field.enum.index(default)]  # the member, not only its text
    if isinstance(default, tuple):
        raise TypeError(f"{field.yaml_key} is a list, not a single value")
    if field.kind is Kind.DURATION and isinstance(default, str):
        return parse_duration(default)
    return default
