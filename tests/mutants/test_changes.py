from tests.mutants.areas import AREAS, importing, sources
from tests.mutants.campaign import drawn
from tests.mutants.changes import mutant_at, places
from tests.mutants.mutant import ROOT

_TEXT = '''"""Doc 1."""
LIMIT = 3


def f(a: int = 1, b: bool = True) -> int:
    """Two."""
    if a < LIMIT and not b:
        return max(a, 2) - 1
    return a if b else len(f"{a + 1}")


class Kept(Struct, frozen=True, omit_defaults=True):
    """Three."""
'''


def test_every_kind_of_change_once() -> None:
    """Comparison, condition and its parts, negation, call, arithmetic, numbers, truth; no text that people read."""
    found = [mutant_at("x.py", _TEXT, place).what.removeprefix("x.py:") for place in places(_TEXT)]
    assert found == [
        "2: 3 -> 4",
        "5: 1 -> 2",
        "5: True -> False",
        "7: a < LIMIT and (not b) -> a < LIMIT or not b",
        "7: a < LIMIT and (not b) -> not b",
        "7: a < LIMIT and (not b) -> a < LIMIT",
        "7: a < LIMIT -> a <= LIMIT",
        "7: not b -> b",
        "8: max(a, 2) - 1 -> max(a, 2) + 1",
        "8: max(a, 2) -> min(a, 2)",
        "8: 2 -> 3",
        "8: 1 -> 2",
        "9: a if b else len(f'{a + 1}') -> a if not b else len(f'{a + 1}')",
        "12: True -> False",
    ]


def test_a_change_touches_its_place_alone() -> None:
    """What stands before and behind stays as it was written, comments and umlauts included."""
    text = "# größer\nx = 1 < 2  # why\ny = 'ä' if x > 3 else ''\n"
    sources_of = [mutant_at("x.py", text, place).source for place in places(text)]
    assert "# größer\nx = (1 <= 2)  # why\ny = 'ä' if x > 3 else ''\n" in sources_of
    assert "# größer\nx = 1 < 2  # why\ny = 'ä' if (x >= 3) else ''\n" in sources_of


def test_a_seed_draws_the_same_mutants_and_each_area_has_tests() -> None:
    """So that a survivor can be looked at again."""
    first, again, other = (drawn(20, seed, "reconciler/kube") for seed in (7, 7, 8))
    assert [mutant.what for mutant in first] == [mutant.what for mutant in again] != [mutant.what for mutant in other]
    assert len({mutant.what for mutant in first}) == 20
    assert {next(area for area in AREAS if file.startswith(area)) for file in sources()} == set(AREAS)
    line = first[0].what.partition(" ")[0].removesuffix(":")
    assert {mutant.what.partition(" ")[0].removesuffix(":") for mutant in drawn(20, 7, line)} == {line}
    assert all((ROOT / folder).is_dir() for folders in AREAS.values() for folder in folders)


def test_who_imports_a_file() -> None:
    """Its constants are seen there."""
    found = importing("reconciler/kube/leading/lease.py")
    assert {"reconciler/kube/leading/lease.py", "reconciler/control/saved_plans/live_apply.py"} <= found
    assert len(found) < 30


def test_every_mutant_is_python() -> None:
    """A change that does not compile would be noticed for nothing."""
    for mutant in drawn(60, 11, "reconciler/gitops"):
        compile(mutant.source, mutant.file, "exec")
