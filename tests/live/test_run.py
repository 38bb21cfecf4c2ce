"""`reconciler run` as a process of its own on a real control plane, as a user with the reconciler's rights and no others."""

import json
import signal
from datetime import UTC, datetime
from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.rights import GROUP
from tests.live.run_cluster import Object, all_bound, group, lease_holder, pods, replicas
from tests.live.run_requests import changes
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.proxy import Proxy
from tests.testbed.work_cluster import WorkCluster

DELETING = "reconciler.dev/deleting"


def policy(directory: Path, cluster: WorkCluster, **groups: tuple[int, int]) -> Path:
    """A policy file in Enforce over these groups."""
    file = directory / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, groups))
    return file


def events(cluster: WorkCluster) -> list[tuple[str, str, str]]:
    """What was told of this namespace by us: kind, name and reason."""
    items = cluster.api.items(f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events")
    ours = [item for item in items if item.get("reportingController") == "reconciler.dev/nodegroup-reconciler"]
    return sorted((one["regarding"]["kind"], one["regarding"]["name"], one["reason"]) for one in ours)


def test_demand_from_zero_becomes_nodes_and_is_told(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Three pods of 3 CPUs on nodes of 4 need three nodes; Events, plan, explanation and metrics tell it; SIGTERM gives the Lease
    back."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 3, "3")
    file = policy(tmp_path, cluster, general=(0, 10))
    with Reconciler(user(control_plane, "run-grows"), file, f"--namespace={cluster.namespace}") as process:
        process.said("Resize")
        all_bound(cluster, 3)
        assert len(cluster.nodes()) == 3
        told = events(cluster)
        assert ("MachineDeployment", "general", "ScaledUp") in told
        assert [one for one in told if one[0] == "Pod"] == [("Pod", "p-0", "TriggeredScaleUp")]
        process.plan(lambda plan: plan["groups"][0]["current"] == 3 and not plan["actions"])
        status, body = process.page("/explain/group/general")
        assert (status, json.loads(body)["group"]["decision"]["current"]) == (200, 3)
        assert process.page("/explain/group/generous")[0] == 404
        assert process.page("/explain/value/general/size.max", accept="text/plain")[1].startswith("size.max of general is 10\n")
        assert "<html" in process.page("/")[1]
        assert 'reconciler_group_replicas{group="general",tier=""} 3.0' in process.page("/metrics")[1]
        assert process.page("/plan", host="example.org")[0] == 401
        assert process.page("/snapshot", host="example.org")[0] == 401
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    assert lease_holder(cluster, "prod") == ""


def test_two_zones_each_get_their_nodes(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Two pods that want zone a and one that wants zone b, a node each: two of one group, one of the other."""
    cluster = new_cluster()
    for zone in ("a", "b"):
        group(cluster, f"zone-{zone}", zone=zone)
    pods(cluster, "in-a", 2, "3", selector={"topology.kubernetes.io/zone": "a"})
    pods(cluster, "in-b", 1, "3", selector={"topology.kubernetes.io/zone": "b"})
    file = policy(tmp_path, cluster, **{"zone-a": (0, 5), "zone-b": (0, 5)})
    with Reconciler(user(control_plane, "run-zones"), file, f"--namespace={cluster.namespace}"):
        all_bound(cluster, 3)
    assert (replicas(cluster, "zone-a"), replicas(cluster, "zone-b")) == (2, 1)


def test_a_tier_out_of_stock_falls_to_the_next(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The reserved group's machines fail for good: on-demand nodes are asked for instead, and every pod is bound there."""
    cluster = new_cluster()
    group(cluster, "h100", failure="OutOfStock")
    group(cluster, "general")
    pods(cluster, "p", 2, "3")
    tiers = {"h100": "reserved", "general": "on-demand"}
    sizes = {"h100": (0, 5), "general": (0, 5)}
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, sizes, tiers=tiers))
    with Reconciler(user(control_plane, "run-tiers"), file, f"--namespace={cluster.namespace}") as process:
        process.said("Resize", 2)
        resized = [line["group"] for line in process.lines if line["code"] == "Resize"]
        assert resized[:2] == ["h100", "general"]
        all_bound(cluster, 2)
    assert replicas(cluster, "general") == 2


def test_the_end_undoes_a_drain_that_cannot_be_finished(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """A pod that does not go, since it has a finalizer, keeps its node draining: SIGTERM opens the node again."""
    cluster = new_cluster()
    group(cluster, "general", 2)
    cluster.until_nodes(2)
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    names = pods(cluster, "stays", 2, "1500m", annotations=safe, finalizers=["test.reconciler.dev/stays"])
    all_bound(cluster, 2)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 5)}, unneeded="0s"))
    try:
        with Reconciler(user(control_plane, "run-ends"), file, f"--namespace={cluster.namespace}") as process:
            node = process.said("RemoveNode")["nodes"][0]
            assert any(taint["key"] == DELETING for taint in cluster.api.get(f"/api/v1/nodes/{node}")["spec"]["taints"])
            process.signal(signal.SIGTERM)
            assert process.ended() == 0
            assert process.said("RemovalFailed")["nodes"] == [node]
    finally:
        for name in names:
            item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": cluster.namespace}}
            cluster.api.merge(item, {"metadata": {"finalizers": None}})
    assert tainted(cluster) == []
    assert replicas(cluster, "general") == 2


def test_a_second_signal_ends_at_once_and_the_next_process_goes_on(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The API server answers nobody when the process is to end in order, which it waits for; told again it ends at once, with
    exit code 1, and leaves its taint. The next one finishes exactly that removal, and leaves nothing behind."""
    cluster = new_cluster()
    group(cluster, "general", 2)
    cluster.until_nodes(2)
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    names = pods(cluster, "stays", 2, "1500m", annotations=safe, finalizers=["test.reconciler.dev/stays"])
    all_bound(cluster, 2)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 5)}, unneeded="0s"))
    account = user(control_plane, "run-abandons")
    try:
        with Proxy(control_plane) as proxy:
            through = proxy.kubeconfig_of("run-abandons", GROUP)
            with Reconciler(through, file, f"--namespace={cluster.namespace}") as process:
                node = process.said("RemoveNode")["nodes"][0]
                proxy.set("HalfOpen")
                process.signal(signal.SIGTERM)
                process.said("Stopping")
                process.signal(signal.SIGTERM)
                assert process.ended() == 1
                assert not [line for line in process.lines if line["code"] in ("Stopped", "RemovalFailed")]
        assert tainted(cluster) == [node]
        assert lease_holder(cluster, "prod") == process.said("Started")["identity"]
    finally:
        for name in names:
            item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": cluster.namespace}}
            cluster.api.merge(item, {"metadata": {"finalizers": None}})
    with Reconciler(account, file, f"--namespace={cluster.namespace}", "--period=1") as successor:
        assert successor.said("RemovalFinished")["nodes"] == [node]
        cluster.until_nodes(1)
        cluster.until_machines(lambda items: len(items) == 1, "one machine being left")
        successor.plan(lambda plan: plan["groups"][0]["current"] == 1 and not plan["actions"])
    assert (replicas(cluster, "general"), tainted(cluster)) == (1, [])
    assert node not in {one["metadata"]["name"] for one in cluster.nodes()}


def tainted(cluster: WorkCluster) -> list[str]:
    """The nodes with our taint."""
    return [
        one["metadata"]["name"]
        for one in cluster.nodes()
        if any(taint["key"] == DELETING for taint in one["spec"].get("taints", ()))
    ]


def test_read_only_writes_nothing_at_all(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Pending pods under Enforce: the plan says what it would do, and the API server was asked to change nothing."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 1, "3")
    file = policy(tmp_path, cluster, general=(0, 10))
    with Reconciler(user(control_plane, "run-reads"), file, f"--namespace={cluster.namespace}", "--read-only") as process:
        plan = process.plan(lambda found: found["actions"])
        assert plan["mode"] == "Observe"
        assert [action["to"] for action in plan["actions"] if action["kind"] == "Resize"] == [1]
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    assert changes(control_plane, "run-reads") == []


def test_observe_writes_its_own_objects_only(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Lease, state and Events; `--once` prints the plan and ends."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 1, "3")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 5)}, mode="Observe"))
    with Reconciler(user(control_plane, "run-observes"), file, f"--namespace={cluster.namespace}", "--once") as process:
        assert process.ended() == 0
        printed = json.loads(process.printed())
        assert [action["to"] for action in printed["actions"] if action["kind"] == "Resize"] == [1]
    written = {entry.partition(" ")[2] for entry in changes(control_plane, "run-observes")}
    assert written <= {"leases", "configmaps", "events"}
    assert {"leases", "configmaps"} <= written


def test_a_live_cluster_autoscaler_holds_every_group(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Its Lease was renewed just now: held, with the Lease as the evidence; once the Lease is gone the group grows."""
    cluster = new_cluster()
    group(cluster, "general")
    pods(cluster, "p", 1, "3")
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases"
    cluster.api.call("POST", leases, autoscaler_lease(cluster.namespace))
    file = policy(tmp_path, cluster, general=(0, 10))
    with Reconciler(user(control_plane, "run-beside"), file, f"--namespace={cluster.namespace}", "--period=1") as process:
        line = process.plan(lambda found: found["groups"])["groups"][0]
        assert (line["owner"]["state"], line["owner"]["by"], line["wanted"]) == ("Held", "cluster-autoscaler", 1)
        assert line["owner"]["evidence"] == [f"Lease {cluster.namespace}/cluster-autoscaler is renewed by ca-0"]
        assert replicas(cluster, "general") == 0
        cluster.api.call("DELETE", f"{leases}/cluster-autoscaler")
        all_bound(cluster, 1)


def autoscaler_lease(namespace: str) -> Object:
    """A Lease as a Cluster Autoscaler keeps it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "ca-0", "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now}
    metadata = {"name": "cluster-autoscaler", "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
