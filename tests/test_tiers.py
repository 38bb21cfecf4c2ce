"""Which tests are quick: by the file of durations, which must not be older than the tests by much."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import durations, meter, tiers
from tests.durations import Durations, FileDurations, files_of_tests, functions, shares
from tests.meter import Book

HERE = "tests/test_tiers.py"
HARDLY_KNOWN = 0.1
"""This part of all test functions may have come or gone since they were measured."""


def test_the_file_of_durations_is_about_the_tests_that_there_are() -> None:
    """`make test` runs what it does not know, and so takes longer and longer: `make test-all` writes it anew."""
    there = {path: functions(durations.ROOT / path) for path in files_of_tests()}
    known = {path: one.functions for path, one in durations.durations().files.items()}
    changed = sum(abs(there.get(path, 0) - known.get(path, 0)) for path in there.keys() | known.keys())
    assert changed <= HARDLY_KNOWN * sum(there.values()), f"{changed} test functions came or went: run `make test-all`"


def test_what_is_slow() -> None:
    """A test that is named, and one with a slow fixture, whatever else is known of it; not one that nobody measured."""
    known = Durations({"tests/browser::browser": 3.0}, {HERE: FileDurations(2, 3, 0.1, {"test_a[1]": 1.5})})
    assert known.is_slow(f"{HERE}::test_a[1]", ())
    assert not known.is_slow(f"{HERE}::test_a[2]", ("tests::tmp_path",))
    assert known.is_slow("tests/browser/test_new.py::test_it", ("tests::tmp_path", "tests/browser::browser"))
    assert not known.is_slow("tests/plan/test_new.py::test_it", ())
    assert known.is_slow("tests/live/test_new.py::test_it", ())


def test_a_file_of_slow_tests_is_read_when_it_has_more_tests_than_were_measured() -> None:
    """Nothing else could tell whether a new one is quick."""
    count = functions(durations.ROOT / HERE)
    all_slow = {"test_a": 2.0}
    assert not Durations({}, {HERE: FileDurations(count, 4, 0.0, all_slow, needs=3)}).has_quick_tests(HERE)
    assert Durations({}, {HERE: FileDurations(count, 5, 0.0, all_slow, needs=3)}).has_quick_tests(HERE)
    assert Durations({}, {HERE: FileDurations(count - 1, 4, 0.0, all_slow, needs=3)}).has_quick_tests(HERE)
    assert Durations({}, {}).has_quick_tests(HERE)


def test_workers_share_the_files() -> None:
    """Each file is in one part, and the parts take about as long: 5, 4 and 2 + 2 seconds."""
    assert shares({"a": 5.0, "b": 4.0, "c": 2.0, "d": 2.0}, 3) == [{"a"}, {"b"}, {"c", "d"}]


def item(name: str, **params: int) -> Any:
    """A test as pytest collects it."""
    callspec = SimpleNamespace(params=params)
    return SimpleNamespace(nodeid=f"{HERE}::{name}", callspec=callspec, obj=None)


def selected(tier: str, items: list[Any]) -> list[str]:
    """What one tier runs."""
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    left = [*items]
    tiers.select(SimpleNamespace(option=SimpleNamespace(tier=tier, groups=None), hook=hook), left)  # type: ignore[arg-type]
    return [one.nodeid.partition("::")[2] for one in left]


def test_each_test_is_of_one_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow one and three quarters of the seeds are left to the other tier."""
    known = Durations({}, {HERE: FileDurations(1, 1, 0.0, {"test_slow": 1.0})})
    monkeypatch.setattr(tiers, "durations", lambda: known)
    items = [item("test_it"), item("test_slow"), *(item(f"test_seeds[{seed}]", seed=seed) for seed in range(5))]
    assert selected("quick", items) == ["test_it", "test_seeds[0]", "test_seeds[4]"]
    assert selected("rest", items) == ["test_slow", "test_seeds[1]", "test_seeds[2]", "test_seeds[3]"]


def test_of_a_long_test_one_case_in_four_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in a file that costs more than three seconds, and of more than twenty cases."""
    items = [*(item(f"test_many[{case}]") for case in range(21)), *(item(f"test_few[{case}]") for case in range(20))]
    for seconds, many in ((3.5, 6), (2.5, 21)):
        known = Durations({}, {HERE: FileDurations(2, 41, seconds)})
        monkeypatch.setattr(tiers, "durations", lambda known=known: known)
        quick, rest = selected("quick", items), selected("rest", items)
        assert [sum(name.startswith(function) for name in quick) for function in ("test_many", "test_few")] == [many, 20]
        assert sorted(quick + rest) == sorted(one.nodeid.partition("::")[2] for one in items)


def report(name: str, cost: float, **fixtures: float) -> Any:
    """What a worker tells of a test."""
    return SimpleNamespace(nodeid=f"{HERE}::{name}", user_properties=[("cost", [cost, fixtures])])


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_measured_is_written(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """A test from a quarter of a second on is named, unless its fixture says it; what was not measured in a part run stays."""
    written: list[Durations] = []
    before = Durations(
        {"tests::plane": 30.0}, {"tests/conftest.py": FileDurations(1, 1, 0.5), "tests/gone.py": FileDurations(1, 1, 0.5)}
    )
    monkeypatch.setattr(meter, "write", written.append)
    monkeypatch.setattr(meter, "durations", lambda: before)
    book = Book(whole=whole)
    for one in (report("test_a", 0.1), report("test_b", 0.249), report("test_c", 0.26), report("test_d", 0.1, browser=3.14)):
        book.pytest_runtest_logreport(one)
    book.pytest_sessionfinish(SimpleNamespace(shouldstop=False, shouldfail=False))  # type: ignore[arg-type]
    measured = {HERE: FileDurations(functions(Path(__file__)), 4, 0.3, {"test_c": 0.3}, needs=1)}
    kept = {} if whole else {"tests/conftest.py": FileDurations(1, 1, 0.5)}
    fixtures = {"browser": 3.1} | ({} if whole else {"tests::plane": 30.0})
    assert written == [Durations(fixtures, kept | measured)]


def test_nothing_is_written_of_a_run_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-x` leaves most tests unmeasured."""
    monkeypatch.setattr(meter, "write", lambda found: pytest.fail("written"))
    book = Book(whole=True)
    book.pytest_runtest_logreport(report("test_a", 0.25))
    book.pytest_sessionfinish(SimpleNamespace(shouldstop="1 failure", shouldfail=False))  # type: ignore[arg-type]


def test_processes_that_were_waited_for_count() -> None:
    """A child that computes until it has taken 50 ms of processor time."""
    import subprocess
    import sys

    before = meter.Reading()
    subprocess.run([sys.executable, "-S", "-c", "import time\nwhile time.process_time() < 0.05: pass"], check=True)
    assert 0.05 <= before.cost() < 5
