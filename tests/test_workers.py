"""Tests of one component run in one worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workers import GROUPS, unit_of

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = "from tests.conftest import pytest_xdist_make_scheduler\n"
NOTES = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    pathlib.Path(__file__).with_suffix(f".{number}").write_text(os.environ["PYTEST_XDIST_WORKER"])
"""


def test_what_is_run_by_one_worker() -> None:
    """The tests of a component, whatever their file; those of a parameter where they look at one thing; else each alone."""
    assert unit_of("tests/live/test_run.py::test_it[1]") == unit_of("tests/crusoe/test_live_run.py::test_that")
    converged = "tests/properties/test_convergence.py::test_{}[{}]"
    assert unit_of(converged.format("a", 1)) == unit_of(converged.format("b", 1)) != unit_of(converged.format("b", 11))
    alone = ("tests/plan/test_text.py::test_it[1]", "tests/plan/test_text.py::test_that[1]", "tests/plan/test_text.py::test_it")
    assert [unit_of(one) for one in alone] == list(alone)


def test_the_jobs_of_the_workflow_have_every_group_once() -> None:
    """Tests of a group that no job names would not run there."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    named = [group for job in workflow["jobs"]["test"]["strategy"]["matrix"]["include"] for group in job["groups"].split(",")]
    assert sorted(named) == sorted(["none", *GROUPS])


STOPPED = """
import pathlib, pytest
from tests.conftest import pytest_runtest_teardown, pytest_xdist_make_scheduler

@pytest.fixture(scope="session")
def component():
    here = pathlib.Path(__file__).parent
    running = here / "running"
    running.touch()
    yield running
    running.unlink()
    (here / "stopped").write_text(str((here / "later").exists()))
"""


USES = "def test_it(component): assert component.exists()\ndef test_that(component): assert component.exists()\n"


@pytest.mark.parametrize(("workers", "after_all"), [("1", False), ("0", True)])
def test_a_component_is_stopped_with_its_last_test(tmp_path: Path, workers: str, after_all: bool) -> None:
    """A worker goes on with other tests, and a control plane takes a good part of a processor while nobody asks it. Without
    workers, tests of other folders that use it may follow."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests" / "kube").mkdir(parents=True)
    (tmp_path / "tests" / "plan").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(STOPPED)
    (tmp_path / "tests" / "kube" / "test_one.py").write_text(USES)
    later = "import pathlib\ndef test_it(): pathlib.Path(__file__).parents[1].joinpath('later').touch()\n"
    (tmp_path / "tests" / "plan" / "test_later.py").write_text(later)
    words = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--dist", "loadgroup", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "tests" / "stopped").read_text() == str(after_all)


def test_the_next_component_of_a_worker_runs(tmp_path: Path) -> None:
    """One worker that runs the tests of two control planes starts the second after the first was stopped."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("kube", "testbed"):
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(USES)
    (tmp_path / "tests" / "conftest.py").write_text(STOPPED)
    words = [sys.executable, "-m", "pytest", "-q", "-n", "1", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_worker_for_each_component(tmp_path: Path) -> None:
    """Of two workers one runs all tests on a control plane, whatever their file."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("providers/test_one.py", "kube/test_two.py", "plan/test_three.py"):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True)
        path.write_text(NOTES)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    words = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    real = [path.read_text() for name in ("providers", "kube") for path in tmp_path.glob(f"tests/{name}/*.[0-9]")]
    assert len(real) == 8
    assert len(set(real)) == 1
