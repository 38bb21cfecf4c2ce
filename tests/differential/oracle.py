"""kube-scheduler's own filter plugins, as a process that answers snapshots."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.testbed.build import VERSION_FLAGS, GoProgram, built

Object = dict[str, Any]

PROGRAM = GoProgram(name="oracle", module=Path(__file__).parent / "oracle", flags=VERSION_FLAGS)


class Oracle:
    """One running oracle; a context manager. Answers come in the form of `reconciler fit -o json`."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [str(built(PROGRAM)), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, snapshot: Object) -> Any:
        """The answer for one snapshot. Raises RuntimeError with the oracle's words when it gave up."""
        process = self._process
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("the oracle has no pipes")
        try:
            process.stdin.write(json.dumps(snapshot) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"the oracle stopped: {process.stderr.read().strip()}")
        return json.loads(line)
