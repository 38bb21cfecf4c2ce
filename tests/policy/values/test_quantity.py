"""Quantities: expected values by hand from the grammar of Kubernetes' resource.Quantity."""

import pytest

from reconciler.policy.values.quantity import QuantityError, parse_amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("4", 4),
        ("+4", 4),
        ("5.", 5),
        ("1.5k", 1_500),
        ("128G", 128_000_000_000),
        ("128Gi", 137_438_953_472),
        ("16Ti", 17_592_186_044_416),
        ("0.5Ki", 512),
        (".5Ki", 512),
        ("1E", 10**18),
        ("1e3", 1_000),
        ("1E3", 1_000),
        ("12e6", 12_000_000),
        ("5000e-3", 5),
        ("3000m", 3),
        ("2000000u", 2),
        ("9223372036854775807", 2**63 - 1),
        ("0e999999999", 0),
    ],
)
def test_base_units(text: str, amount: int) -> None:
    """Memory and counts are whole numbers of their base unit."""
    assert parse_amount(text, milli=False) == amount


@pytest.mark.parametrize(
    ("text", "milli"),
    [("1", 1000), ("500m", 500), ("0.5", 500), ("16000m", 16000), ("1.001", 1001), ("2k", 2_000_000), ("1e-3", 1), ("1000u", 1)],
)
def test_cpu_in_milli(text: str, milli: int) -> None:
    """Cpu is counted in thousandths."""
    assert parse_amount(text, milli=True) == milli


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1 Gi", "Gi", ".", "1.2.3", "1KB", "0x10", "1e", "1e1.5", "--1", "1mi", "\u0661", "1" * 65]
)
def test_what_is_no_quantity(text: str) -> None:
    """Everything outside the grammar is refused."""
    with pytest.raises(QuantityError) as caught:
        parse_amount(text, milli=False)
    assert caught.value.code == "BadQuantity"


@pytest.mark.parametrize(
    ("text", "milli", "code"),
    [
        ("-1", False, "NegativeNumber"),
        ("1.5", False, "FractionalAmount"),
        ("100m", False, "FractionalAmount"),
        ("1n", True, "FractionalAmount"),
        ("9223372036854775808", False, "Overflow"),
        ("9Ei", True, "Overflow"),
        ("1e999999999", False, "Overflow"),
    ],
)
def test_amounts_that_cannot_be_meant(text: str, milli: bool, code: str) -> None:
    """Negative, fractional and overlarge amounts are refused instead of rounded."""
    with pytest.raises(QuantityError) as caught:
        parse_amount(text, milli=milli)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "hint"), [("64GB", "write 64G"), ("64 Gi", "write 64Gi"), ("4KB", "write 4k"), ("2cores", "write 2")]
)
def test_hints_say_what_to_write(text: str, hint: str) -> None:
    """The usual slips get the right text."""
    with pytest.raises(QuantityError) as caught:
        parse_amount(text, milli=False)
    assert caught.value.hint == hint
