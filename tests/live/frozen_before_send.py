"""The reconciler, but frozen once at the worst moment: its first write to a MachineDeployment was allowed by the Lease, and not
one byte of it has left. Freezing is the operating system's (SIGSTOP), so that all threads stop, the one that renews too."""

import os
import signal
import threading
from typing import Any

from reconciler.cli.main import main
from reconciler.kube.connection.transport import KubernetesApi
from reconciler.kube.leading.lease import LeaderLease

_current = threading.local()
_write = KubernetesApi.write
_guard = LeaderLease.guard
_frozen: list[str] = []
_SETTLED_SECONDS = 2.0


def write(self: KubernetesApi, method: str, path: str, *arguments: Any, **options: Any) -> bytes:
    _current.path = path
    try:
        return _write(self, method, path, *arguments, **options)
    finally:
        _current.path = ""


def guard(self: LeaderLease) -> None:
    _guard(self)
    path = getattr(_current, "path", "")
    if "/machinedeployments/" in path and not _frozen:
        _frozen.append(path)
        os.kill(os.getpid(), signal.SIGSTOP)
        # The signal may reach another thread first, and this one would run on for a moment. Once frozen for longer than this,
        # it goes on as soon as it wakes.
        threading.Event().wait(_SETTLED_SECONDS)


if __name__ == "__main__":
    KubernetesApi.write = write  # type: ignore[method-assign]
    LeaderLease.guard = guard  # type: ignore[method-assign]
    main()
