"""`reconciler run` as a process of its own, as it is deployed, with what it says."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: {name}}}
spec:
  mode: {mode}
  adoptFrom: [testbed]
  humanHoldTime: 0s
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  budgets: [{{nodes: 10}}]
  defaults: {{scaleDown: {{unneededTime: {unneeded}, utilizationThresholdPercent: 50}}}}
"""
GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {group}, namespace: {namespace}}}
spec:
  policyRef: {{name: {name}}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: {namespace}, name: {group}}}}}
  size: {{min: {min}, max: {max}}}
"""
_PATIENCE_SECONDS = 60


def policy_text(
    name: str, namespace: str, groups: dict[str, tuple[int, int]], *, mode: str = "Enforce", unneeded: str = "1h"
) -> str:
    """A policy over MachineDeployments of one namespace: their names with smallest and largest size."""
    parts = [POLICY.format(name=name, mode=mode, unneeded=unneeded)]
    parts += [
        GROUP.format(group=group, namespace=namespace, name=name, min=least, max=most) for group, (least, most) in groups.items()
    ]
    return "".join(parts)


class Reconciler:
    """One running process. Lines of its log are kept as decoded objects in the order in which they came."""

    def __init__(self, kubeconfig: Path, policy: Path, *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "reconciler",
            "run",
            f"--kubeconfig={kubeconfig}",
            f"--policy={policy}",
            "--listen=127.0.0.1:0",
        ]
        self.lines: list[dict[str, Any]] = []
        self._new: queue.Queue[None] = queue.Queue()
        self._process = subprocess.Popen(
            [*command, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "CI": "1"}
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stderr, self._process.stdout):
            if stream is not None:
                stream.close()

    def said(self, code: str, times: int = 1) -> dict[str, Any]:
        """The line of the log with this code, once it has come so often. Raises TimeoutError with all that was said."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            found = [line for line in self.lines if line["code"] == code]
            if len(found) >= times:
                return found[times - 1]
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"no {code}; it said {json.dumps(self.lines, indent=1)}")
            try:
                self._new.get(timeout=0.2)
            except queue.Empty:
                continue

    def port(self) -> int:
        """Where it serves its pages."""
        return int(self.said("Started")["message"].rpartition(" ")[2])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait(_PATIENCE_SECONDS)

    def _read(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        for line in stream:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.lines.append({"code": "", "message": line})
            self._new.put(None)
