"""`reconciler run` that begins with a bad policy in its source: the last good one goes on; without one it says why."""

from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, group, pods
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

BAD = "mode: Enforcing"


def test_a_bad_commit_and_a_restart_without_a_name(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The process is given no --name. Its policy is saved under the name that stands in it; then the tree goes bad and the
    process is killed. The next one finds what was in force by the source, says what is wrong, and buys what pods need."""
    cluster = new_cluster()
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    good = policy_text("prod", cluster.namespace, {"general": (0, 9)})
    file.write_text(good)
    kubeconfig = user(control_plane, "run-last-good")
    options = (f"--namespace={cluster.namespace}", "--lease-duration=6", "--period=1")
    with Reconciler(kubeconfig, file, *options) as process:
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
    file.write_text(good.replace("mode: Enforce", BAD).replace("budgets: [{nodes: 10}]", "budgets: [{nodes: ten}]"))
    with Reconciler(kubeconfig, file, *options) as process:
        pods(cluster, "p", 1, "3")
        all_bound(cluster, 1)
        assert process.said("Started")["policy"] == "prod"
        places = {line["place"].rpartition("policy.yaml:")[2].split(":")[0] for line in process.lines if "place" in line}
        assert places == {"5", "10"}


def test_a_first_policy_that_is_bad(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Nothing was ever in force: the port is open all the same, alive and not ready, with the place of the fault; once it is
    mended the same process decides."""
    cluster = new_cluster()
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    good = policy_text("prod", cluster.namespace, {"general": (0, 9)})
    file.write_text(good.replace("mode: Enforce", BAD))
    options = (f"--namespace={cluster.namespace}", "--lease-duration=6", "--period=1")
    with Reconciler(user(control_plane, "run-first-bad"), file, *options) as process:
        process.until_page("/readyz", lambda status, body: status == 503 and "policy.yaml:5:9" in body)
        assert process.page("/healthz")[0] == 200
        file.write_text(good)
        process.until_page("/readyz", lambda status, body: (status, body) == (200, "ok\n"))
