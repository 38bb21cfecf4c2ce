"""One parser of instants, and everything that holds its grammar beside it."""

import re

import pytest

from reconciler.cluster.snapshots.pseudonyms import is_instant
from reconciler.cluster.targets.hold_mark import HOLD_END, HoldMark, read_hold
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.policy.field import Field, Kind
from reconciler.rendering.schemas.scalar_schema import scalar_schema
from reconciler.values.instant import MAX_LENGTH, InstantError, InstantFault, instant_text, micro_instant_text, parse_instant
from tests.grammars.instants import INSTANTS

BLANKS = "\t\n\f\r "
BEYOND_THE_YEARS = ("9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01")
IDS = [f"{number}-{text[:24]!a}" for number, (text, _) in enumerate(INSTANTS)]


@pytest.mark.parametrize(("text", "seconds"), INSTANTS, ids=IDS)
def test_policy_and_cluster_take_the_same_instants(text: str, seconds: int | None) -> None:
    """A text means one instant in a policy and on an object, or it is none in either."""
    if seconds is None:
        with pytest.raises(InstantError) as refused:
            parse_instant(text)
        assert len(str(refused.value)) < 200
        assert refused.value.hint
        with pytest.raises(UnreadableError, match="invalid time"):
            unix_seconds(text)
    else:
        assert (parse_instant(text), unix_seconds(text)) == (seconds, seconds)


@pytest.mark.parametrize(("text", "seconds"), INSTANTS, ids=IDS)
def test_a_hold_ends_at_every_instant(text: str, seconds: int | None) -> None:
    """Blanks around it are no part of it; what is no instant holds for ever. The API server's guard reads the same."""
    plain = next((one for known, one in INSTANTS if known == text.strip(BLANKS)), seconds)
    whole = f"migration; until {text}"
    assert read_hold(whole) == (HoldMark(reason=whole) if plain is None else HoldMark(reason="migration", until_seconds=plain))
    guarded = re.fullmatch(HOLD_END, text) is not None
    assert guarded == (plain is not None or text in BEYOND_THE_YEARS)


@pytest.mark.parametrize(("text", "seconds"), INSTANTS, ids=IDS)
def test_the_schema_takes_every_instant(text: str, seconds: int | None) -> None:
    """It takes more: a pattern knows no calendar, and the reader refuses the rest."""
    schema = scalar_schema(Field(yaml_key="until", kind=Kind.INSTANT, description="When."))
    longest, pattern = schema["maxLength"], schema["pattern"]
    assert isinstance(pattern, str)
    taken = len(text) <= MAX_LENGTH == longest and re.search(pattern, text) is not None
    assert taken or seconds is None


@pytest.mark.parametrize(("text", "seconds"), INSTANTS, ids=IDS)
def test_a_snapshot_keeps_no_other_text(text: str, seconds: int | None) -> None:
    """A fraction that could be another number does not leave the house either."""
    assert is_instant(text) == (seconds is not None and len(text) <= 35)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("2" * 65, InstantFault.LENGTH),
        ("now", InstantFault.FORM),
        ("2026-02-30T00:00:00Z", InstantFault.DAY),
        ("2026-02-28T00:60:00Z", InstantFault.TIME),
        ("2026-02-28T00:00:00+24:00", InstantFault.OFFSET),
    ],
)
def test_an_error_says_which_part_is_wrong(text: str, fault: InstantFault) -> None:
    """Readers word it in their own way."""
    with pytest.raises(InstantError) as refused:
        parse_instant(text)
    assert refused.value.fault is fault
    assert str(refused.value).endswith(refused.value.reason)


def test_what_is_printed_is_read_back() -> None:
    """Every instant of the table, those before the year 1000 too."""
    for _, seconds in INSTANTS:
        if seconds is not None:
            assert parse_instant(instant_text(seconds)) == seconds
    assert instant_text(-62_135_596_800) == "0001-01-01T00:00:00Z"
    assert micro_instant_text(1_795_284_000.25) == "2026-11-21T18:00:00.250000Z"
