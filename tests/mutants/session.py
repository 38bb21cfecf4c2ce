"""One pytest session that collects all quick tests once and forks for every mutant: a child has everything loaded, changes
itself, and runs the tests that run the changed line."""

import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import msgspec
import pytest
from _pytest.runner import runtestprotocol
from coverage import CoverageData

from tests.mutants.areas import AREAS, area_of, importing
from tests.mutants.in_place import put_in_place
from tests.mutants.mutant import ROOT, Mutant, is_noticed
from tests.mutants.orphans import end_children
from tests.mutants.side_by_side import side_by_side
from tests.mutants.watched import Watched, lines_of, watching

PROCESSES = os.cpu_count() or 1
_MOST_BYTES = 3 << 30
_GREEN, _RED, _NOT_CHANGED = 0, 1, 2
# A test under a change may take so many times as long as it took, on a machine that is busy with other things.
_SLOWER, _MORE_SECONDS = 10.0, 30.0
# The tests that `make test` runs.
_QUICK = ("--tier", "quick")
# What takes longer (of processor time, with lines being counted) is no quick test.
_QUICK_SECONDS = 3.0


class Session:
    """A pytest plugin; `work` is called with it once tests are collected: the quick ones, or `every` one."""

    def __init__(self, work: Callable[["Session"], None], *, every: bool = False) -> None:
        self._work = work
        self._tier = () if every else _QUICK
        self._at_import = watching(None)
        self._items: Sequence[pytest.Item] = ()
        self.watched: Watched | None = None

    def run(self, folders: Sequence[str], directory: Path) -> int:
        """Collect and work. The exit code of pytest."""
        self._directory = directory
        self._at_import.start()
        options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin", "--hypothesis-seed=0", *self._tier]
        kept = ["-o", "tmp_path_retention_policy=none"]
        return int(pytest.main([*options, *kept, *folders], plugins=[self]))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In the stead of running the tests."""
        self._at_import.stop()
        self._items = session.items
        took, red, slow = self._watched_by(PROCESSES)
        self.watched = Watched(self._directory / "lines", self._at_import.get_data(), took, red=red, slow=slow)
        self._work(self)
        return True

    def is_noticed(self, mutant: Mutant) -> tuple[bool, int]:
        """Whether a quick test of its area fails with the change, and how many run the changed line."""
        assert self.watched is not None
        folders = tuple(f"{folder}/" for folder in AREAS[area_of(mutant.file)])
        lines = lines_of((ROOT / mutant.file).read_text("utf-8"), mutant.line)
        if not self.watched.at_import(mutant.file, lines):
            tests = [test for test in self.watched.tests_of(mutant.file, lines) if self._name(test).startswith(folders)]
            limit = _MORE_SECONDS + _SLOWER * sum(self.watched.seconds[test] for test in tests)
            answer = self._in_child(lambda: self._try(mutant, tests), limit) if tests else _GREEN
            if answer != _NOT_CHANGED:
                return answer != _GREEN, len(tests)
        every = {test for file in importing(mutant.file) for test in self.watched.tests_of(file)}
        return self._in_a_new_process(mutant, [test for test in every if self._name(test).startswith(folders)])

    def _in_a_new_process(self, mutant: Mutant, tests: Sequence[int]) -> tuple[bool, int]:
        """What is worked out once, as a module is loaded, shows only where it is loaded anew. The quickest files first."""
        assert self.watched is not None
        seconds: dict[str, float] = {}
        for test in tests:
            file = self._name(test).partition("::")[0]
            seconds[file] = seconds.get(file, 0) + self.watched.seconds[test]
        files = sorted(seconds, key=lambda file: (seconds[file], file))
        limit = _SLOWER * sum(seconds.values()) + 6 * _MORE_SECONDS
        return bool(files) and is_noticed(mutant, [*files, *self._tier], limit), len(tests)

    def _name(self, test: int) -> str:
        return self._items[test].nodeid

    def _in_child(self, work: Callable[[], int], seconds: float) -> int:
        """The exit code of a fork of this process; one that takes longer is killed, and everything that it started."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            try:
                os.setpgid(0, 0)
                signal.setitimer(signal.ITIMER_REAL, seconds)
                self._alone()
                os._exit(work())
            except BaseException:
                os._exit(_RED)
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        end_children()
        shutil.rmtree(self._directory / f"files.{child}", ignore_errors=True)
        return os.waitstatus_to_exitcode(status)

    def _try(self, mutant: Mutant, tests: Sequence[int]) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        if not put_in_place(mutant):
            return _NOT_CHANGED
        return _RED if any(self._is_red(test, after) for test, after in _with_next(tests)) else _GREEN

    def _watched_by(self, forks: int) -> tuple[list[float], frozenset[int], frozenset[int]]:
        """What one run of all tests sees, a part of them in each fork: seconds by test, and those that are red or slow. Which
        test runs which lines is in the file `lines`."""
        files = groupby(range(len(self._items)), key=lambda test: self._name(test).partition("::")[0])
        every = [list(tests) for _, tests in files]
        # Files beside each other take about as long.
        parts = [[test for tests in every[number::forks] for test in tests] for number in range(min(forks, len(every)))]

        def watch(number: int, tell: Callable[[bytes], None]) -> None:
            self._alone()
            self._watch(parts[number], self._directory / f"lines.{number}", self._directory / f"seconds.{number}")
            tell(b"")

        assert len(list(side_by_side(len(parts), watch))) == len(parts)
        lines = CoverageData(basename=str(self._directory / "lines"))
        took, red, slow = dict[int, float](), set[int](), set[int]()
        for number in range(len(parts)):
            part = CoverageData(basename=str(self._directory / f"lines.{number}"))
            part.read()
            lines.update(part)
            told = (self._directory / f"seconds.{number}").read_bytes()
            here = msgspec.json.decode(told, type=tuple[list[tuple[int, float]], frozenset[int], frozenset[int]])
            took, red, slow = took | dict(here[0]), red | here[1], slow | here[2]
        lines.write()
        return [took[test] for test in range(len(took))], frozenset(red), frozenset(slow)

    def _alone(self) -> None:
        """Make this process one whose tests are heard and seen by nobody, with files of its own."""
        files = self._directory / f"files.{os.getpid()}"
        files.mkdir()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(files)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)

    def _watch(self, part: Sequence[int], data: Path, seconds: Path) -> None:
        coverage, took, red, slow = watching(data), list[tuple[int, float]](), set[int](), set[int]()
        coverage.start()
        for test, after in _with_next(part):
            coverage.switch_context(str(test))
            begun, worked = time.monotonic(), time.process_time()
            if self._is_red(test, after):
                red.add(test)
            took.append((test, time.monotonic() - begun))
            if time.process_time() - worked > _QUICK_SECONDS:
                slow.add(test)
        coverage.stop()
        coverage.save()
        seconds.write_bytes(msgspec.json.encode((took, red, slow)))

    def _is_red(self, test: int, after: int | None) -> bool:
        following = None if after is None else self._items[after]
        return any(report.failed for report in runtestprotocol(self._items[test], nextitem=following, log=False))

    def names(self, tests: Sequence[int]) -> list[str]:
        """As pytest prints them."""
        return [self._name(test) for test in tests]


def _with_next(tests: Sequence[int]) -> list[tuple[int, int | None]]:
    return list(zip(tests, [*tests[1:], None], strict=True))
