"""Each guard of a write or a bound is watched by a quick test: with the guard broken, that test is red."""

import pytest

from tests.mutants.guards import GUARDS, Guard
from tests.mutants.mutant import ROOT, Mutant, is_noticed


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_broken_guard_is_noticed(guard: Guard) -> None:
    """The change is made in memory, in a process of its own."""
    text = (ROOT / guard.file).read_text(encoding="utf-8")
    assert text.count(guard.before) == 1, f"{guard.file} says it {text.count(guard.before)} times: {guard.before}"
    changed = Mutant(file=guard.file, what=guard.name, source=text.replace(guard.before, guard.after))
    assert is_noticed(changed, guard.tests, timeout_seconds=300)


def test_what_is_not_broken_is_green() -> None:
    """The same way of running says no where nothing was changed: a red test above means something."""
    guard = GUARDS[0]
    text = (ROOT / guard.file).read_text(encoding="utf-8")
    assert not is_noticed(Mutant(file=guard.file, what="nothing", source=text), guard.tests, timeout_seconds=300)
