"""`reconciler run` as a process of its own, as it is deployed, with what it says."""

import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tests.live import rights
from tests.testbed.control_plane import ControlPlane

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: {name}}}
spec:
  mode: {mode}
  adoptFrom: [testbed]
  humanHoldTime: 0s
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  tiers: {tiers}
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
{tier}"""
_PATIENCE_SECONDS = 300


def policy_text(
    name: str,
    namespace: str,
    groups: dict[str, tuple[int, int]],
    *,
    mode: str = "Enforce",
    unneeded: str = "1h",
    tiers: dict[str, str] | None = None,
) -> str:
    """A policy over MachineDeployments of one namespace: their names with smallest and largest size; `tiers` by group, the
    first tier named is the highest."""
    tiers = tiers or {}
    names = ", ".join(f"{{name: {tier}}}" for tier in dict.fromkeys(tiers.values()))
    parts = [POLICY.format(name=name, mode=mode, unneeded=unneeded, tiers=f"[{names}]")]
    for group, (least, most) in groups.items():
        tier = f"  tier: {tiers[group]}\n" if group in tiers else ""
        parts.append(GROUP.format(group=group, namespace=namespace, name=name, min=least, max=most, tier=tier))
    return "".join(parts)


def user(plane: ControlPlane, name: str) -> Path:
    """The kubeconfig of a user who has the reconciler's rights and no others."""
    rights.grant(plane)
    return plane.kubeconfig_of(name, rights.GROUP)


class Reconciler:
    """One running process. Lines of its log are kept as decoded objects in the order in which they came."""

    def __init__(
        self,
        kubeconfig: Path | None,
        policy: Path | None,
        *arguments: str,
        program: str = "reconciler",
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        """`kubeconfig` None: it is found by the environment. `policy` None: `arguments` say where it is. `program` is the module
        that is run: one of a test's own wraps the real one. `environment` is added to this process' own; it works in
        `directory`."""
        command = [
            sys.executable,
            "-m",
            program,
            "run",
            *([f"--kubeconfig={kubeconfig}"] if kubeconfig is not None else []),
            *([f"--policy={policy}"] if policy is not None else []),
            "--listen=127.0.0.1:0",
        ]
        self.lines: list[dict[str, Any]] = []
        self._new: queue.Queue[None] = queue.Queue()
        self._process = subprocess.Popen(
            [*command, *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CI": "1", **(environment or {})},
            cwd=directory,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            # pytest shows it beside what failed.
            print(json.dumps(self.lines[-20:], indent=1), *self._last_plan())
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
            # Asked first: the reader may be behind a process that has ended, and what it has not read is not missing.
            complete = not self._reader.is_alive()
            found = [line for line in self.lines if line["code"] == code]
            if len(found) >= times:
                return found[times - 1]
            if time.monotonic() > deadline or complete:
                raise TimeoutError(f"no {code}; it said {json.dumps(self.lines, indent=1)}")
            try:
                self._new.get(timeout=0.2)
            except queue.Empty:
                continue

    def port(self) -> int:
        """Where it serves its pages."""
        return int(self.said("Listening")["message"].rpartition(" ")[2])

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def processor_seconds(self) -> float:
        """How long it has had a processor, all threads together."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_kib(self) -> int:
        """The most memory that it has had (VmHWM)."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

    def until_frozen(self) -> None:
        """Until it has been stopped by SIGSTOP."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        status = Path(f"/proc/{self._process.pid}/stat")
        while status.read_text().rpartition(")")[2].split()[0] != "T":
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"it was not stopped; it said {json.dumps(self.lines, indent=1)}")
            threading.Event().wait(0.05)

    def page(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and body of one of its pages."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=120)
        try:
            connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def until_page(self, path: str, holds: Callable[[int, str], object]) -> tuple[int, str]:
        """The page, asked again until `holds`."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            found = self.page(path)
            if holds(*found):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is {found}; it said {json.dumps(self.lines, indent=1)}")
            threading.Event().wait(0.1)

    def plan(self, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The last plan, once `holds`."""
        body = self.until_page("/plan", lambda status, text: status == 200 and holds(json.loads(text)))[1]
        found: dict[str, Any] = json.loads(body)
        return found

    def turns(self) -> int:
        """How many turns it has made."""
        return sum(self.turns_by_result().values())

    def turns_by_result(self) -> Counter[str]:
        """The same by what came of them: `Decided`, `Unavailable`, …"""
        counted = (line for line in self.page("/metrics")[1].splitlines() if line.startswith("reconciler_turns_total{"))
        return Counter({line.split('"')[1]: int(float(line.rpartition(" ")[2])) for line in counted})

    def ended(self) -> int:
        """Its exit code, once it has ended by itself and all that it said has been read: a busy machine reads later."""
        code = self._process.wait(_PATIENCE_SECONDS)
        self._reader.join(_PATIENCE_SECONDS)
        return code

    def _last_plan(self) -> tuple[str, ...]:
        try:
            return (self.page("/plan")[1],)
        except (OSError, TimeoutError):
            return ()

    def printed(self) -> str:
        """What it wrote to stdout, once it has ended."""
        stream = self._process.stdout
        assert stream is not None
        return stream.read()

    def _read(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        for line in stream:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.lines.append({"code": "", "message": line})
            self._new.put(None)
