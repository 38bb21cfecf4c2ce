"""The second look, at small suites of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FAILS = "def test_it():\n    assert not 'this is why'\n"
PASSES = "def test_it():\n    pass\n"
# Fails in the first process and passes in the second.
RECOVERS = """
from pathlib import Path

def test_it():
    seen = Path("seen")
    again = seen.exists()
    seen.touch()
    assert again
"""
# Fails in the first process and skips in the second.
SKIPS = RECOVERS.replace("    assert again", "    assert not pytest.skip('away') if again else False").replace(
    "from", "import pytest\nfrom"
)
BREAKS_AFTERWARDS = """
import pytest
from pathlib import Path

@pytest.fixture
def component():
    yield
    seen = Path("seen")
    again = seen.exists()
    seen.touch()
    assert again

def test_it(component):
    pass
"""
LIVE = "tests/live/test_one.py::test_it"


def looked_at(directory: Path, suite: dict[str, str], *options: str) -> tuple[int, str]:
    """Exit code and output of a run over these test files."""
    (directory / "pytest.ini").write_text("[pytest]\n")
    for name, text in suite.items():
        path = directory / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # Of the plugins that are installed here only that of `-n` is of use: to load the others takes longer than to run these.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | plugins
    environment.pop("PYTEST_ADDOPTS", None)
    words = [sys.executable, "-m", "tests.second_look", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(words, check=False, cwd=directory, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_all_passed(tmp_path: Path) -> None:
    """Nothing is looked at again."""
    code, said = looked_at(tmp_path, {"live/test_one.py": PASSES, "plan/test_two.py": PASSES})
    assert (code, "second look" in said) == (0, False)


def test_one_that_recovers(tmp_path: Path) -> None:
    """It passes in a process of its own, is named, and why it failed at first still stands there."""
    code, said = looked_at(tmp_path, {"live/test_one.py": RECOVERS, "plan/test_two.py": PASSES})
    assert code == 0
    assert "assert again" in said
    assert f"\nsecond look: 1 test failed at first and passed at the second look: {LIVE} (" in said


def test_one_that_fails_in_its_tear_down(tmp_path: Path) -> None:
    """An error of a component that is stopped counts as a failure of the test, and is looked at again."""
    code, said = looked_at(tmp_path, {"live/test_one.py": BREAKS_AFTERWARDS})
    assert code == 0
    assert f"second look: 1 test failed at first and passed at the second look: {LIVE} (" in said


@pytest.mark.parametrize("text", [FAILS, SKIPS], ids=["fails", "skips"])
def test_one_that_does_not_pass_then(tmp_path: Path, text: str) -> None:
    """Failing twice is a failure, and so is not running at the second look."""
    code, said = looked_at(tmp_path, {"live/test_one.py": text})
    assert code == 1
    assert f"second look: 1 test failed at first and did not all pass at the second look: {LIVE} (" in said


def test_one_that_needs_no_component(tmp_path: Path) -> None:
    """It fails at once, also beside one that would be looked at again."""
    code, said = looked_at(tmp_path, {"live/test_one.py": RECOVERS, "plan/test_two.py": FAILS})
    assert (code, "second look" in said) == (1, False)


def test_too_many(tmp_path: Path) -> None:
    """Four that fail are no accident."""
    code, said = looked_at(tmp_path, {f"live/test_{name}.py": FAILS for name in "abcd"})
    assert (code, "second look" in said) == (1, False)


@pytest.mark.parametrize(
    ("text", "code"),
    [("import no_such_module\n", 2), ("def test_it():\n    raise KeyboardInterrupt\n", 2)],
    ids=["import", "Ctrl-C"],
)
def test_a_run_that_did_not_end(tmp_path: Path, text: str, code: int) -> None:
    """What could not be collected, or was interrupted, says nothing about the rest, and keeps pytest's exit code."""
    found, said = looked_at(tmp_path, {"live/test_one.py": RECOVERS, "live/test_two.py": text})
    assert (found, "second look" in said) == (code, False)


def test_a_run_that_stopped_early(tmp_path: Path) -> None:
    """With -x the rest has not run: that one recovers would not say that all pass."""
    code, said = looked_at(tmp_path, {"live/test_one.py": RECOVERS, "live/test_two.py": FAILS}, "-x")
    assert (code, "second look" in said) == (1, False)
