"""How long one case takes, and how much memory its process needed."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence

import msgspec

Run = Callable[[], object] | Sequence[str]


class Case(msgspec.Struct, frozen=True):
    """One figure: its name, what to run (a function, or the arguments of a process), and the seconds asked for, if any."""

    name: str
    run: Run
    bound_seconds: float | None = None


class Figure(msgspec.Struct, frozen=True):
    """What was measured: medians of several runs, as the clock on the wall has it and as processor time; memory only of
    processes. Processor time is what is compared: it hangs less on what else the machine does."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_mib: float | None
    runs: int


# Short cases are repeated until a median means something, long ones are not.
_RUNS, _ENOUGH_SECONDS, _FEWEST = 7, 20.0, 3
_MANY, _SHORT_SECONDS = 50, 0.5


def measure(case: Case) -> Figure:
    """Run a case several times. Raises RuntimeError with its stderr when a process fails."""
    seconds: list[float] = []
    cpu: list[float] = []
    peaks: list[float] = []
    while _again(seconds):
        if callable(case.run):
            started, busy = time.perf_counter(), time.process_time()
            case.run()
            cpu.append(time.process_time() - busy)
            seconds.append(time.perf_counter() - started)
        else:
            taken, usage = _process(case.name, case.run)
            seconds.append(taken)
            cpu.append(usage.ru_utime + usage.ru_stime)
            peaks.append(usage.ru_maxrss / 1024)
    peak = max(peaks) if peaks else None
    return Figure(case.name, statistics.median(seconds), statistics.median(cpu), peak, len(seconds))


def _again(seconds: list[float]) -> bool:
    if len(seconds) < _FEWEST:
        return True
    if len(seconds) < _RUNS:
        return sum(seconds) < _ENOUGH_SECONDS
    return len(seconds) < _MANY and sum(seconds) < _SHORT_SECONDS


def _process(name: str, arguments: Sequence[str]) -> tuple[float, resource.struct_rusage]:
    started = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        said = process.stderr.read() if process.stderr else b""
        # wait4 gives the resources of this child alone; Popen must not wait a second time.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - started
    if process.returncode != 0:
        raise RuntimeError(f"{name}: {' '.join(arguments)} ended with {process.returncode}: {said.decode()[-500:]}")
    return taken, usage
