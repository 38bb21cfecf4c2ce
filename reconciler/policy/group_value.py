"""One value of a group as the field table describes it: where it lies in a level of the policy, and what is built in.

The row of the field table is the only place that knows such a default; who uses a value names its path.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter

import msgspec

from reconciler.policy.documents import GroupFields
from reconciler.policy.field import Field, Kind
from reconciler.policy.field_tables.group_fields import GROUP_FIELDS
from reconciler.values.duration import duration_text, parse_duration

GroupScalar = int | str


class GroupValue(msgspec.Struct, frozen=True):
    """The field at `path` (`scaleDown.unneededTime`). `read` gives what a level says, None where it says nothing; `built_in` is
    what applies when no level does: durations in seconds, percentages as integers, choices as their word, None: nothing."""

    path: str
    kind: Kind
    read: Callable[[GroupFields], GroupScalar | None]
    built_in: GroupScalar | None

    def text(self, value: GroupScalar) -> str:
        """A value as people read it: `10m`, `50%`, `Enabled`."""
        if self.kind is Kind.DURATION and isinstance(value, int):
            return duration_text(value)
        return f"{value}%" if self.kind is Kind.PERCENT else str(value)


@cache
def group_value(path: str) -> GroupValue:
    """The value at a path below the spec of a NodeGroup. Raises KeyError for a path that the table does not have."""
    field = _row(path)[-1]
    if not field.attribute or field.children:
        raise KeyError(path)
    return GroupValue(path, field.kind, attrgetter(".".join(attributes_of(path))), _built_in(field))


def attributes_of(path: str) -> tuple[str, ...]:
    """The attributes of a level that lead to a field: `("scale_down", "mode")` for `scaleDown.mode`. Raises KeyError as above."""
    return tuple(field.attribute for field in _row(path) if field.attribute)


def _row(path: str) -> list[Field]:
    """The fields of the table along a path, the one it names last."""
    fields, row = GROUP_FIELDS, list[Field]()
    for key in path.split("."):
        field = next((field for field in fields if field.yaml_key == key), None)
        if field is None:
            raise KeyError(path)
        fields = field.children
        row.append(field)
    return row


def _built_in(field: Field) -> GroupScalar | None:
    default = field.default
    if isinstance(default, tuple):
        raise TypeError(f"{field.yaml_key} is a list, which is no single value")
    if field.kind is Kind.DURATION and isinstance(default, str):
        return parse_duration(default)
    return default
