"""Runs pytest, and once more what failed on real components: `python -m tests.second_look`, with pytest's own options.

A control plane, a browser or a provider's server can fail a test that is right. Where at most three tests failed and all of them
use such components, they run again in a fresh process with components of their own; both outcomes are printed. What needs
nothing but Python fails at once.
"""

import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.workers import group_of

AT_MOST = 3


class Failures:
    """A plugin that remembers which tests failed (in set-up and tear-down, too), and whether anything else went wrong."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}
        self.otherwise = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.otherwise |= report.failed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # Told to stop early, so that some tests did not run.
        self.otherwise |= bool(session.shouldfail or session.shouldstop)


def worth_a_second_look(tests: Collection[str]) -> bool:
    """Are these few, and all on real components?"""
    return 0 < len(tests) <= AT_MOST and all(map(group_of, tests))


def main(options: Sequence[str]) -> int:
    """pytest's exit code; 0 also when every test that failed passed at the second look."""
    failures = Failures()
    code = int(pytest.main([*options], plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED or failures.otherwise or not worth_a_second_look(failures.tests):
        return code
    names = ", ".join(failures.tests)
    print(f"\n==> a second look at {len(failures.tests)} failed tests on real components: {names}", flush=True)
    passed = _pass([*failures.tests])
    if passed:
        said = "failed at first and passed at the second look"
    else:
        said = "failed at first and did not all pass at the second look"
    print(f"second look: {_count(len(failures.tests))} {said}: {names} (why at first: FAILURES or ERRORS of the first run above)")
    return 0 if passed else code


def _pass(tests: Sequence[str]) -> bool:
    """Run just these in a fresh process: did every one of them pass, and none was skipped?"""
    with tempfile.TemporaryDirectory(prefix="second-look-") as directory:
        report = Path(directory, "report.xml")
        words = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"--junitxml={report}", *tests]
        if subprocess.run(words, check=False).returncode != 0:
            return False
        (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
        return int(suite.get("tests", 0)) == len(tests) and int(suite.get("skipped", 0)) == 0


def _count(tests: int) -> str:
    return "1 test" if tests == 1 else f"{tests} tests"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
