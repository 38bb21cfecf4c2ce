"""Numbers of objects have the bounds of the API, whatever field they are in: one beyond 64 bits is refused with its place."""

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import inspect

from reconciler.cluster import wire

STRUCTS = sorted(
    {
        found
        for module in pkgutil.iter_modules(wire.__path__)
        for found in vars(importlib.import_module(f"{wire.__name__}.{module.name}")).values()
        if isinstance(found, type) and issubclass(found, msgspec.Struct)
    },
    key=lambda one: (one.__module__, one.__name__),
)


def _numbers(found: object) -> Iterator[inspect.IntType]:
    """The numbers in the type of a field, but quantities, which are read on their own and have no such bounds."""
    if isinstance(found, inspect.UnionType) and any(isinstance(one, inspect.StrType) for one in found.types):
        return
    if isinstance(found, inspect.IntType):
        yield found
    elif isinstance(found, inspect.UnionType):
        for one in found.types:
            yield from _numbers(one)
    elif isinstance(found, inspect.ListType):
        yield from _numbers(found.item_type)
    elif isinstance(found, inspect.DictType):
        yield from _numbers(found.value_type)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda one: f"{one.__module__.rpartition('.')[2]}.{one.__name__}")
def test_every_number_has_bounds(struct: type[msgspec.Struct]) -> None:
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        for number in _numbers(field.type):
            assert (number.ge, number.le) == (-(1 << 63), (1 << 63) - 1), field.name
