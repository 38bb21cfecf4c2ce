"""A crowd of neighbours that mean harm, and the loop on a real cluster."""

import http.client
import time
from contextlib import closing
from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import group
from tests.security.hostile import Crowd
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import WorkCluster

MIB = 1 << 20


def memory_bytes(pid: int) -> int:
    """The most that the process ever had in memory."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def test_a_loop_under_attack_answers_its_probes(cluster_api: ClusterApi, control_plane: ControlPlane, tmp_path: Path):
    """200 hostile connections for 25 s, on the pages and on the probes: each probe is answered within the time that the kubelet
    gives it, the loop goes on deciding, and memory stays below 200 MiB."""
    cluster = WorkCluster(cluster_api.api, "attacked")
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("attacked", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", "--probes=127.0.0.1:0", "--period=1")
    with Reconciler(user(control_plane, "attacked"), file, *options) as process:
        process.plan(lambda plan: plan["groups"])
        started = process.said("Started")
        ports = (process.port(), int(started["probes"]))
        slowest = 0.0
        with Crowd(ports, 200) as crowd:
            # Twice as long as the longest that any of them may keep its place (`Limits.body_seconds`), and more.
            end = time.monotonic() + 25
            while time.monotonic() < end:
                began = time.monotonic()
                with closing(http.client.HTTPConnection("127.0.0.1", ports[1], timeout=5)) as connection:
                    connection.request("GET", "/healthz")
                    assert connection.getresponse().read() == b"ok\n"
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.2)
        used = memory_bytes(process.pid)
        print(f"slowest probe {slowest:.2f} s, {crowd.connected} connections made, {used / MIB:.0f} MiB")
        assert used < 200 * MIB
    cluster.delete()
