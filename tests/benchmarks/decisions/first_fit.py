"""Grouped first fit of a trace in C: how fast placing alone could be, and what it costs where nodes come at once."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.simulation.replays.trace import Trace

SOURCE = Path(__file__).with_name("first_fit.c")


class MachineType(msgspec.Struct, frozen=True):
    """What a node offers, and its price per hour in micros."""

    price_micros: int
    capacity: Resources


class FirstFit(msgspec.Struct, frozen=True):
    """One repetition: its processor time, the cost in micros, and how many pods got a node or fit on none."""

    nanoseconds: int
    cost_micros: int
    placed: int
    refused: int


def first_fit(trace: Trace, types: Sequence[MachineType], *, repetitions: int = 1) -> FirstFit | None:
    """The trace on nodes of these types; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "first_fit"
        subprocess.run([compiler, "-O2", "-o", program, SOURCE], check=True)
        given = " ".join(map(str, _numbers(trace, types, repetitions)))
        done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    nanoseconds, cost_seconds, placed, refused = map(int, done.stdout.split())
    return FirstFit(nanoseconds, cost_seconds // 3600, placed, refused)


def _numbers(trace: Trace, types: Sequence[MachineType], repetitions: int) -> list[int]:
    offered, wanted = [dict(kind.capacity.items()) for kind in types], [dict(one.shape.requests.items()) for one in trace.sources]
    names = sorted({name for amounts in (*offered, *wanted) for name in amounts})
    changes = sum(len(step.changes) for step in trace.steps)
    numbers = [len(names), len(types), len(wanted), len(trace.steps), trace.end_seconds, repetitions, changes]
    for kind, amounts in zip(types, offered, strict=True):
        numbers += [kind.price_micros, *(amounts.get(name, 0) for name in names)]
    for amounts in wanted:
        numbers += (amounts.get(name, 0) for name in names)
    for step in trace.steps:
        numbers += [step.at_seconds, len(step.changes), *(number for change in step.changes for number in change)]
    return numbers
