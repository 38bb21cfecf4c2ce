"""Quantities: the grammar and the rounding of apimachinery's resource.Quantity."""

import pytest

from reconciler.cluster.values import quantity
from reconciler.cluster.values.quantity import QuantityError, QuantityRangeError, milli, whole


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("1.", 1),
        (".5", 1),
        ("1Ki", 1024),
        ("1.5Ki", 1536),
        ("128Mi", 134_217_728),
        ("128Gi", 137_438_953_472),
        ("128G", 128_000_000_000),
        ("1Ti", 1_099_511_627_776),
        ("1Pi", 1_125_899_906_842_624),
        ("7Ei", 8_070_450_532_247_928_832),
        ("1k", 1000),
        ("1M", 1_000_000),
        ("1T", 1_000_000_000_000),
        ("1P", 10**15),
        ("9E", 9 * 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1500e-3", 2),
        ("16000m", 16),
        ("500m", 1),
        ("1001m", 2),
        ("1u", 1),
        ("1n", 1),
        ("-500m", -1),
        ("128974848000m", 128_974_848),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_whole_units(text: str, units: int) -> None:
    """A quantity reads as whole units, away from zero."""
    assert whole(text) == units


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("1", 1000), ("100m", 100), ("0.1", 100), ("0.0001", 1), ("1u", 1), ("1e3", 1_000_000), ("2.5", 2500), ("0.5Ki", 512_000)],
)
def test_milli(text: str, thousandths: int) -> None:
    """A cpu amount reads in thousandths, rounded up."""
    assert milli(text) == thousandths


def test_finer_than_a_billionth_is_a_billionth() -> None:
    """The smallest amount is one billionth."""
    assert quantity.nano("0.0000000001") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "1 ",
        " 1",
        "1KI",
        "1Kib",
        "1mm",
        ".",
        "+",
        "1e",
        "1e1.5",
        "0x10",
        "1_000",
        "\u0661",
        "1,5",
        "--1",
        "NaN",
        "inf",
    ],
)
def test_no_quantity(text: str) -> None:
    """What the grammar does not know is refused, naming the text."""
    with pytest.raises(QuantityError, match="invalid quantity"):
        whole(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "8Ei", "10E", "1e19", "1e999999999"])
def test_beyond_64_bits(text: str) -> None:
    """An amount that 64 bits cannot hold is told apart from a text that is none."""
    with pytest.raises(QuantityRangeError) as refused:
        whole(text)
    assert refused.value.limit == 2**63 - 1


def test_negative_beyond_64_bits() -> None:
    """The nearest amount below zero is the negative one."""
    with pytest.raises(QuantityRangeError) as refused:
        whole("-1e30")
    assert refused.value.limit == -(2**63 - 1)


def test_tiny_exponent_ends() -> None:
    """An absurd negative exponent is one billionth and takes no time."""
    assert quantity.nano("1e-999999999") == 1


def test_long_text_is_shortened_in_the_message() -> None:
    """A text of a million digits is refused without arithmetic, and quoted short."""
    with pytest.raises(QuantityError) as refused:
        whole("1" * 1_000_000)
    assert len(str(refused.value)) < 200


def test_vector_sums_before_rounding() -> None:
    """Two halves of a byte are one byte, as the scheduler sums quantities before it reads them."""
    half = quantity.nanos({"memory": "500m"})["memory"]
    assert quantity.vector({"memory": half + half}).resources.memory_bytes == 1


def test_vector_cuts_what_is_too_large() -> None:
    """An amount beyond 64 bits is cut and reported."""
    vector = quantity.vector(quantity.nanos({"memory": "16E", "cpu": "1"}))
    assert vector.resources.memory_bytes == 2**63 - 1
    assert vector.resources.cpu_milli == 1000
    assert [text.split()[0] for text in vector.problems] == ["memory"]


def test_negative_amounts_are_refused() -> None:
    """Nobody has or asks for less than nothing."""
    with pytest.raises(QuantityError, match='cpu: "-1" is negative'):
        quantity.nanos({"cpu": "-1"})
