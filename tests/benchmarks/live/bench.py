"""The live loop on a real control plane: `python -m tests.benchmarks.live.bench` (`make bench-live`).

Makes the cluster (that is not measured), starts the loop in a fresh process, and prints the first sync, a steady loop with
and without changes, the peak of its memory, and the list calls that the API server counted while nothing happened. Figures
are seconds on the clock and of the processor, beside the load of the machine, since both share it with the API server. Exit
code 1: a bound was missed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO

import msgspec

from tests.benchmarks.live import objects
from tests.benchmarks.live.fill import fill
from tests.benchmarks.live.probe import Event
from tests.benchmarks.yardstick import yardstick_seconds
from tests.live.rights import GROUP, grant
from tests.testbed import progress
from tests.testbed.api import Api
from tests.testbed.connections import Connections, Request
from tests.testbed.control_plane import MASTERS, ControlPlane, running_control_plane
from tests.testbed.progress import step
from tests.testbed.toolchain import NotAvailableError

_USER = "reconciler-bench"
_TURNS = 7
_CHANGED_PODS = 20
_SETTLE_SECONDS, _LOOK_SECONDS, _QUIET_CORES = 60.0, 2.0, 0.3
_SYNC_BOUND_SECONDS, _LOOP_BOUND_SECONDS, _PEAK_BOUND_MIB = 10.0, 1.0, 400.0


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="bench-live", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--pods", type=int, default=30_000, help="pods on nodes")
    parser.add_argument("--pending", type=int, default=50, help="pods that wait")
    options = parser.parse_args(arguments)
    progress.write_to(sys.stderr)
    try:
        with running_control_plane() as plane:
            with step(f"{options.nodes:,} nodes, {options.pods:,} pods"):
                names = fill(plane, options.nodes, options.pods, options.pending)
            with step("the control plane coming to rest"):
                _settle(plane)
            yardstick = yardstick_seconds()
            figures = measured(plane, names)
            _report(figures, yardstick)
            return 1 if any(figure.missed for figure in figures) else 0
    except NotAvailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """What came out, and what it may be at most (None: nothing is asked of it), in one unit; the processor time of the measured
    process behind it, None where that says nothing."""

    name: str
    value: float
    bound: float | None = None
    unit: str = "s"
    cpu_seconds: float | None = None

    @property
    def missed(self) -> bool:
        """More than was asked."""
        return self.bound is not None and self.value > self.bound

    def line(self, yardstick: float) -> str:
        """One row; the multiple is processor time over that of the yardstick, as `make bench` has it."""
        value = f"{self.value:9.3f} s" if self.unit == "s" else f"{self.value:5.0f} {self.unit:5}"
        asked = "" if self.bound is None else f"asked {self.bound:g} {self.unit}".rstrip()
        cpu = "" if self.cpu_seconds is None else f"{self.cpu_seconds:9.3f} s {self.cpu_seconds / yardstick:8.3g} x"
        return f"{self.name:48} {value:11} {cpu:22}   {asked:14} {'missed' if self.missed else ''}".rstrip()


def measured(plane: ControlPlane, pods: list[str]) -> list[Figure]:
    """All figures, printed as they come. `pods` are those that may be changed."""
    grant(plane)
    kubeconfig = plane.kubeconfig_of(_USER, GROUP)
    command = [sys.executable, "-m", "tests.benchmarks.live.probe", str(kubeconfig), objects.NAMESPACE, *objects.group_names()]
    served = plane.processor_seconds()["kube-apiserver"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        probe = _Conversation(process)
        sync = probe.hear()
        served = plane.processor_seconds()["kube-apiserver"] - served
        print(f"{sync.nodes:,} nodes, {sync.pods:,} pods; the API server needed {served:.1f} s of the processor meanwhile")
        figures = [_figure("first sync", [sync], _SYNC_BOUND_SECONDS)]
        figures.append(_figure("first loop", [probe.ask("turn")], None))
        before = _lists(plane)
        idle = [probe.ask("turn") for _ in range(_TURNS)]
        lists = _lists(plane) - before
        figures.append(_figure("steady loop, nothing changed", idle, _LOOP_BOUND_SECONDS))
        changed = []
        for round_number in range(_TURNS):
            _touch(plane, pods[round_number :: max(len(pods) // _CHANGED_PODS, 1)][:_CHANGED_PODS], round_number)
            changed.append(probe.ask("changed"))
        figures.append(_figure(f"steady loop, {_CHANGED_PODS} pods changed", changed, _LOOP_BOUND_SECONDS))
        probe.end()
    print(f"{changed[-1].pods:,} pods are pending: {changed[-1].summary}")
    figures += (
        Figure(name="memory once synced", value=sync.peak_kib / 1024, unit="MiB"),
        Figure(name="peak memory (VmHWM)", value=changed[-1].peak_kib / 1024, bound=_PEAK_BOUND_MIB, unit="MiB"),
        Figure(name=f"list calls in {_TURNS} idle loops", value=lists, bound=0, unit=""),
    )
    return figures


def _report(figures: list[Figure], yardstick: float) -> None:
    print(f"\n{'':48} {'wall':>11} {'processor':>11}   ({_load()})")
    print(f"{'yardstick':48} {'':11} {yardstick:9.3f} s        1 x")
    for figure in figures:
        print(figure.line(yardstick))
    missed = [figure.name for figure in figures if figure.missed]
    print(f"missed: {', '.join(missed)}" if missed else "every figure is within its bound")


def _settle(plane: ControlPlane) -> None:
    """Return when the control plane has done what the new objects make it do, or a minute has passed."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    before = sum(plane.processor_seconds().values())
    while time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        after = sum(plane.processor_seconds().values())
        if after - before < _LOOK_SECONDS * _QUIET_CORES:
            return
        before = after


class _Conversation:
    """One word to the process, one line back."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._in: IO[str] = _there(process.stdin)
        self._out: IO[str] = _there(process.stdout)

    def hear(self) -> Event:
        line = self._out.readline()
        if not line:
            raise RuntimeError("the measured process ended; its error is above")
        return msgspec.json.decode(line, type=Event)

    def ask(self, word: str) -> Event:
        self._in.write(f"{word}\n")
        self._in.flush()
        return self.hear()

    def end(self) -> None:
        self._in.write("end\n")
        self._in.flush()


def _there(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("no pipe")
    return pipe


def _touch(plane: ControlPlane, pods: list[str], round_number: int) -> None:
    """Another label on some pods, so that they are of a shape of their own."""
    api = Api(plane.kubeconfig_of("kwok", MASTERS))
    with Connections(api) as connections:
        connections.send(
            Request(
                "PATCH",
                f"/api/v1/namespaces/{objects.NAMESPACE}/pods/{name}",
                {"metadata": {"labels": {"round": str(round_number)}}},
            )
            for name in pods
        )


def _lists(plane: ControlPlane) -> int:
    return sum(1 for request in plane.audit(_USER, mutating=False) if request.verb == "list")


def _figure(name: str, events: list[Event], bound_seconds: float | None) -> Figure:
    """The medians of some events."""
    seconds, cpu = (statistics.median(times) for times in zip(*((one.seconds, one.cpu_seconds) for one in events), strict=True))
    worst = f", slowest {max(event.seconds for event in events):.3f} s" if len(events) > 1 else ""
    print(f"{name:48} {seconds:7.3f} s, processor {cpu:7.3f} s{worst}   {_load()}", flush=True)
    return Figure(name=name, value=seconds, bound=bound_seconds, cpu_seconds=cpu)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
