"""The live loop in a process of its own that ends by SIGKILL around one write: just before it is sent, or when it is done."""

import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3  # noqa: F401
import kubernetes.client
import kubernetes.config  # noqa: F401
import msgspec

from reconciler.control.live.live_process import LiveProcess, Settings
from reconciler.control.log import Log
from reconciler.kube.connection.api import ContentType
from reconciler.kube.connection.transport import connect
from reconciler.kube.leading.lease import Timing
from reconciler.kube.watching.collection import Served, cluster_api
from reconciler.platforms.aws.writing import polling, removal
from reconciler.platforms.aws.writing.accounts import accounts
from reconciler.platforms.aws.writing.calls import Answer, Aws
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.policy.documents import PolicySet

_DIE_WITH_PARENT = 1
_POLL_SECONDS = 0.3
_PATIENCE_SECONDS = 300
# Processes are made from one that has everything imported.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__])


class Fault(msgspec.Struct, frozen=True):
    """The `nth` write of this kind that the process sends is its last: `after` says whether the server gets it."""

    kind: str
    after: bool
    nth: int = 1

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'}-{self.kind}" + (f"-{self.nth}" if self.nth > 1 else "")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How the process runs. `ahead_seconds` is how far its clock is before the real one; `identity` stays that of the one
    before it, unless a test is about the Lease. `cloud` is the environment in which AWS is asked; the kinds of its writes are the
    names of the actions."""

    kubeconfig: Path
    log: Path
    namespace: str
    policy: PolicySet
    fault: Fault | None = None
    ahead_seconds: int = 0
    drain_timeout_seconds: int = 600
    identity: str = "killed"
    lease: Timing = Timing()
    served: tuple[Served, ...] = (cluster_api(version="v1beta2"),)
    cloud: Mapping[str, str] = {}


def killed(run: Run) -> None:
    """Run until the fault strikes. Raises AssertionError when it does not."""
    process = _processes.Process(target=_live, args=(run,), daemon=True)
    process.start()
    process.join(_PATIENCE_SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"{run.fault} never came:\n{run.log.read_text()[-6000:]}")
    assert process.exitcode == -signal.SIGKILL, f"{run.fault}: ended with {process.exitcode}:\n{run.log.read_text()[-6000:]}"


def running_until(run: Run, holds: Callable[[], object], what: str) -> None:
    """Run without fault until `holds`, then SIGKILL."""
    process = _processes.Process(target=_live, args=(run,), daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"{what} did not happen:\n{run.log.read_text()[-6000:]}"
            assert process.is_alive(), run.log.read_text()[-6000:]
            time.sleep(0.05)
    finally:
        process.kill()
        process.join()


class _Static:
    """A source that always holds the same policy."""

    def __init__(self, policy: PolicySet) -> None:
        self._policy = policy

    def current(self) -> PolicySet:
        return self._policy

    def missing(self) -> str:
        return ""

    def start(self, changed: Callable[[], None]) -> None:
        changed()

    def poll(self) -> bool:
        return False

    def notify(self) -> None:
        return

    def stop(self) -> None:
        return


class _Deadly:
    """A connection whose process dies at one write."""

    def __init__(self, inner: Any, fault: Fault | None, sent: list[str]) -> None:
        self._inner = inner
        self._fault = fault
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def with_guard(self, guard: Callable[[], None] | None) -> "_Deadly":
        return _Deadly(self._inner.with_guard(guard), self._fault, self._sent)

    def with_timeout(self, seconds: float) -> "_Deadly":
        return _Deadly(self._inner.with_timeout(seconds), self._fault, self._sent)

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        kind = kind_of(method, path, body, content_type)
        fault = self._fault
        due = fault is not None and kind == fault.kind and self._sent.count(kind) + 1 == fault.nth
        if due and fault is not None and not fault.after:
            os.kill(os.getpid(), signal.SIGKILL)
        # One that the server turned away was none, and comes again.
        answer: bytes = self._inner.write(method, path, body, content_type=content_type, query=query)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        self._sent.append(kind)
        return answer


class _DeadlyCloud:
    """An account of AWS whose process dies at one write."""

    def __init__(self, inner: Aws, fault: Fault | None, sent: list[str]) -> None:
        self._inner = inner
        self._fault = fault
        self._sent = sent

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        fault = self._fault
        due = fault is not None and action == fault.kind and self._sent.count(action) + 1 == fault.nth
        if due and fault is not None and not fault.after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = self._inner.call(service, action, **parameters)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        self._sent.append(action)
        return answer


def kind_of(method: str, path: str, body: Any, content_type: ContentType) -> str:
    """What a write of ours is for."""
    parts = path.split("/")
    change: dict[str, Any] = body if isinstance(body, dict) else {}
    metadata = change.get("metadata") or {}
    if parts[-1] == "eviction":
        return "evict"
    if "leases" in parts:
        return "lease-create" if method == "POST" else "lease-renew"
    if "configmaps" in parts:
        return "state-create" if method == "POST" else "state"
    if "nodes" in parts:
        keys = [
            msgspec.json.decode(taint)["key"] if isinstance(taint, msgspec.Raw) else taint["key"]
            for taint in (_taints(change) if content_type is ContentType.MERGE_PATCH else _added(body))
        ]
        return "taint" if "reconciler.dev/deleting" in keys else "untaint"
    if "machines" in parts:
        return "unmark" if None in (metadata.get("annotations") or {}).values() else "mark"
    if {"machinedeployments", "machinesets"} & set(parts):
        return "apply" if content_type is ContentType.APPLY else "claim" if "managedFields" in metadata else "annotate"
    return "event" if "events" in parts else parts[-1]


def _taints(change: Mapping[str, Any]) -> list[Any]:
    return list((change.get("spec") or {}).get("taints") or ())


def _added(operations: list[dict[str, Any]]) -> list[Any]:
    """What a JSON patch adds: one taint, or a list with it."""
    values = [one["value"] for one in operations if one["op"] == "add"]
    return [taint for value in values for taint in (value if isinstance(value, list) else [value])]


def _live(run: Run) -> None:
    # With the process that made this one, not with the test alone.
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    sent: list[str] = []
    api = _Deadly(connect(run.kubeconfig), run.fault, sent)
    os.environ.update(run.cloud)
    accounts()._made = lambda region, role: _DeadlyCloud(BotoAws(region, role), run.fault, sent)
    # The clouds of tests move by the second.
    polling.MOVING_SECONDS = _POLL_SECONDS
    # And act within one, so that nobody waits a minute for what a read may hide.
    removal.READ_LAG_SECONDS = 2
    settings = Settings(
        name=run.policy.policy.name, namespace=run.namespace, identity=run.identity, target_namespaces=(run.namespace,),
        served=run.served,
        period_seconds=0.2, idle_seconds=0.02, most_seconds=0.2, drain_timeout_seconds=run.drain_timeout_seconds, lease=run.lease,
    )  # fmt: skip
    with run.log.open("a") as output:
        process = LiveProcess(
            settings, api, api, lambda _state, _leads: _Static(run.policy), Log(output, lambda: int(time.time())),
            now_seconds=lambda: int(time.time()) + run.ahead_seconds, wall_seconds=time.time,
        )  # fmt: skip
        process.start()
        process.run()
