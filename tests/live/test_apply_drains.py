"""`apply` on a real API server while pods are slow to go: a replacement to its end, and what an interruption leaves."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.live.command_line import CommandLine
from tests.live.run_cluster import all_bound, deployment, group, lease_holder, replicas
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
OURS = "reconciler.dev/deleting"
STAY = "live-tests.dev/stay"
POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: {0}}}
spec:
  mode: Enforce
  adoptFrom: [testbed]
  humanHoldTime: 0s
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  budgets: [{{nodes: 10}}]
  defaults: {{scaleDown: {{unneededTime: 0s, consolidation: {{mode: Enabled}}}}}}
"""
GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {1}, namespace: {0}}}
spec:
  policyRef: {{name: {0}}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: {0}, name: {1}}}}}
  size: {{min: 0, max: 5}}
  pricePerHour: "{2}"
"""


class Stage:
    """A Cluster with priced groups of its own, the policy over them, and plans of it."""

    def __init__(self, plane: ControlPlane, cluster: WorkCluster, directory: Path, **prices: str) -> None:
        self.cluster = cluster
        self._kubeconfig = plane.kubeconfig
        self._line = CommandLine(plane.kubeconfig)
        policy = directory / "policies"
        policy.mkdir()
        groups = (GROUP.format(cluster.namespace, name, price) for name, price in prices.items())
        (policy / "policy.yaml").write_text("".join((POLICY.format(cluster.namespace), *groups)))
        self.where = ("--policy", policy, "--target-namespace", cluster.namespace, "--namespace", cluster.namespace)
        self.file = directory / "plan.json"

    def plan(self) -> list[Object]:
        """Save a plan; its actions."""
        self._line.done("plan", *self.where, "--out", self.file, "--no-settled")
        found: list[Object] = json.loads(self.file.read_text())["actions"]
        return found

    def apply(self) -> Object:
        """Carry it out to its end."""
        return self._line.json("apply", self.file, *self.where)

    @contextmanager
    def applying(self) -> Iterator["subprocess.Popen[str]"]:
        """Carry it out in a process of its own."""
        words = ("apply", self.file, *self.where, "--kubeconfig", self._kubeconfig, "-o", "json")
        command = [sys.executable, "-m", "reconciler", *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def node(self, name: str) -> Object:
        found: Object = self.cluster.api.get(f"/api/v1/nodes/{name}")
        return found

    def closed(self, name: str) -> bool:
        """Whether our taint is on a node."""
        return any(taint["key"] == OURS for taint in self.node(name)["spec"].get("taints") or ())

    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.cluster.namespace}/pods"


@pytest.fixture
def let_go(new_cluster: NewCluster) -> Iterator[WorkCluster]:
    """A Cluster whose pods may have a finalizer: afterwards they may go."""
    cluster = new_cluster()
    yield cluster
    namespace = cluster.namespace
    cluster.api.call("DELETE", f"/apis/apps/v1/namespaces/{namespace}/deployments")
    path = f"/api/v1/namespaces/{namespace}/pods"

    def gone(items: list[Object]) -> bool:
        for item in items:
            if item["metadata"].get("finalizers"):
                cluster.api.merge({"apiVersion": "v1", "kind": "Pod", **item}, {"metadata": {"finalizers": None}})
        return not items

    cluster.api.wait(path, gone, "the pods being gone")


def test_a_drain_that_is_interrupted_is_undone_and_said_to_be(
    let_go: WorkCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """^C while a pod will not end: the node is open again, replicas and machines are as before, the Lease is free, and the
    action has failed: exit code 1."""
    cluster, api = let_go, let_go.api
    stage = Stage(control_plane, cluster, tmp_path, general="1.00")
    group(cluster, "general", 2)
    names = {node["metadata"]["name"] for node in cluster.until_nodes(2)}
    app = deployment(cluster, "app", 1, "1")
    (pod,) = all_bound(cluster, 1)
    leaving = pod["spec"]["nodeName"]
    api.merge({"apiVersion": "v1", "kind": "Pod", **pod}, {"metadata": {"finalizers": [STAY]}})
    (other,) = names - {leaving}
    api.merge(stage.node(other), {"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}})
    assert [(action["kind"], action["nodes"]) for action in stage.plan()] == [("Adopt", []), ("RemoveNode", [leaving])]
    with stage.applying() as process:
        api.wait(
            stage.pods(),
            lambda items: any(item["metadata"]["uid"] == pod["metadata"]["uid"] and _ending(item) for item in items),
            "the eviction",
        )
        assert stage.closed(leaving)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    document = json.loads(out)
    assert [(action["kind"], action["state"]) for action in document["actions"]] == [("Adopt", "Done"), ("RemoveNode", "Failed")]
    assert [reason["code"] for reason in document["actions"][1]["reasons"]] == ["Stopped"]
    assert not document["complete"]
    assert not stage.closed(leaving)
    assert replicas(cluster, "general") == 2
    assert not [machine for machine in cluster.machines("general") if _ending(machine)]
    assert lease_holder(cluster, cluster.namespace) == ""
    assert app["spec"]["replicas"] == 1


def test_a_replacement_is_seen_to_its_end(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """The cheap node is bought, the pods move there, and the dear one is gone when the command has ended."""
    cluster = new_cluster()
    stage = Stage(control_plane, cluster, tmp_path, cheap="0.10", dear="1.00")
    group(cluster, "dear", 1)
    group(cluster, "cheap", 0)
    (dear,) = cluster.until_nodes(1)
    deployment(cluster, "app", 2, "500m")
    all_bound(cluster, 2)
    kinds = [action["kind"] for action in stage.plan()]
    assert (set(kinds), kinds[-1]) == ({"Adopt", "Replace"}, "Replace")
    document = stage.apply()
    assert {action["state"] for action in document["actions"]} == {"Done"}
    (action,) = (action for action in document["actions"] if action["kind"] == "Replace")
    assert (action["group"], action["nodes"]) == ("cheap", [dear["metadata"]["name"]])
    assert document["complete"]
    assert any(dear["metadata"]["name"] in sentence for sentence in document["happened"])
    (left,) = cluster.until_nodes(1)
    assert left["metadata"]["name"] != dear["metadata"]["name"]
    assert (replicas(cluster, "cheap"), replicas(cluster, "dear")) == (1, 0)
    assert {item["spec"]["nodeName"] for item in all_bound(cluster, 2)} == {left["metadata"]["name"]}
    assert lease_holder(cluster, cluster.namespace) == ""


def _ending(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]
