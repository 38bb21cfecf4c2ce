"""`reconciler run` as a process of its own, ended by SIGKILL between the two calls of a removal: Crusoe's API is our own server,
the control plane with its nodes, pods and evictions is real."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crusoe.live_cluster import RealNodes
from tests.crusoe.loops import HEAD, group_text
from tests.crusoe.service.server import SECRET, Service
from tests.crusoe.service.state import LOCATION
from tests.crusoe.writes import ids
from tests.live.reconciler_process import Reconciler, user
from tests.testbed.control_plane import ControlPlane

_PATIENCE_SECONDS = 300


@pytest.fixture
def real(service: Service, control_plane: ControlPlane) -> Iterator[RealNodes]:
    """Both servers; the clock of Crusoe's begins with ours."""
    service.account.now = time.time()
    nodes = RealNodes(control_plane, service)
    yield nodes
    nodes.gone()


def until(service: Service, holds: Callable[[], bool], what: str) -> None:
    """Time passes on the server until that is so."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen: {service.account.calls[-10:]}")
        service.advance(1)
        time.sleep(0.1)


def noted(real: RealNodes) -> bool:
    """Whether the state of the policy holds what a removal must remember."""
    state = real.api.get(f"/api/v1/namespaces/{real.namespace}/configmaps/reconciler-state-prod")
    return "crusoe" in (state.get("data") or {})


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_killed_between_the_two_calls(
    service: Service, real: RealNodes, control_plane: ControlPlane, tmp_path: Path, method: str
) -> None:
    """Bought for pods that wait; one of two goes, though the process is killed when the count has just been lowered, or the
    machine just deleted: exactly one, the drained one, and the next process ends it. The key is in no line of the log."""
    pool = service.account.add()
    file = tmp_path / "policy.yaml"
    text = HEAD.replace("labels: {team: a}", f"labels: {{team: {real.namespace}}}").replace("0s}", "15s}")
    file.write_text(text + group_text())
    start = (user(control_plane, f"run-crusoe-{method.lower()}"), file, f"--namespace={real.namespace}", "--lease-duration=8")
    real.train(2)
    said: list[str] = []
    with Reconciler(*start, environment=service.environment()) as process:
        process.said("Started")
        until(service, lambda: pool.count == 2 and len(real.all()) == 2, "growth")
        real.until_running(2)
        lowered: list[bool] = []

        def kill(done: str, path: str) -> None:
            if done == method and pool.count == 1 and not lowered:
                lowered.append(noted(real))
                process.signal(signal.SIGKILL)

        service.account.after.append(kill)
        real.train(1)
        until(service, lambda: bool(lowered), f"a {method}")
        said += [json.dumps(line) for line in process.lines]
    assert lowered == [True]
    with Reconciler(*start, environment=service.environment()) as process:
        until(service, lambda: len(real.all()) == 1 and len(service.account.machines) == 1, "the removal")
        process.plan(lambda plan: plan["groups"][0]["current"] == 1 and not plan["actions"])
        said += [json.dumps(line) for line in process.lines]
    assert (pool.count, len(ids(service, pool)), len(service.account.deleted)) == (1, 1, 1)
    assert (service.account.trimmed, service.count("PATCH")) == ([], 2)
    assert not any(SECRET in line for line in said)


def test_the_commands_of_a_first_day(service: Service, real: RealNodes, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Where the credentials are there, `init` finds the pools of the cluster's own nodes, `plan` reads them by what it wrote,
    and a snapshot holds them; without credentials nothing of it is asked."""
    pool = service.account.add(name=real.namespace, count=1)
    (machine,) = service.account.of(pool)
    real.join(machine)

    def said(*words: str, asks: bool = True, code: int = 0) -> str:
        line = [sys.executable, "-m", "reconciler", *words]
        cluster = {"KUBECONFIG": str(user(control_plane, "crusoe-first-day"))}
        environment = {**os.environ, **cluster, **(service.environment() if asks else {})}
        done = subprocess.run(line, check=False, capture_output=True, text=True, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    policies = tmp_path / "policies"
    said("init", f"--out={policies}", "--target-namespace=nowhere")
    assert f"nodePool: {real.namespace}" in (policies / "groups.yaml").read_text()
    plan = json.loads(said("plan", f"--policy={policies}", "--target-namespace=nowhere", "-o", "json"))
    targets = {line["target"]: line["current"] for line in plan["groups"]}
    assert targets[f"NodePool {LOCATION}/{real.namespace}"] == 1
    said("snapshot", f"--out={tmp_path / 'snapshot'}", "--target-namespace=nowhere")
    offline = json.loads(said("plan", f"--policy={policies}", f"--cluster={tmp_path / 'snapshot'}", "-o", "json", asks=False))
    assert {line["target"]: line["current"] for line in offline["groups"]} == targets
    calls = len(service.account.calls)
    said("snapshot", f"--out={tmp_path / 'without'}", "--target-namespace=nowhere", asks=False)
    assert len(service.account.calls) == calls
    assert not list((tmp_path / "without").glob("*nodepools*"))
