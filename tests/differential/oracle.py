"""kube-scheduler's own filter plugins, as a process that answers snapshots."""

import json
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tests.testbed.build import (
    KUBERNETES_VERSION,
    NEWEST_KUBERNETES_VERSION,
    GoProgram,
    built,
    version_flags,
)

Object = dict[str, Any]
_SHOWN = 2000
_MODULE = Path(__file__).parent / "oracle"
# A pod that was tried in vain waits for its second, also where nothing else is to do: it would be tried for ever.
_WAITS = "SchedulerPopFromBackoffQ=false"


class Release(msgspec.Struct, frozen=True):
    """A kube-scheduler that answers: its version, how its program is built, the gates of PodGroups, and their API version."""

    version: str
    program: GoProgram
    pod_groups: str
    pod_group_api: str

    def __str__(self) -> str:
        return self.version

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Major, minor and patch."""
        major, minor, patch = self.version.removeprefix("v").split(".")
        return int(major), int(minor), int(patch)


OF_THE_TESTBED = Release(
    KUBERNETES_VERSION,
    GoProgram(name="oracle", module=_MODULE, flags=version_flags(KUBERNETES_VERSION)),
    f"GenericWorkload=true,GangScheduling=true,{_WAITS}",
    "scheduling.k8s.io/v1alpha2",
)
NEWEST = Release(
    NEWEST_KUBERNETES_VERSION,
    GoProgram(
        name="oracle-1.37",
        module=_MODULE,
        flags=version_flags(NEWEST_KUBERNETES_VERSION),
        modules="kubernetes-1.37.mod",
        tag="kubernetes_1_37",
        file="oracle",
        on_request=True,
    ),
    f"GenericWorkload=true,{_WAITS}",
    "scheduling.k8s.io/v1beta1",
)
RELEASES = (OF_THE_TESTBED, NEWEST)


class Oracle:
    """One running oracle; a context manager. Answers come in the form of `reconciler fit -o json`."""

    def __init__(self, *options: str, release: Release = OF_THE_TESTBED) -> None:
        # A file: nobody reads a pipe while it answers, and kube-scheduler writes each error that it meets.
        self.release = release
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        command = [str(built(release.program)), *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True)

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ask(self, snapshot: Object) -> Any:
        """The answer for one snapshot. Raises RuntimeError with the oracle's words when it gave up."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the oracle has no pipes")
        try:
            process.stdin.write(json.dumps(snapshot) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"the oracle stopped: {self._errors.read()[-_SHOWN:].strip()}")
        return json.loads(line)
