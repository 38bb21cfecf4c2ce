"""Which tests `make test` runs, and which it leaves to `make test-rest`: the options of the pytest plugin.

`--tier quick` leaves out what costs too much by the file of durations, and three quarters of the seeds of random tests. In files
that cost more than three seconds it also leaves out three quarters of the cases of tests with more than twenty. Each worker
collects files of its own. `--tier rest` runs what that leaves out. Without the option every test runs.
"""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler.each import EachScheduling

from tests.durations import ROOT, durations, files_of_tests, shares
from tests.meter import Book, Meter, fixtures_of
from tests.testbed.cache import WITHOUT
from tests.workers import group_of

_ONE_OF: Final = 4
_MANY_CASES: Final = 20
_DEAR_SECONDS: Final = 3.0
_SEED: Final = "seed"
_SHARE: Final = pytest.StashKey[set[str]]()
_HYPOTHESIS: Final = "_hypothesis_internal_use_settings"


def add_options(parser: pytest.Parser) -> None:
    """The options, for `pytest --help`."""
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=("quick", "rest"), help="quick: what `make test` runs; rest: what it leaves out")
    group.addoption("--groups", help="only tests of these groups of tests/workers.py, with commas; `none`: those of no group")
    group.addoption("--measure", action="store_true", help="write tests/durations.json anew: run all tests with it")


def configure(config: pytest.Config) -> None:
    """Before anything is collected."""
    if config.option.measure:
        if config.option.keyword or config.option.tier or config.option.groups:
            raise pytest.UsageError("--measure measures whole files: without -k, --tier and --groups")
        config.pluginmanager.register(Meter(), "meter")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Book(whole=not config.option.file_or_dir), "book")
    if config.option.tier == "quick":
        os.environ[WITHOUT] = "1"
        if config.option.hypothesis_seed is None:
            # Drawn here for all workers, and printed.
            config.option.hypothesis_seed = str(random.randrange(2**32))


def summary(config: pytest.Config) -> list[str]:
    """What the run says of random tests at its end."""
    if config.option.tier != "quick":
        return []
    seed = config.option.hypothesis_seed
    return [
        f"random tests: one seed of {_ONE_OF}, one example of {_ONE_OF}; the same examples: PYTEST=--hypothesis-seed={seed}",
        f"long tests with more than {_MANY_CASES} cases: one case of {_ONE_OF}",
    ]


def ignores(config: pytest.Config, file: Path) -> bool | None:
    """Is this a file that has nothing for the tier, or that another worker collects?"""
    path = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""
    if config.option.tier != "quick" or not file.name.startswith("test_") or not path:
        return None
    if not durations().has_quick_tests(path):
        return True
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return None
    if _SHARE not in config.stash:
        seconds = {one: durations().seconds(one) for one in files_of_tests() if durations().has_quick_tests(one)}
        config.stash[_SHARE] = shares(seconds, worker["workercount"])[int(worker["workerid"].removeprefix("gw"))]
    return True if path not in config.stash[_SHARE] else None


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is of the other tier."""
    if config.option.groups:
        groups = set(config.option.groups.split(","))
        config.hook.pytest_deselected(items=[item for item in items if (group_of(item.nodeid) or "none") not in groups])
        items[:] = [item for item in items if (group_of(item.nodeid) or "none") in groups]
    if not config.option.tier:
        return
    quick = config.option.tier == "quick"
    cases = Counter(_function(item) for item in items)
    of_function: Counter[str] = Counter()
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        slow = durations().is_slow(item.nodeid, fixtures_of(item))
        name = _function(item)
        random_test = _SEED in getattr(getattr(item, "callspec", None), "params", ())
        long = cases[name] > _MANY_CASES and durations().seconds(name.partition("::")[0]) > _DEAR_SECONDS
        few = hasattr(getattr(item, "obj", None), _HYPOTHESIS)
        if (random_test or long) and not slow:
            slow = of_function[name] % _ONE_OF > 0
            of_function[name] += 1
        (chosen if slow != quick or (few and not quick) else left).append(item)
        if few and quick:
            fewer_examples(item, _ONE_OF)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen


def _function(item: pytest.Item) -> str:
    """The test function of a case: path and name."""
    return item.nodeid.partition("[")[0]


def fewer_examples(item: pytest.Item, part: int) -> None:
    """Let a test of hypothesis look at one of so many examples."""
    from hypothesis import settings

    function = item.obj  # type: ignore[attr-defined]
    found = getattr(function, _HYPOTHESIS)
    few = settings(found, max_examples=max(found.max_examples // part, 5), deadline=None)
    setattr(getattr(function, "__func__", function), _HYPOTHESIS, few)


class OwnFiles(EachScheduling):
    """Each worker runs what it collected itself, which is a part of all tests."""

    def schedule(self) -> None:
        session = self.config.pluginmanager.getplugin("session")
        session.testscollected = sum(map(len, self.node2collection.values()))
        super().schedule()


if __name__ == "__main__":
    left = "Slow tests, most seeds of random tests and most cases of long ones were left out."
    print(f"    {left} `make test-all` runs all {durations().cases:,} tests.")
