"""`reconciler run` as a process of its own, ended by SIGKILL between the two calls of a removal: Crusoe's API is our own server,
the control plane with its nodes, pods and evictions is real."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crusoe.live_cluster import RealNodes
from tests.crusoe.loops import HEAD, group_text
from tests.crusoe.service.server import SECRET, Service
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
