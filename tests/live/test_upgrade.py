"""Processes of several releases on one cluster, one after the other, while a node is draining: none changes a size for it."""

import signal
from pathlib import Path
from typing import Any

import msgspec

from reconciler.kube.connection.transport import connect
from reconciler.kube.leading.state import StateObject
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, all_bound, group, pod_spec, replicas
from tests.live.test_run import tainted
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

STATES = Path(__file__).resolve().parents[1] / "fixtures" / "states"
EARLIER = ("03", "05", "08", "10", "12")


def test_a_node_drains_through_upgrades_and_downgrades(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """A pod with a finalizer keeps its node draining. Each process is killed, and the next one finds the memory as an earlier
    release would have stored it, then with fields of a later one: the node is still closed, alone, and the group has its size.
    Once the pod has gone, the node is the one that leaves."""
    cluster = new_cluster()
    group(cluster, "general", 2)
    cluster.until_nodes(2)
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    # What should have ended half a minute ago keeps no node: these have five minutes to end.
    spec = pod_spec(cluster, "1500m") | {"terminationGracePeriodSeconds": 300}
    names = ["stays-0", "stays-1"]
    metadata: Object = {"namespace": cluster.namespace, "annotations": safe, "finalizers": ["test.reconciler.dev/stays"]}
    for name in names:
        cluster.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"name": name}, "spec": spec})
    all_bound(cluster, 2)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 5)}, unneeded="0s"))
    account = user(control_plane, "run-upgrades")
    options = (f"--namespace={cluster.namespace}", "--lease-duration=3", "--period=1")
    state = StateObject(connect(control_plane.kubeconfig), cluster.namespace, "prod")
    try:
        with Reconciler(account, file, *options) as process:
            node = process.said("RemoveNode")["nodes"][0]
            process.signal(signal.SIGKILL)
            process.ended()
        for form in (*EARLIER, "later"):
            stored = msgspec.json.decode(state.load("memory") or b"{}")
            assert set(stored["leaving"]) == {node}, form
            state.save("memory", msgspec.json.encode(_as_of(form, stored)))
            with Reconciler(account, file, *options) as process:
                process.said("Leading")
                process.until_page("/metrics", lambda *_, running=process: running.turns_by_result()["Decided"] >= 3)
                assert (replicas(cluster, "general"), tainted(cluster)) == (2, [node]), form
                assert [one for one in process.lines if one["code"] in ("Resize", "RemoveNode", "RemovalFailed")] == [], form
                process.signal(signal.SIGKILL)
                process.ended()
    finally:
        for name in names:
            item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": cluster.namespace}}
            cluster.api.merge(item, {"metadata": {"finalizers": None}})
    with Reconciler(account, file, *options) as process:
        assert process.said("RemovalFinished")["nodes"] == [node]
    assert replicas(cluster, "general") == 1


def _as_of(form: str, stored: dict[str, Any]) -> dict[str, Any]:
    """The memory with the fields of that release, or with one more."""
    if form == "later":
        return stored | {"laterField": {"a": [1]}}
    known = msgspec.json.decode((STATES / f"{form}.json").read_bytes())
    return {key: value for key, value in stored.items() if key in known}
