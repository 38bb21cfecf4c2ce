"""The loop on a day of arrivals: `python -m tests.benchmarks.decisions.arrivals`.

The day is the busiest one of the openb trace; the groups are those of examples/traces/openb. Prints decisions per second, cost
against the proved bound of examples/lower_bound.py, and how long pods wait. Beside them is a grouped first fit in C.
"""

import runpy
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from reconciler.cli.inputs.plan_inputs import read_policy
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.importers.demand.openb import BEGIN_SECONDS, COLUMNS, read_openb
from reconciler.plan.replay import ReplayFigures
from reconciler.policy.documents import PolicySet
from reconciler.simulation.replays.policy_world import policy_world
from reconciler.simulation.replays.replay import replay
from reconciler.simulation.replays.trace import Trace
from tests.benchmarks.decisions.first_fit import MachineType, first_fit
from tests.benchmarks.measure import Case

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
POLICY = EXAMPLES / "traces" / "openb"
_DAY, _DAY_SECONDS = 148, 86_400
_CREATED = COLUMNS.split(b",").index(b"creation_time")
_REPETITIONS = 1_000


def cases() -> Iterator[Case]:
    """All decisions of the day, the simulated cluster between them included."""
    yield Case("a day of arrivals, openb", played)


@cache
def day() -> Trace:
    """The pods that came on the day, until it ends."""
    lines = (EXAMPLES / "data" / "openb" / "pods.csv").read_bytes().splitlines()
    chosen = [line for line in lines[1:] if int(line.split(b",")[_CREATED]) // _DAY_SECONDS == _DAY]
    trace = read_openb("openb", enumerate(chosen, 2)).trace
    return trace.until(BEGIN_SECONDS + (_DAY + 1) * _DAY_SECONDS - trace.start_seconds)


@cache
def rules() -> PolicySet:
    """The groups and their prices."""
    return read_policy(POLICY, None, day().start_seconds)


def played() -> ReplayFigures:
    """The loop over the day."""
    return replay([("", rules())], day()).sides[0]


def bound_micros() -> int:
    """No policy under which no pod waits costs less."""
    example = runpy.run_path(str(EXAMPLES / "lower_bound.py"))
    prices = example["cheapest"](POLICY / "policy.yaml")
    cost = sum(
        seconds * max(amount * prices.get(name, 0) for name, amount in asked.items())
        for seconds, asked in example["spans"](day())
    )
    return int(cost * 1_000_000 / 3600)


def machine_types() -> list[MachineType]:
    """A type for each group."""
    begin = day().start_seconds
    groups = effective_groups(policy_world([rules()], begin), rules(), begin)
    return [MachineType(group.price_micros or 0, group.template.capacity) for group in groups if group.template is not None]


def main() -> int:
    """Always 0."""
    day(), rules()
    started = time.process_time()
    figures = played()
    seconds = time.process_time() - started
    bound = bound_micros()
    cost = round(float(figures.cost or 0) * 1_000_000)
    print(f"{figures.decisions} decisions in {seconds:.2f} s of the processor: {figures.decisions / seconds:.0f} a second")
    print(f"cost {cost / 1e6:.2f}, {cost / bound:.3f} times the bound of {bound / 1e6:.2f}")
    waits = f"p50 {figures.wait_p50_seconds} s, p95 {figures.wait_p95_seconds} s"
    longest = "" if figures.pods_never_placed else f", max {figures.wait_max_seconds} s"
    print(f"pods wait: {waits}{longest}; {figures.pods_never_placed} pods left before they had a node")
    limit = first_fit(day(), machine_types(), repetitions=_REPETITIONS)
    if limit is None:
        print("There is no C compiler, so first fit is not measured.")
    else:
        print(f"first fit in C: {limit.nanoseconds / 1e6:.3f} ms for {limit.placed} pods, ", end="")
        print(f"cost {limit.cost_micros / 1e6:.2f}, {limit.cost_micros / bound:.3f} times the bound; nodes come and go at once")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
