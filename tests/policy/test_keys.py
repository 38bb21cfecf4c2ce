"""A key is what its attribute states, and what the type, the name and the default of the attribute say."""

from enum import StrEnum
from typing import Annotated, Any, Generic, Never, TypeVar, cast

import msgspec
import pytest

from reconciler.policy.field import Field, Kind, Loosens
from reconciler.policy.keys import Key, keys_of

Missing = TypeVar("Missing", None, Never)
NOT_WRITTEN = cast(Any, None)


class Color(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Inner(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    wait_time_seconds: Annotated[int | Missing, Key("How long.", "1m", default="5m", loosens=Loosens.DOWN)] = NOT_WRITTEN


class Item(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, Key("Its name.", "a", kind=Kind.NAME)]


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    place: str = ""
    color: Annotated[Color | None, Key("Which color.", "Red")] = None
    most_nodes: Annotated[int, Key("How many.", 2, unit="nodes", maximum=9, yaml_key="max")] = 3
    share_percent: Annotated[int, Key("Which share.", 5)]
    end_seconds: Annotated[int | None, Key("When it ends.", "1h", never=True)] = None
    amounts: Annotated[tuple[tuple[str, int], ...], Key("How much.", "cpu: 1", resources=("cpu",))] = ()
    words: Annotated[tuple[str, ...], Key("Which words.", ("b",), minimum=1, kind=Kind.LABEL_KEY, item="One word.")] = ()
    colors: Annotated[tuple[Color, ...], Key("Which colors.", ("Red", "Blue"), item=Key("One color.", "Blue"))] = ()
    inner: Annotated[Inner[None], Key("What is inside.")] = Inner()
    items: Annotated[tuple[Item, ...], Key("Which items.", list_key="name", item="One item.")] = ()


DECLARED = (
    Field(yaml_key="color", attribute="color", kind=Kind.ENUM, enum=(*Color,), description="Which color.", examples=("Red",)),
    Field(
        yaml_key="max", attribute="most_nodes", kind=Kind.INTEGER, description="How many.", examples=(2,), unit="nodes",
        minimum=0, maximum=9, default=3,
    ),
    Field(
        yaml_key="sharePercent", attribute="share_percent", kind=Kind.PERCENT, description="Which share.", examples=(5,),
        unit="percent", minimum=0, maximum=100, required=True,
    ),
    Field(
        yaml_key="end", attribute="end_seconds", kind=Kind.DURATION, description="When it ends.", examples=("1h",),
        unit="seconds", minimum=0, enum=("Never",), default="Never",
    ),
    Field(
        yaml_key="amounts", attribute="amounts", kind=Kind.RESOURCE_MAP, description="How much.", examples=("cpu: 1",),
        resources=("cpu",),
    ),
    Field(
        yaml_key="words", attribute="words", kind=Kind.LIST, description="Which words.", examples=(("b",),),
        minimum=1, unique=True,
        item=Field(yaml_key="", kind=Kind.LABEL_KEY, description="One word.", examples=("b",)),
    ),
    Field(
        yaml_key="colors", attribute="colors", kind=Kind.LIST, description="Which colors.", examples=(("Red", "Blue"),),
        unique=True,
        item=Field(yaml_key="", kind=Kind.ENUM, enum=("Red", "Blue"), description="One color.", examples=("Blue",)),
    ),
    Field(
        yaml_key="inner", attribute="inner", kind=Kind.OBJECT, description="What is inside.",
        children=(
            Field(
                yaml_key="waitTime", attribute="wait_time_seconds", kind=Kind.DURATION, description="How long.", examples=("1m",),
                unit="seconds", minimum=0, default="5m", loosens=Loosens.DOWN,
            ),
        ),
    ),
    Field(
        yaml_key="items", attribute="items", kind=Kind.LIST, description="Which items.", list_key="name",
        item=Field(
            yaml_key="", kind=Kind.OBJECT, description="One item.",
            children=(
                Field(yaml_key="name", attribute="name", kind=Kind.NAME, description="Its name.", examples=("a",), required=True),
            ),
        ),
    ),
)  # fmt: skip


@pytest.mark.parametrize("declared", DECLARED, ids=lambda field: field.yaml_key)
def test_a_key_follows_from_its_attribute(declared: Field) -> None:
    found = {field.yaml_key: field for field in keys_of(Outer)}
    assert found[declared.yaml_key] == declared


def test_an_attribute_without_a_key_has_no_field() -> None:
    """The others keep the order of the struct."""
    assert [field.yaml_key for field in keys_of(Outer)] == [field.yaml_key for field in DECLARED]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    inner: Annotated[Inner[None], Key("What is inside for a while.", overrides=True)] = Inner()
    items: Annotated[tuple[Item, ...], Key("Which items.", item="One.", instead={"name": Key("A word.", "b")})] = ()


def test_what_overrides_has_no_default_and_no_direction() -> None:
    (wait,) = keys_of(Changed)[0].children
    assert (wait.yaml_key, wait.default, wait.loosens) == ("waitTime", None, "")


def test_the_items_of_a_list_may_have_other_keys() -> None:
    item = keys_of(Changed)[1].item
    assert item is not None
    (name,) = item.children
    assert (name.attribute, name.kind, name.examples) == ("name", Kind.STRING, ("b",))


_AROUND = Key("What is around.", yaml_key="around", loosens=Loosens.SAFE)


class Ordered(msgspec.Struct, frozen=True, kw_only=True):
    last: Annotated[int, Key("Last.", 1)] = 1
    one: Annotated[int, Key("One.", 1, within=_AROUND, before="last")] = 1
    other: Annotated[int, Key("The other.", 1, within=_AROUND, before="last")] = 1
    end: Annotated[int, Key("The end.", 1)] = 1


def test_keys_around_attributes_and_before_others() -> None:
    """An object without a struct holds the attributes that name it, in their order."""
    around, last, end = keys_of(Ordered)
    assert [field.yaml_key for field in (around, last, end)] == ["around", "last", "end"]
    assert (around.kind, around.loosens, around.attribute) == (Kind.OBJECT, Loosens.SAFE, "")
    assert [field.attribute for field in around.children] == ["one", "other"]


@pytest.mark.parametrize("ambiguous", [float, bool, tuple[tuple[str, str], ...]])
def test_a_type_that_may_be_written_in_several_ways_needs_a_kind(ambiguous: type) -> None:
    struct = msgspec.defstruct("Odd", [("some", Annotated[ambiguous, Key("Something.")])])  # type: ignore[misc, valid-type]
    with pytest.raises(TypeError, match="has to state its kind"):
        keys_of(struct)


def test_an_argument_that_no_field_has_is_refused() -> None:
    struct = msgspec.defstruct("Odd", [("some", Annotated[int, Key("Something.", loosen=Loosens.UP)])])
    with pytest.raises(TypeError, match="loosen"):
        keys_of(struct)


@pytest.mark.parametrize(("value", "again"), [(600, "10m"), (600, "5m")])
def test_a_default_that_stands_in_the_key_and_in_the_struct_is_refused(value: int, again: str) -> None:
    """Also where both say the same: the next change would be of one of them. A level that says nothing would say it, too."""
    struct = msgspec.defstruct("Twice", [("some_seconds", Annotated[int, Key("Something.", default=again)], value)])
    with pytest.raises(TypeError, match="take one away"):
        keys_of(struct)
