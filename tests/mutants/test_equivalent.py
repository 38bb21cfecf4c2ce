"""What is listed as equivalent is still a change of the product, and has a reason."""

from tests.mutants.areas import area_of
from tests.mutants.changes import mutant_at, places
from tests.mutants.equivalent import EQUIVALENT, names_of
from tests.mutants.mutant import ROOT


def test_each_listed_change_exists() -> None:
    for file, listed in EQUIVALENT.items():
        text = (ROOT / file).read_text("utf-8")
        made = {name for place in places(text) for name in names_of(mutant_at(file, text, place), text)}
        assert set(listed) <= made, f"{area_of(file)}: no such change: {sorted(set(listed) - made)}"


def test_each_listed_change_has_a_reason() -> None:
    short = [change for listed in EQUIVALENT.values() for change, reason in listed.items() if len(reason.split()) < 4]
    assert short == []
