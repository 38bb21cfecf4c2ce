"""One parser of money, and everything that holds its grammar beside it."""

import re

import pytest

from reconciler.policy.field import Field, Kind
from reconciler.rendering.schemas.scalar_schema import scalar_schema
from reconciler.values.money import MAX_LENGTH, MoneyError, parse_money, price_text
from tests.grammars.prices import PRICES

IDS = [f"{number}-{text[:24]!a}" for number, (text, _) in enumerate(PRICES)]


@pytest.mark.parametrize(("text", "micros"), PRICES, ids=IDS)
def test_an_amount_is_plain_digits(text: str, micros: int | None) -> None:
    """Everything else is refused with a hint that is short."""
    if micros is None:
        with pytest.raises(MoneyError) as refused:
            parse_money(text)
        assert refused.value.hint
        assert len(str(refused.value)) + len(refused.value.hint) < 300
    else:
        assert parse_money(text) == micros


@pytest.mark.parametrize(("text", "micros"), PRICES, ids=IDS)
def test_the_schema_takes_the_same_amounts(text: str, micros: int | None) -> None:
    """No more and no fewer; `$` of Python alone stands before a last line break."""
    schema = scalar_schema(Field(yaml_key="pricePerHour", kind=Kind.MONEY, description="How much."))
    longest, pattern = schema["maxLength"], schema["pattern"]
    assert isinstance(pattern, str)
    taken = len(text) <= MAX_LENGTH == longest and re.search(pattern, text) is not None and not text.endswith("\n")
    assert taken == (micros is not None)


def test_what_is_printed_is_read_back() -> None:
    """Every amount of the table."""
    for _, micros in PRICES:
        if micros is not None:
            assert parse_money(price_text(micros)) == micros
    assert price_text(-1_500_000) == "-1.50"
