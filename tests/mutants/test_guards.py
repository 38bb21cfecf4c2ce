"""Each guard of a write or a bound is watched by a test of less than 3 s: with the guard broken, that test is red."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.mutants.campaign import tried
from tests.mutants.guards import GUARDS, Guard
from tests.mutants.mutant import ROOT, Mutant


def _broken(guard: Guard) -> Mutant:
    text = (ROOT / guard.file).read_text(encoding="utf-8")
    assert text.count(guard.before) == 1, f"{guard.file} says it {text.count(guard.before)} times: {guard.before}"
    line = text[: text.index(guard.before)].count("\n") + 1
    return Mutant(file=guard.file, what=guard.name, source=text.replace(guard.before, guard.after), line=line)


def test_broken_guards_are_noticed() -> None:
    """All of them in one process of its own, which forks for each. That a change which breaks nothing is not noticed there is
    shown beside this."""
    mutants = [_broken(guard) for guard in GUARDS]
    tests = sorted({test for guard in GUARDS for test in guard.tests})
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        results = pool.submit(tried, mutants, tests, every=True).result(timeout=1800)
    assert [guard.name for guard, noticed in zip(GUARDS, results, strict=True) if not noticed] == []
