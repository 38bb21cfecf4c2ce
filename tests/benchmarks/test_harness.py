import sys
from pathlib import Path

import pytest

from tests.benchmarks.harness import complaint
from tests.benchmarks.history import LAST, Entry, crept_from, read_history
from tests.benchmarks.measure import Case, Figure, Prepare, measure


def committed(multiple: float, peak_mib: float | None = None, why: str = "") -> list[Entry]:
    return [Entry("2026-11-20", "0123abcd", multiple, peak_mib, why)]


def test_the_page_has_the_newest_figures_of_the_settled_column() -> None:
    page = Path("docs/explanation/sizing.md").read_text()
    (row,) = (line for line in page.splitlines() if line.startswith("| settled column"))
    clusters = ("50 apps x 1,000, 20 groups", "2,000 nodes x 40 pods of 50 apps", "5,000 nodes, 5,000 pending")
    names = [f"settled / decide: {one}" for one in (*clusters, "5,000 nodes, 300 apps with rules")]
    newest = [read_history()[name][-1].multiple for name in names]
    assert row.split("|")[3].strip() == ", ".join(f"{multiple:.2g}" for multiple in newest)


def test_a_figure_that_creeps_needs_a_line_that_says_why() -> None:
    """Each step is below 1.2 times the one before, and the last is 1.3 times the first."""
    steps = [*committed(2.0), *committed(2.3), *committed(2.6)]
    said = complaint(Figure("plan", 1.0, 1.0, None, 3), 2.6, steps)
    assert said == "2.6 is above 1.2 times 2 on 2026-11-20 (0123abcd): say why in the newest line of history.json"
    assert crept_from(steps[:2]) is None
    assert crept_from([*steps[:2], *committed(2.6, why="devices are judged too")]) is None
    assert crept_from([*committed(1.0), *committed(2.6) * LAST]) is None


def test_every_figure_that_crept_says_why() -> None:
    assert {name for name, entries in read_history().items() if crept_from(entries)} == set()


def test_a_figure_may_be_half_as_large_again() -> None:
    """1.5 times the committed multiple passes, more does not."""
    figure = Figure("plan", seconds=3.0, cpu_seconds=3.0, peak_mib=None, runs=3)
    assert complaint(figure, 3.0, committed(2.0)) == ""
    assert complaint(figure, 3.01, committed(2.0)) == "3.01 times the yardstick, committed 2"


def test_memory_may_be_half_as_large_again() -> None:
    """1.5 times the committed peak passes, more does not."""
    assert complaint(Figure("plan", 1.0, 1.0, 150.0, 3), 1.0, committed(1.0, 100.0)) == ""
    assert complaint(Figure("plan", 1.0, 1.0, 151.0, 3), 1.0, committed(1.0, 100.0)) == "151 MiB, committed 100"


def test_a_new_figure_must_be_committed() -> None:
    """A case that nobody committed a figure for is reported."""
    assert "--write" in complaint(Figure("new", 1.0, 1.0, None, 3), 1.0, [])


def test_a_process_is_measured_with_its_own_memory() -> None:
    """A child that holds 64 MiB shows at least that, though an earlier child held more."""
    more = measure(Case("more", [sys.executable, "-c", "x = bytearray(96 << 20)"]))
    less = measure(Case("less", [sys.executable, "-c", "x = bytearray(32 << 20)"]))
    assert more.peak_mib is not None
    assert less.peak_mib is not None
    assert more.peak_mib > 96
    assert 32 < less.peak_mib < 96


def test_a_failing_process_is_no_figure() -> None:
    """A case whose process fails raises with what the process said."""
    with pytest.raises(RuntimeError, match="it broke"):
        measure(Case("broken", [sys.executable, "-c", "raise SystemExit('it broke')"]))


def test_a_bound_in_multiples_is_kept_whatever_was_committed() -> None:
    """1.25 times the yardstick is asked for: 1.3 is reported though more was committed."""
    figure = Figure("mixed", seconds=1.0, cpu_seconds=1.0, peak_mib=None, runs=9)
    assert complaint(figure, 1.3, committed(2.0), 1.25) == "1.3 times the yardstick, asked 1.25"
    assert complaint(figure, 1.2, committed(2.0), 1.25) == ""


def test_seeds_are_measured_one_by_one() -> None:
    """Three seeds: each is prepared once and run once, the first once more beforehand, and the figure knows the worst."""
    asked: list[int] = []
    figure = measure(Case("seeded", lambda seed: lambda: asked.append(seed), seeds=(5, 6, 7)))
    assert asked == [5, 5, 6, 7]
    assert figure.runs == 3
    assert figure.ratio is not None
    assert figure.worst_ratio is not None
    assert figure.worst_ratio >= figure.ratio


def test_the_yardstick_is_laid_beside_each_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gets three times as slow in between: the multiple is that of the same moment."""
    clock, slow = [0.0], [1.0, 3.0, 9.0]
    units = [0.0]

    def unit(_: int) -> float:
        units[0] = slow.pop(0)
        return units[0]

    def work() -> None:
        clock[0] += 2 * (units[0] or 50.0)

    monkeypatch.setattr("tests.benchmarks.measure.yardstick_seconds", unit)
    monkeypatch.setattr("time.process_time", lambda: clock[0])
    figure = measure(Case("seeded", lambda _: work, seeds=(5, 6, 7)))
    assert (figure.ratio, figure.worst_ratio, figure.of) == (2.0, 2.0, "the yardstick")


def test_what_is_beside_a_case_is_its_measure() -> None:
    """Both are made of the same seed; three times the work is about three times as much, whatever the machine does."""

    def loop(times: int) -> Prepare:
        return lambda seed: lambda: sum(range(times * (seed + 200_000)))

    figure = measure(Case("thrice", loop(3), seeds=tuple(range(9)), beside=loop(1)))
    assert figure.ratio is not None
    assert 1.5 < figure.ratio < 6
    assert "what is beside it, asked 1" in complaint(figure, figure.ratio, [], 1.0)
