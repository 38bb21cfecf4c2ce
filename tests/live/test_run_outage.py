"""`reconciler run` while the API server or its database is away: readiness says so, and it goes on without a restart."""

from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, group, pods
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster


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


def test_a_database_that_does_not_answer(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The API server still holds the watches open, so that only reads and the Lease tell; nothing is written meanwhile."""
    cluster = new_cluster()
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", "--lease-duration=6", "--period=1")
    with Reconciler(user(control_plane, "run-no-database"), file, *options) as process:
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        with control_plane.paused("etcd"):
            process.until_page("/readyz", lambda status, _: status == 503)
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
        pods(cluster, "p", 1, "3")
        all_bound(cluster, 1)
