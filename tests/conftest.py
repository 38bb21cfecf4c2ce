import os
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster import defects
from tests import tiers
from tests.scheduler import OneWorkerEach
from tests.testbed.fixtures import cluster_api, control_plane, machine_api, new_cluster
from tests.workers import CONTROL_PLANES, group_of

# The API servers of the tests live for half an hour with some hundred objects; a fifth of their processor time is the garbage
# collector's. Up to this much memory each it may wait longer (benchmarks have Go's own defaults).
os.environ.setdefault("GOGC", "400")
os.environ.setdefault("GOMEMLIMIT", "1200MiB")
os.environ.pop("COLUMNS", None)  # pytest's workers have 80: what is printed would hang on how the tests are run
# A defect that a test meets must fail it, though the product goes on without the object (`tests/decisions/test_defects.py`).
defects.CAUGHT = ()
__all__ = ["cluster_api", "control_plane", "machine_api", "new_cluster"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--seeds 200` runs every property test on so many random inputs; tests/tiers.py has the others."""
    parser.addoption("--seeds", type=int, default=0, help="random inputs of each test with the mark `seeds` (0: its own number)")
    tiers.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "seeds(count): run with `seed` from 0 to below `count`, or `--seeds`")
    tiers.configure(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("seeds")
    if mark is not None:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds") or mark.args[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in tiers.summary(config):
        terminalreporter.write_line(line)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return tiers.ignores(config, collection_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a control plane run in one worker."""
    tiers.select(config, items)
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()) and group_of(item.nodeid) not in CONTROL_PLANES:
            raise pytest.UsageError(f"{item.nodeid} uses the control plane: name its file in tests/workers.py")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their parameter: packed ones hold the time, and processes that name a test differently cannot share
    the tests."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A worker stops its control plane after the last test of the group: an idle one takes a good part of a processor. The
    next group of the same worker, if there is one, starts a fresh control plane. Without workers all tests share one."""
    group = group_of(item.nodeid)
    last = nextitem is None or group_of(nextitem.nodeid) != group
    if last and group in CONTROL_PLANES and hasattr(item.config, "workerinput"):
        item.session._setupstate.teardown_exact(None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are cores where tests run on real components: those wait more than they work."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if config.option.tier == "quick" else cores + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneWorkerEach | tiers.OwnFiles | None:
    if getattr(config.option, "tier", None) == "quick":
        return tiers.OwnFiles(config, log)
    return OneWorkerEach(config, log) if config.getvalue("dist") == "loadgroup" else None
