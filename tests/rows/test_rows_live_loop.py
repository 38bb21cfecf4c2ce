"""Rows of the topic `live` that are about the running loop: S18, S37, S40, S109."""

import signal
from datetime import datetime
from pathlib import Path

from reconciler.control.live.wake import Wake, WakeReason
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, deployment, group, lease_holder, pods, replicas
from tests.live.run_requests import changes
from tests.testbed.cluster_documents import DELETE_MACHINE
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

PERIOD_SECONDS = 10


def test_s18_a_turn_begins_every_ten_seconds_when_nothing_happens() -> None:
    """The clock stands at the beginning of the wait, then ten seconds later: due, and not before."""
    times = iter([100.0, 100.0 + PERIOD_SECONDS])
    assert Wake(lambda: next(times)).wait() is WakeReason.PERIOD


def test_s37_load_rises_and_falls(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A Deployment of one pod becomes eight on four nodes, and two again: the other nodes are drained and exactly their Machines
    deleted; then thirty turns change nothing."""
    cluster = new_cluster()
    group(cluster, "general")
    load = deployment(cluster, "load", 1, "1500m")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}, unneeded="0s"))
    options = (f"--namespace={cluster.namespace}", "--period=0.2")
    with Reconciler(user(control_plane, "row-s37"), file, *options) as process:
        all_bound(cluster, 1)
        cluster.api.merge(load, {"spec": {"replicas": 8}})
        all_bound(cluster, 8)
        cluster.until_nodes(4)
        there = cluster.until_machines(lambda items: all("nodeRef" in item["status"] for item in items), "machines having nodes")
        machine_of = {item["status"]["nodeRef"]["name"]: item["metadata"]["name"] for item in there}
        cluster.api.merge(load, {"spec": {"replicas": 2}})
        cluster.until_nodes(1)
        all_bound(cluster, 2)
        cluster.until_machines(lambda items: len(items) == 1, "one machine being left")
        process.plan(lambda plan: plan["summary"] == "No changes.")
        removed = {name for line in process.lines if line["code"] == "RemovalFinished" for name in line["nodes"]}
        assert removed == machine_of.keys() - {node["metadata"]["name"] for node in cluster.nodes()}
        requests = control_plane.audit("row-s37")
        marked = {one.name for one in requests if one.resource == "machines" and DELETE_MACHINE in str(one.body)}
        assert marked == {machine_of[name] for name in removed}
        # The turn after the last one that did something remembers what became of it.
        turns = process.turns()
        process.until_page("/metrics", lambda *_: process.turns() >= turns + 3)
        before, turns = changes(control_plane, "row-s37"), process.turns()
        process.until_page("/metrics", lambda *_: process.turns() >= turns + 30)
        later = changes(control_plane, "row-s37")[len(before) :]
        assert set(later) <= {"update leases"}, later
    assert replicas(cluster, "general") == 1


def test_s40_only_one_replica_scales(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Two instances: the one without the Lease has asked for no change at all; when the leader is killed the other one scales."""
    cluster = new_cluster()
    group(cluster, "general")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", "--lease-duration=15", "--period=1")
    with Reconciler(user(control_plane, "row-s40-a"), file, *options) as leader:
        leader.said("Leading")
        with Reconciler(user(control_plane, "row-s40-b"), file, *options) as other:
            other.said("Started")
            pods(cluster, "p", 1, "3")
            all_bound(cluster, 1)
            assert changes(control_plane, "row-s40-b") == []
            assert "patch machinedeployments" in changes(control_plane, "row-s40-a")
            leader.signal(signal.SIGKILL)
            other.said("Leading")
            pods(cluster, "more", 1, "3")
            all_bound(cluster, 2)
            assert lease_holder(cluster, "prod") == other.said("Started")["identity"]


def test_s109_the_request_follows_within_a_period(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """After the scheduler marked the pod unschedulable replicas are written, though the period is an hour: the pod itself wakes
    the loop, and how fast is no more than how fast the machine is."""
    cluster = new_cluster()
    item = group(cluster, "general")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 9)}))
    options = (f"--namespace={cluster.namespace}", "--period=3600")
    with Reconciler(user(control_plane, "row-s109"), file, *options) as process:
        process.plan(lambda plan: plan["groups"][0]["owner"]["state"] == "Ours")
        pods(cluster, "p", 1, "3")
        path = f"/api/v1/namespaces/{cluster.namespace}/pods"
        (pod,) = cluster.api.wait(path, lambda found: any(_unschedulable(one) for one in found), "the pod being marked")
        process.said("Resize")
        entries = cluster.api.read(item)["metadata"]["managedFields"]
        written = next(entry["time"] for entry in entries if entry["manager"] == "nodegroup-reconciler")
    marked = next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == "PodScheduled")
    assert datetime.fromisoformat(marked) <= datetime.fromisoformat(written)


def _unschedulable(pod: dict) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in conditions)
