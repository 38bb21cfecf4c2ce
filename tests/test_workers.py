"""Tests of one component run in one worker."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = "from tests.conftest import pytest_xdist_make_scheduler\n"
NOTES = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    pathlib.Path(__file__).with_suffix(f".{number}").write_text(os.environ["PYTEST_XDIST_WORKER"])
"""


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
