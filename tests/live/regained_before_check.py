"""The reconciler, but frozen once just before the Lease is asked about its first write to a MachineDeployment. When it wakes, the
Lease is asked only once this process leads again: the worst moment for what was decided before.

Freezing is the operating system's (SIGSTOP), so that all threads stop, the one that renews too."""

import os
import signal
import threading
import time
from typing import Any

from reconciler.cli.main import main
from reconciler.kube.connection.transport import KubernetesApi
from reconciler.kube.leading.lease import LeaderLease

_current = threading.local()
_write = KubernetesApi.write
_guard = LeaderLease.guard
_frozen: list[str] = []
_PATIENCE_SECONDS = 300


def write(self: KubernetesApi, method: str, path: str, *arguments: Any, **options: Any) -> bytes:
    _current.path = path
    try:
        return _write(self, method, path, *arguments, **options)
    finally:
        _current.path = ""


def guard(self: LeaderLease) -> None:
    if "/machinedeployments/" in getattr(_current, "path", "") and not _frozen:
        _frozen.append(_current.path)
        hands = self.transitions
        os.kill(os.getpid(), signal.SIGSTOP)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        # Another one took the Lease, and then we: two changes of hands.
        while not (self.leads() and self.transitions >= hands + 2) and time.monotonic() < deadline:
            threading.Event().wait(0.02)
    _guard(self)


if __name__ == "__main__":
    KubernetesApi.write = write  # type: ignore[method-assign]
    LeaderLease.guard = guard  # type: ignore[method-assign]
    main()
