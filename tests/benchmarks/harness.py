"""Measure all cases: `python -m tests.benchmarks.harness [--check | --write] [--only TEXT]`.

A case comes from a function `cases()` of a module in this directory; it yields `Case`s. Figures are printed in seconds
and, by processor time, as multiples of the yardstick, some of what is measured beside them; `--check` fails where a
multiple (or a peak of memory) is above 1.5 times the committed one.
"""

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.measure import Case, Figure, measure
from tests.benchmarks.yardstick import yardstick_seconds

HERE = Path(__file__).parent
COMMITTED = HERE / "committed.json"
TOLERANCE = 1.5


class Committed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A committed figure: a multiple of the yardstick, and MiB."""

    multiple: float
    peak_mib: float | None = None


def all_cases() -> Iterator[Case]:
    """The cases of every module here (or one directory below) that has any, by module name."""
    top = HERE.parent.parent
    for path in sorted(HERE.rglob("*.py")):
        if "def cases(" in path.read_text():
            name = ".".join(path.relative_to(top).with_suffix("").parts)
            if name != __spec__.name:
                yield from importlib.import_module(name).cases()


def complaint(figure: Figure, multiple: float, committed: Committed | None, bound: float | None = None) -> str:
    """What is wrong with a figure, or nothing. `multiple` is that of the yardstick, or of what is measured beside it; `bound` is
    the multiple asked for, if any."""
    if bound is not None and multiple > bound:
        return f"{multiple:.3g} times {figure.of}, asked {bound:g}"
    if committed is None:
        return "no committed figure: run with --write and commit it"
    if multiple > committed.multiple * TOLERANCE:
        return f"{multiple:.3g} times {figure.of}, committed {committed.multiple:.3g}"
    if figure.peak_mib and committed.peak_mib and figure.peak_mib > committed.peak_mib * TOLERANCE:
        return f"{figure.peak_mib:.0f} MiB, committed {committed.peak_mib:.0f}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 when `--check` finds something."""
    parser = argparse.ArgumentParser(prog="harness", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="compare with the committed multiples")
    how.add_argument("--write", action="store_true", help="make these figures the committed ones")
    parser.add_argument("--only", default="", help="only cases with this text in their name")
    options = parser.parse_args(arguments)
    committed = msgspec.json.decode(COMMITTED.read_bytes(), type=dict[str, Committed]) if COMMITTED.exists() else {}
    print(f"{'':44} {'wall':>11} {'processor':>11}")
    print(f"{'yardstick':44} {'':11} {yardstick_seconds():9.4f} s       1 x")
    complaints: list[str] = []
    for case in all_cases():
        if options.only in case.name:
            figure = measure(case)
            # Anew with each case: the machine may have got busier. Seeds have theirs beside each.
            multiple = figure.cpu_seconds / yardstick_seconds() if figure.ratio is None else figure.ratio
            _print(case, figure, multiple)
            said = complaint(figure, multiple, committed.get(case.name), case.bound_multiple)
            complaints += [f"{case.name}: {said}"] if said else []
            committed[case.name] = Committed(float(f"{multiple:.3g}"), round(figure.peak_mib, 1) if figure.peak_mib else None)
    if options.write:
        COMMITTED.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(committed.items()))), indent=1) + b"\n")
        print(f"written: {COMMITTED}")
    if options.check:
        print("\n".join(["", *complaints]) if complaints else "every figure is within 1.5 times the committed one")
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
