"""`reconciler run` while the API server or its database is away: readiness says so, and it goes on without a restart."""

import time
from pathlib import Path

import pytest

from reconciler.control.turn.turn_report import ResultState
from reconciler.kube.connection.transport import KubernetesApi
from reconciler.policy.documents import GroupFields, ScaleDown
from reconciler.providers.contract import RemovalState
from tests.live.demand import own_nodes
from tests.live.own_loop import OwnLoop, told
from tests.live.own_loop import group as policy_group
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.rights import writes_of
from tests.live.run_cluster import all_bound, group, lease_holder, pods
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

OUTAGE_SECONDS = 30
HOUR_SECONDS = 3600
AFTER_AN_HOUR = GroupFields(scale_down=ScaleDown(unneeded_time_seconds=HOUR_SECONDS, utilization_threshold_percent=50))
PATIENCE_SECONDS = 180


def test_an_api_server_that_goes_and_comes_back(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Not ready while it is away, alive all the same; ready again afterwards, and new pods get their node."""
    cluster = new_cluster()
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", "--lease-duration=6", "--period=1")
    with Reconciler(user(control_plane, "run-outage"), file, *options) as process:
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        with control_plane.api_server_away():
            process.until_page("/readyz", lambda status, _: status == 503)
            assert process.page("/healthz")[0] == 200
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        pods(cluster, "p", 1, "3")
        all_bound(cluster, 1)


@pytest.mark.parametrize("how", ["frozen", "killed"])
def test_a_database_that_is_away_for_half_a_minute(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A removal is due all the time. The API server still holds the watches open, or ends them all: whatever the view says, no
    turn asks for a change, and once the Lease could not be renewed readiness says why until the database is back. Then both
    loops go on as they are: one removes its node, the other is ready and buys one."""
    cluster, other = new_cluster(), new_cluster()
    growing, idle = group(cluster, "general"), own_nodes(other, "idle", 1)
    other.until_nodes(1)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    name = f"run-etcd-{how}"
    options = (f"--namespace={cluster.namespace}", f"--target-namespace={cluster.namespace}", "--period=1")
    policed = policy_group("idle", other.namespace)
    with (
        Reconciler(user(control_plane, name), file, *options) as process,
        OwnLoop(control_plane, other.namespace, policed, call_seconds=4, defaults=AFTER_AN_HOUR) as loop,
    ):
        process.plan(lambda plan: plan["groups"][0]["owner"]["state"] == "Ours")
        before = writes_of(control_plane, name)
        loop.until(lambda _: len(loop.store.load().unneeded_since) == 1, "the node being unneeded")
        asked: list[str] = []
        with control_plane.paused("etcd") if how == "frozen" else control_plane.etcd_away():
            began = time.monotonic()
            with monkeypatch.context() as patched:
                patched.setattr(KubernetesApi, "write", lambda _, method, path, *__, **___: asked.append(f"{method} {path}"))
                loop.ahead_seconds = HOUR_SECONDS + 100
                said: list[tuple[int, str]] = []
                while time.monotonic() < began + OUTAGE_SECONDS or not said:
                    assert time.monotonic() < began + PATIENCE_SECONDS, process.lines
                    turn = loop.loop.turn()
                    assert not any(one.state is ResultState.DONE for one in turn.results), told(turn)
                    failed = any(line["code"] == "LeaseFailed" for line in process.lines)
                    said += [process.page("/readyz")] if failed else []
            assert {status for status, _ in said} == {503}
            assert said[-1][1].startswith("no view to trust: ")
            assert process.page("/healthz")[0] == 200
        assert asked == []
        loop.until(lambda report: any(one.state is RemovalState.FINISHED for one in report.removals), "the removal")
        other.until(idle, lambda item: item["spec"]["replicas"] == 0, "no node")
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        assert writes_of(control_plane, name) == before
        pods(cluster, "p", 1, "3")
        all_bound(cluster, 1)
        cluster.until(growing, lambda item: item["spec"]["replicas"] == 1, "a node more")
        assert process.said("Started", 1)["identity"] == lease_holder(cluster, "prod")
