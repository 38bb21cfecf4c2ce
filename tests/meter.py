"""A part of the pytest plugin: measures what each test costs and writes the file of durations.

Machines are shared and noisy, so that the time on the clock says little. A test costs the processor time of its process and of
the processes that it started and waited for. A test that started none may also wait for threads and sockets: it costs the time on
the clock without the time for which its thread was ready to run and had no processor. Imports are nobody's cost. A fixture of a
module or session is measured once and counts for each test that has it. What asks for a built component is slow at any cost.
"""

import importlib
import pkgutil
import resource
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

import reconciler
from tests.durations import ROOT, SLOW_SECONDS, Durations, FileDurations, durations, functions, write
from tests.testbed import cache

_COMPONENT: Final = 60.0
"""What a test costs that asks for a built component, on top."""
_SCHEDULED: Final = Path("/proc/self/schedstat")
_KEY: Final = "cost"


class Reading:
    """The clocks at one moment."""

    def __init__(self) -> None:
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        self.own = own.ru_utime + own.ru_stime
        self.children = children.ru_utime + children.ru_stime
        self.delayed = int(_SCHEDULED.read_text().split()[1]) / 1e9 if _SCHEDULED.exists() else 0.0
        self.wall = time.perf_counter()
        self.components = cache.times_asked()

    def cost(self) -> float:
        """What was spent since this reading."""
        now = Reading()
        own, children = now.own - self.own, now.children - self.children
        waited = now.wall - self.wall - (now.delayed - self.delayed)
        return (own + children if children else max(own, waited)) + _COMPONENT * (now.components > self.components)


class Meter:
    """In each process that runs tests: puts the cost of each test into its report."""

    def __init__(self) -> None:
        self.fixtures: dict[str, float] = {}
        self.started: Reading | None = None
        self.shared = 0.0

    def pytest_sessionstart(self) -> None:
        for module in pkgutil.walk_packages(reconciler.__path__, f"{reconciler.__name__}."):
            # Each kernel is there twice, compiled and not. Whoever imports the one takes the place of the other.
            if not module.name.startswith("reconciler.scheduling.kernels."):
                importlib.import_module(module.name)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
        before, shared = Reading(), self.shared
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                cost = max(before.cost() - (self.shared - shared), 0.0)
                self.shared += cost
                name = key(fixturedef)
                self.fixtures[name] = max(self.fixtures.get(name, 0.0), cost)

    def pytest_runtest_logstart(self) -> None:
        self.started, self.shared = Reading(), 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        if self.started is not None and (call.when == "call" or call.excinfo is not None):
            cost = max(self.started.cost() - self.shared, 0.0)
            had = {name: self.fixtures[name] for name in fixtures_of(item) if self.fixtures.get(name, 0.0) >= SLOW_SECONDS}
            item.user_properties.append((_KEY, [round(cost, 3), had]))
            self.started = None
        return (yield)


class Book:
    """In the process that prints the results: gathers the reports and writes the file. A run of some files changes only those."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.costs: dict[str, tuple[float, bool]] = {}
        self.fixtures: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _KEY:
                cost, had = value
                self.costs[report.nodeid] = (cost, bool(had))
                for fixture, seconds in had.items():
                    self.fixtures[fixture] = max(self.fixtures.get(fixture, 0.0), round(seconds, 1))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.costs or session.shouldstop or session.shouldfail:
            return
        by_file: dict[str, dict[str, tuple[float, bool]]] = {}
        for test, cost in self.costs.items():
            path, _, name = test.partition("::")
            by_file.setdefault(path, {})[name] = cost
        files = {}
        for path, costs in by_file.items():
            slow = {name: round(cost, 1) for name, (cost, had) in sorted(costs.items()) if cost >= SLOW_SECONDS and not had}
            quick = sum(cost for cost, had in costs.values() if cost < SLOW_SECONDS and not had)
            needs = sum(had for _, had in costs.values())
            files[path] = FileDurations(functions(ROOT / path), len(costs), round(quick, 1), slow, needs)
        before = Durations({}, {}) if self.whole else durations()
        there = {path: one for path, one in (before.files | files).items() if (ROOT / path).exists()}
        write(Durations(before.fixtures | self.fixtures, there))


def key(fixturedef: Any) -> str:
    """A fixture by the folder or file that knows it, and its name."""
    return f"{fixturedef.baseid}::{fixturedef.argname}"


def fixtures_of(item: pytest.Item) -> list[str]:
    """Every fixture that a test has, those of its fixtures included."""
    known = getattr(item, "_fixtureinfo", None)
    return [] if known is None else [key(one) for several in known.name2fixturedefs.values() for one in several]
