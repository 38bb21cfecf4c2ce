"""Measure all cases: `python -m tests.benchmarks.harness [--check | --write] [--only TEXT]`.

A case comes from a function `cases()` of a module in this directory; it yields `Case`s. Figures are printed in seconds
and, by processor time, as multiples of the yardstick, some of what is measured beside them; `--check` fails where a
multiple (or a peak of memory) is above 1.5 times the newest one in `history.json`, or where that one is above 1.2 times the
best of the last ten and does not say why. `--write` adds the figures there.
"""

import argparse
import datetime
import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.cli.main import collect_rarely
from tests.benchmarks.history import CREEPS, HISTORY, Entry, crept_from, read_history, write_history
from tests.benchmarks.measure import Case, Figure, measure
from tests.benchmarks.yardstick import yardstick_seconds

HERE = Path(__file__).parent
TOLERANCE = 1.5


def all_cases() -> Iterator[Case]:
    """The cases of every module here (or one directory below) that has any, by module name."""
    top = HERE.parent.parent
    for path in sorted(HERE.rglob("*.py")):
        if "def cases(" in path.read_text():
            name = ".".join(path.relative_to(top).with_suffix("").parts)
            if name != __spec__.name:
                yield from importlib.import_module(name).cases()


def complaint(figure: Figure, multiple: float, entries: Sequence[Entry], bound: float | None = None) -> str:
    """What is wrong with a figure, or nothing. `multiple` is that of the yardstick, or of what is measured beside it; `entries`
    are those of the case, and `bound` is the multiple asked for, if any."""
    if bound is not None and multiple > bound:
        return f"{multiple:.3g} times {figure.of}, asked {bound:g}"
    if not entries:
        return "no committed figure: run with --write and commit it"
    committed = entries[-1]
    if multiple > committed.multiple * TOLERANCE:
        return f"{multiple:.3g} times {figure.of}, committed {committed.multiple:.3g}"
    if figure.peak_mib and committed.peak_mib and figure.peak_mib > committed.peak_mib * TOLERANCE:
        return f"{figure.peak_mib:.0f} MiB, committed {committed.peak_mib:.0f}"
    return _crept(entries)


def _crept(entries: Sequence[Entry]) -> str:
    if (best := crept_from(entries)) is None:
        return ""
    was = f"{best.multiple:.3g} on {best.date} ({best.commit})"
    return f"{entries[-1].multiple:.3g} is above {CREEPS:g} times {was}: say why in the newest line of history.json"


def _now(multiple: float, peak_mib: float | None) -> Entry:
    """What was measured today of the commit that is checked out."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Entry(today, commit, float(f"{multiple:.3g}"), round(peak_mib, 1) if peak_mib else None)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 when `--check` finds something."""
    parser = argparse.ArgumentParser(prog="harness", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="compare with the multiples in history.json")
    how.add_argument("--write", action="store_true", help="add these figures to history.json")
    parser.add_argument("--only", default="", help="only cases with this text in their name")
    options = parser.parse_args(arguments)
    collect_rarely()  # as every run of the product does
    history = read_history()
    print(f"{'':44} {'wall':>11} {'processor':>11}")
    print(f"{'yardstick':44} {'':11} {yardstick_seconds():9.4f} s       1 x")
    complaints: list[str] = []
    for case in all_cases():
        if options.only in case.name:
            figure = measure(case)
            # Anew with each case: the machine may have got busier. Seeds have theirs beside each.
            multiple = figure.cpu_seconds / yardstick_seconds() if figure.ratio is None else figure.ratio
            _print(case, figure, multiple)
            entries = history.setdefault(case.name, [])
            said = complaint(figure, multiple, entries, case.bound_multiple)
            complaints += [f"{case.name}: {said}"] if said else []
            entries.append(_now(multiple, figure.peak_mib))
    if options.write:
        write_history(history)
        crept = [f"{name}: {said}" for name, entries in history.items() if (said := _crept(entries))]
        print("\n".join([f"written: {HISTORY}", *crept]))
    if options.check:
        fine = "every figure is within 1.5 times the committed one, and none has crept"
        print("\n".join(["", *complaints]) if complaints else fine)
    return 1 if options.check and complaints else 0


def _print(case: Case, figure: Figure, multiple: float) -> None:
    memory = f"{figure.peak_mib:7.0f} MiB" if figure.peak_mib else " " * 11
    asked = "" if case.bound_seconds is None else f"   asked {case.bound_seconds:g} s"
    over = "   OVER" if case.bound_seconds is not None and figure.seconds > case.bound_seconds else ""
    times = f"{figure.seconds:9.4f} s {figure.cpu_seconds:9.4f} s {multiple:7.3g} x"
    if case.bound_multiple is not None:
        asked, over = f"   asked {case.bound_multiple:g} x", "   OVER" if multiple > case.bound_multiple else ""
    worst = "" if figure.worst_ratio is None else f"   worst {figure.worst_ratio:.3g} x"
    seeds = f"   seeds {' '.join(map(str, case.seeds))}" if case.seeds else ""
    print(f"{case.name:44} {times} {memory}   {figure.runs} runs{worst}{asked}{over}{seeds}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
