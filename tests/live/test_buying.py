"""What the running loop buys and gives back on a real control plane: once, and together."""

from pathlib import Path

from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import LABELS, all_bound, group, pods, replicas
from tests.testbed.api import Object
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

_STARTING = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}


def _file(directory: Path, text: str) -> Path:
    file = directory / "policy.yaml"
    file.write_text(text)
    return file


def test_a_ready_node_with_a_start_up_taint_is_not_bought_again(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The cloud's taint goes when the cloud takes it off, some turns after the node is Ready: replicas stay at one."""
    cluster = new_cluster()
    labels = {"test": cluster.namespace}
    cluster.machine_deployment(
        Group("general", replicas=0, annotations={LABELS: f"test={cluster.namespace}"}), Shape(labels=labels, taints=[_STARTING])
    )
    pods(cluster, "p", 1, "3")
    text = policy_text("prod", cluster.namespace, {"general": (0, 10)})
    with Reconciler(
        user(control_plane, "buys-once"), _file(tmp_path, text), f"--namespace={cluster.namespace}", "--period=1"
    ) as process:
        process.said("Resize")
        cluster.api.wait("/api/v1/nodes", lambda found: any(_waits(cluster.namespace, one) for one in found), "the node")
        turns = process.turns()
        process.until_page("/metrics", lambda *_: process.turns() >= turns + 4)
        plan = process.plan(lambda plan: plan["pods"])
        assert plan["pods"][0]["outcome"] == "FitsUpcoming"
        assert replicas(cluster, "general") == 1
        (node,) = cluster.nodes()
        cluster.api.merge(node, {"spec": {"taints": None}})
        all_bound(cluster, 1)
        assert replicas(cluster, "general") == 1


def _waits(namespace: str, node: Object) -> bool:
    """Ready, with nothing but the cloud's taint left."""
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())
    taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
    mine = str(node["spec"].get("providerID", "")).startswith(f"sim:///{namespace}/")
    return mine and ready and taints == [_STARTING["key"]]


def test_empty_nodes_go_in_one_write(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Six empty nodes of one group: six marks, one write of replicas, and exactly nothing is left."""
    cluster = new_cluster()
    group(cluster, "general", 6)
    cluster.until_nodes(6)
    text = policy_text("prod", cluster.namespace, {"general": (0, 10)}, unneeded="0s")
    with Reconciler(user(control_plane, "gives-back"), _file(tmp_path, text), f"--namespace={cluster.namespace}"):
        cluster.until_nodes(0)
    requests = control_plane.audit("gives-back")
    written = [
        one.body["spec"]["replicas"]
        for one in requests
        if one.resource == "machinedeployments" and one.code == 200 and "replicas" in (one.body.get("spec") or {})
    ]
    # The first takes the field over, with its value.
    assert [value for value in written if value < 6] == [0]
    assert sum(one.resource == "machines" and one.code == 200 for one in requests) == 6
