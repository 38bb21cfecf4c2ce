"""What each command imports: modules are counted, since importing is most of the time of a short command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOLVER = {"numpy", "highspy"}
REDACTION = "reconciler.cluster.snapshots.redaction"
RARE = {"difflib", "gzip", "pickle", "reconciler.scheduling.devices.selectors"}
"""For mistakes, packed files and devices."""
PLAN = ["plan", "--policy", "policies", "--cluster", "examples/quickstart"]


def imported(arguments: list[str]) -> set[str]:
    called = "from reconciler.cli.main import cli; cli(sys.argv[1:], standalone_mode=False)"
    program = f"import sys; {called}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["validate", "policies"], PLAN])
def test_what_is_imported_and_read_is_not_looked_through_again(arguments: list[str]) -> None:
    """No full collection: it would walk all modules, and a tenth of the time of a short plan is collections."""
    called = "from reconciler.cli.main import main\ntry: main(sys.argv[1:])\nfinally:"
    program = f"import gc, sys\n{called} print(gc.get_stats()[2]['collections'], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.split()[-1] == "0"


@pytest.mark.parametrize(
    ("arguments", "most", "ours"), [(["--help"], 130, 20), (["validate", "policies"], 290, 115), (PLAN, 740, 555)]
)
def test_a_command_imports_no_more_than_it_needs(arguments: list[str], most: int, ours: int) -> None:
    """`most` modules in all, `ours` of this package. The figures are those of now, with some room."""
    modules = imported(arguments)
    assert SOLVER.isdisjoint(modules)
    assert REDACTION not in modules
    assert RARE.isdisjoint(modules)
    assert len(modules) <= most
    assert sum(name.startswith("reconciler") for name in modules) <= ours


def test_a_plan_imports_only_the_platform_whose_objects_are_there() -> None:
    """The quickstart is a cluster of Cluster API. Of the others, only data on their kinds, keys and rules is imported."""
    read = {name.split(".")[2] for name in imported(PLAN) if re.match(r"reconciler\.platforms\.\w+\.objects", name)}
    assert read == {"clusterapi"}
