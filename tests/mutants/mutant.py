"""One change of one line, and whether the quick tests notice it. The tree itself is never written to."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "RECONCILER_MUTANT"
_FAILED, _NO_TESTS = 1, 5


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the whole text of `file` (relative to the checkout) with the change in it; `what` says the change, which
    begins in `line` (0: not known)."""

    file: str
    what: str
    source: str
    line: int = 0

    @property
    def module(self) -> str:
        """The module's name."""
        return self.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def is_noticed(mutant: Mutant, tests: Sequence[str], timeout_seconds: float) -> bool:
    """Whether some quick test fails with the change. One that makes them hang is noticed. Raises RuntimeError where the tests
    cannot be run at all."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.mutants.plugin",
        *tests,
    ]
    environment = os.environ | {VARIABLE: msgspec.json.encode(mutant).decode()}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=timeout_seconds
        )
    except subprocess.TimeoutExpired:
        return True
    if done.returncode == 0:
        return False
    if done.returncode == _FAILED or (done.returncode != _NO_TESTS and "error" in (done.stdout + done.stderr).lower()):
        return True
    raise RuntimeError(f"{' '.join(tests)}: {(done.stdout + done.stderr)[-500:]}")
