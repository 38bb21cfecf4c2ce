"""How long one case takes, and how much memory its process needed."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from tests.benchmarks.yardstick import yardstick_seconds

Run = Callable[[], object] | Sequence[str]
Prepare = Callable[[int], Callable[[], object]]


class Case(msgspec.Struct, frozen=True):
    """One figure: its name, what to run (a function, or the arguments of a process), and the seconds asked for, if any.

    With `seeds` what runs is made anew of each seed by `run`, and the figure is the median over seeds of its multiple of the
    yardstick, or of what `beside` makes of the same seed. Either is run right before it, so that what the machine does
    meanwhile drops out. `bound_multiple` is the multiple asked for.
    """

    name: str
    run: Run | Prepare
    bound_seconds: float | None = None
    bound_multiple: float | None = None
    seeds: tuple[int, ...] = ()
    beside: Prepare | None = None


class Figure(msgspec.Struct, frozen=True):
    """What was measured: medians of several runs, as the clock on the wall has it and as processor time; memory only of
    processes. Processor time is what is compared: it hangs less on what else the machine does. `ratio` is the median multiple of
    what is beside it, `worst_ratio` the largest."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_mib: float | None
    runs: int
    ratio: float | None = None
    worst_ratio: float | None = None
    of: str = "the yardstick"


# Short cases are repeated until a median means something, long ones are not.
_RUNS, _ENOUGH_SECONDS, _FEWEST = 7, 20.0, 3
_MANY, _SHORT_SECONDS = 50, 0.5


def measure(case: Case) -> Figure:
    """Run a case several times. Raises RuntimeError with its stderr when a process fails."""
    if case.seeds:
        return _over_seeds(case)
    seconds: list[float] = []
    cpu: list[float] = []
    peaks: list[float] = []
    while _again(seconds):
        if callable(case.run):
            run = cast("Callable[[], object]", case.run)
            started, busy = time.perf_counter(), time.process_time()
            run()
            cpu.append(time.process_time() - busy)
            seconds.append(time.perf_counter() - started)
        else:
            taken, busy, peak_mib = _process(case.name, case.run)
            seconds.append(taken)
            cpu.append(busy)
            peaks.append(peak_mib)
    peak = max(peaks) if peaks else None
    return Figure(case.name, statistics.median(seconds), statistics.median(cpu), peak, len(seconds))


def _over_seeds(case: Case) -> Figure:
    prepare = cast("Prepare", case.run)
    seconds: list[float] = []
    cpu: list[float] = []
    ratios: list[float] = []
    # A process loads some modules with the first decision that needs them (0.3 s for the solver): that is no part of any seed.
    _once(prepare(case.seeds[0]))
    for seed in case.seeds:
        run = prepare(seed)
        base = yardstick_seconds(1) if case.beside is None else _once(case.beside(seed))[1]
        elapsed, busy = _once(run)
        cpu.append(busy)
        seconds.append(elapsed)
        ratios.append(busy / base)
    of = "the yardstick" if case.beside is None else "what is beside it"
    middle = statistics.median
    return Figure(case.name, middle(seconds), middle(cpu), None, len(cpu), middle(ratios), max(ratios), of)


def _once(run: Callable[[], object]) -> tuple[float, float]:
    gc.collect()
    started, busy = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - started, time.process_time() - busy


def _again(seconds: list[float]) -> bool:
    if len(seconds) < _FEWEST:
        return True
    if len(seconds) < _RUNS:
        return sum(seconds) < _ENOUGH_SECONDS
    return len(seconds) < _MANY and sum(seconds) < _SHORT_SECONDS


# A child starts with the peak memory of the process that forked it, so that a large parent hides what the child needs:
# a small launcher stands between. It prints seconds, processor seconds and peak KiB.
_LAUNCHER = """
import os, sys, time
started = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""


def _process(name: str, arguments: Sequence[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak MiB of one run."""
    launched = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *arguments]
    done = subprocess.run(launched, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {' '.join(arguments)} failed: {done.stderr[-500:]}")
    seconds, busy, peak = done.stdout.split()
    return float(seconds), float(busy), float(peak) / 1024
