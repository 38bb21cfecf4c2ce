"""One parser of quantities, and everything that holds its grammar beside it."""

import math
import re
from fractions import Fraction

import pytest

from reconciler.cluster.values.quantity import QuantityError, QuantityRangeError, milli, nano, whole
from reconciler.policy.values import quantity as policy
from reconciler.policy.values.quantity import parse_amount
from reconciler.rendering.schemas.scalar_schema import QUANTITY
from reconciler.values.quantity import INT64_MAX, MAX_LENGTH, QuantityFormError, parse_quantity, quantity_text
from tests.grammars.quantities import QUANTITIES

IDS = [f"{number}-{text[:24]!a}" for number, (text, _) in enumerate(QUANTITIES)]
READINGS = ((whole, False, 1), (milli, True, 1_000))


def away_from_zero(value: Fraction | int) -> int:
    return math.ceil(value) if value >= 0 else math.floor(value)


@pytest.mark.parametrize(("text", "value"), QUANTITIES, ids=IDS)
def test_a_quantity_is_read_exactly(text: str, value: Fraction | int | None) -> None:
    """Every digit counts; what is none is refused at once, however long it is."""
    if value is None:
        with pytest.raises(QuantityFormError):
            parse_quantity(text)
    else:
        read = parse_quantity(text)
        assert Fraction(read.integer) * Fraction(10) ** read.power_of_ten == value


@pytest.mark.parametrize(("text", "value"), QUANTITIES, ids=IDS)
def test_objects_round_away_from_zero(text: str, value: Fraction | int | None) -> None:
    """And are refused beyond 64 bits."""
    if value is None:
        with pytest.raises(QuantityError, match="invalid quantity"):
            nano(text)
        return
    assert nano(text) == away_from_zero(value * 10**9)
    for read, _, unit in READINGS:
        amount = away_from_zero(value * unit)
        if abs(amount) > INT64_MAX:
            with pytest.raises(QuantityRangeError):
                read(text)
        else:
            assert read(text) == amount


@pytest.mark.parametrize(("text", "value"), QUANTITIES, ids=IDS)
def test_policies_round_nothing(text: str, value: Fraction | int | None) -> None:
    """Where they take a text, objects have the same amount."""
    for read, thousandths, unit in READINGS:
        amount = None if value is None else value * unit
        code = (
            "BadQuantity" if amount is None
            else "NegativeNumber" if amount < 0
            else "FractionalAmount" if amount.denominator != 1
            else "Overflow" if amount > INT64_MAX
            else ""
        )  # fmt: skip
        if code:
            with pytest.raises(policy.QuantityError) as refused:
                parse_amount(text, milli=thousandths)
            assert refused.value.code == code
            assert len(str(refused.value)) + len(refused.value.hint) < 300
        else:
            assert parse_amount(text, milli=thousandths) == amount == read(text)


@pytest.mark.parametrize(("text", "value"), QUANTITIES, ids=IDS)
def test_the_schema_takes_every_quantity_from_zero(text: str, value: Fraction | int | None) -> None:
    """And nothing else, but for what is below zero with a plus or does not fit."""
    taken = len(text) <= MAX_LENGTH and re.search(QUANTITY, text) is not None and not text.endswith("\n")
    assert taken == (value is not None and not text.startswith("-"))


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "pods"])
def test_what_is_printed_is_read_back(resource: str) -> None:
    """Every amount that a policy may hold."""
    for text, _ in QUANTITIES:
        try:
            amount = parse_amount(text, milli=resource == "cpu")
        except policy.QuantityError:
            continue
        assert parse_amount(quantity_text(resource, amount), milli=resource == "cpu") == amount
