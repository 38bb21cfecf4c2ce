"""Every text of a policy is bounded, in the definitions that an API server checks and in every reader."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.policy.field import LONGEST, Field, Kind
from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.document import Reading
from reconciler.policy.values.quantity import QuantityError, parse_amount
from reconciler.policy.values.schedule import ScheduleError, canonical_schedule
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar
from reconciler.rendering.schemas.crd import custom_resource_definition
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.money import MoneyError, parse_money

FIELDS = [
    field
    for kind in document_kinds()
    for field in walk(kind.root)
    if field.kind not in (Kind.OBJECT, Kind.LIST, Kind.TAINT_LIST, Kind.SELECTOR, Kind.OPAQUE)
]
BY_KIND = {field.kind: field for field in FIELDS}
PIECES = (
    "1",
    "0",
    ".",
    "_",
    ":",
    "-",
    "+",
    "e",
    "m",
    "s",
    "h",
    "d",
    "%",
    "/",
    "*",
    "a",
    "é",
    " ",
    ",",
    "Z",
    "T",
    "٣",
    "x/",
    "1s",
)


def texts_of(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of a text below `schema`, with its path."""
    if isinstance(schema, dict):
        if schema.get("type") == "string" or (schema.get("x-kubernetes-int-or-string") is True and "pattern" in schema):
            yield path, schema
        for key, value in schema.items():
            yield from texts_of(value, f"{path}.{key}")


@pytest.mark.parametrize("kind", document_kinds(), ids=lambda kind: kind.kind)
def test_a_definition_bounds_every_text_of_a_spec(kind: Any) -> None:
    """Without a bound an API server takes a megabyte; with words to choose from there is nothing to bound."""
    (version,) = custom_resource_definition(kind)["spec"]["versions"]  # type: ignore[index]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found = list(texts_of(spec))
    assert len(found) > 20
    assert [path for path, schema in found if "maxLength" not in schema and "enum" not in schema] == []


def scalar(text: str, *, plain: bool) -> Scalar:
    return Scalar(text, plain, 1, 1, 1, len(text) + 1)


def read(field: Field, node: Node) -> tuple[object, Findings]:
    findings = Findings()
    source = Source("p.yaml", ("",))
    findings.open(source)
    return Reading("NodeGroup", source, findings).read(field, node, field.path), findings


def hostile(chance: random.Random) -> str:
    """A long text of few pieces: repeated, or strewn, perhaps with something at an end that fits nothing."""
    pieces = chance.sample(PIECES, chance.randint(1, 3))
    length = chance.choice((65, 400, 5_000, 20_000))
    body = pieces[0] * length if chance.random() < 0.6 else "".join(chance.choices(pieces, k=length))
    return chance.choice(("", "1", "-", "*/", "2030-01-01T00:00:00.")) + body + chance.choice(("", "!", "s", "Z", " * * * *"))


@pytest.mark.parametrize("kind", BY_KIND, ids=str)
def test_no_reader_fails_or_repeats_what_is_long(kind: Kind) -> None:
    """Whatever a scalar says, it is a value or problems, each of which shows a part of it."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance, field = random.Random(seed), BY_KIND[kind]
    for _ in range(60):
        value = scalar(hostile(chance), plain=chance.random() < 0.5)
        key = scalar(hostile(chance) if chance.random() < 0.5 else "cpu", plain=True)
        node: Node = Mapping(((key, value),), 1, 1, 1, 1) if kind.value.endswith("Map") else value
        _, findings = read(field, node)
        for problem in findings.sorted():
            assert len(problem.message) + len(problem.hint) < 1500


@pytest.mark.parametrize("kind", [kind for kind in BY_KIND if kind in (Kind.STRING, Kind.TIME_ZONE, Kind.STRING_MAP)], ids=str)
def test_a_text_without_a_form_has_an_end(kind: Kind) -> None:
    """As many characters as the table says are read, one more is told."""
    longest = LONGEST[kind]
    field = next(field for field in FIELDS if field.kind is kind and not field.enum and not field.pattern)
    for length in (longest, longest + 1):
        value = scalar("x" * length, plain=False)
        node = Mapping(((scalar("key", plain=True), value),), 1, 1, 1, 1) if kind is Kind.STRING_MAP else value
        _, findings = read(field, node)
        assert ("TextTooLong" in {problem.code for problem in findings.sorted()}) == (length > longest)


@pytest.mark.parametrize(("text", "parse", "error"), [
    ("0." + "0" * 62 + "s", parse_duration, DurationError),
    ("1s" * 33, parse_duration, DurationError),
    ("2030-01-01T00:00:00." + "0" * 50 + "Z", parse_instant, InstantError),
    ("0" * 20, parse_money, MoneyError),
    ("0" * 65, lambda text: parse_amount(text, milli=False), QuantityError),
    ("*/5" + ",1" * 255 + " * * * *", canonical_schedule, ScheduleError),
])  # fmt: skip
def test_a_value_beyond_its_bound_is_told(text: str, parse: Any, error: type[Exception]) -> None:
    """One that would be understood if it was shorter."""
    with pytest.raises(error) as told:
        parse(text)
    assert len(str(told.value)) < 150


@pytest.mark.parametrize(("text", "parse", "value"), [
    ("0" * 63 + "s", parse_duration, 0),
    ("1m" * 32, parse_duration, 1920),
    ("2030-01-01T00:00:00." + "0" * 43 + "Z", parse_instant, 1893456000),
    ("999999999999.999999", parse_money, 999_999_999_999_999_999),
])  # fmt: skip
def test_a_value_at_its_bound_is_read(text: str, parse: Any, value: int) -> None:
    """The longest that is taken."""
    assert parse(text) == value
