"""Pods that ask for devices on a real API server, scheduler and claim controller: nodes come from zero, their slices later."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live import device_driver
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, group, replicas
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

DEVICES = """\
  template:
    devices:
      - name: gpu
        driver: gpu.example.com
        count: 2
        attributes:
          - {name: model, string: h100}
          - {name: driverVersion, version: 13.0.1}
        capacity: {memory: 80Gi}
"""
DIVIDED = """\
  template:
    devices:
      - name: gpu
        driver: gpu.example.com
        attributes: [{name: profile, string: whole}]
        counters: {slices: 7}
        partitions: [{name: 1g, count: 7, attributes: [{name: profile, string: 1g}], consumesCounters: {slices: 1}}]
"""
PLACES = {"FitsExisting", "FitsUpcoming", "TriggersScaleUp"}


class Promises:
    """Pods that a plan said to have a place for, now or on a new node."""

    def __init__(self) -> None:
        self.pods: set[str] = set()

    def keep(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Keep those of one plan."""
        self.pods |= {line["pod"].partition("/")[2] for line in plan["pods"] if line["outcome"] in PLACES}
        return plan

    def until(self, process: Reconciler, count: int) -> None:
        """Until a plan has a place for exactly so many pods and asks for nothing; all plans that are read before count too."""
        process.plan(
            lambda plan: sum(one["outcome"] in PLACES for one in self.keep(plan)["pods"]) == count and not plan["actions"]
        )

    def until_size(self, process: Reconciler, nodes: int) -> None:
        """Until the group asks for so many nodes."""
        process.plan(lambda plan: self.keep(plan)["groups"][0]["current"] == nodes)


def _policy(directory: Path, cluster: WorkCluster, devices: str = DEVICES) -> Path:
    text = policy_text("prod", cluster.namespace, {"h100": (0, 6)}, unneeded="0s")
    # A node with one of its two devices in use is at 50 %.
    text = text.replace("utilizationThresholdPercent: 50", "utilizationThresholdPercent: 60")
    file = directory / "policy.yaml"
    file.write_text(text + devices)
    return file


def _waiting(cluster: WorkCluster) -> set[str]:
    pods = cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/pods")
    return {one["metadata"]["name"] for one in pods if not one["spec"].get("nodeName")}


def _turns(process: Reconciler, count: int) -> None:
    before = process.turns()
    process.until_page("/metrics", lambda *_: process.turns() >= before + count)


def _bound(cluster: WorkCluster, count: int) -> None:
    """Every pod of the Deployment runs, and each has a device of its own."""

    def train(items: list[Object]) -> bool:
        there = [one for one in items if one["metadata"].get("labels", {}).get("app") == "train"]
        alive = [one for one in there if "deletionTimestamp" not in one["metadata"]]
        return len(alive) == len(there) == count and all(one["spec"].get("nodeName") for one in alive)

    cluster.api.wait(f"/api/v1/namespaces/{cluster.namespace}/pods", train, f"{count} pods with devices")

    def allocated(items: list[Object]) -> bool:
        found = [one.get("status", {}).get("allocation") for one in items]
        held = [(device["pool"], device["device"]) for one in found if one for device in one["devices"]["results"]]
        return len(held) == len(set(held)) == count

    cluster.api.wait(device_driver.claims_path(cluster), allocated, f"{count} devices in use")


def _by_claim(cluster: WorkCluster) -> Object:
    device_driver.claim_template(cluster, "one", device_driver.exactly(cluster, "h100"))
    device_driver.claim_template(cluster, "other", device_driver.exactly(cluster, "a100"))
    device_driver.claiming_deployment(cluster, "nowhere", 1, "other")
    return device_driver.claiming_deployment(cluster, "train", 5, "one")


def _by_extended_resource(cluster: WorkCluster) -> Object:
    device_driver.asking_deployment(cluster, "nowhere", 1, count=3)
    return device_driver.asking_deployment(cluster, "train", 5)


@pytest.mark.parametrize("asking", [_by_claim, _by_extended_resource])
def test_pods_bring_nodes_from_zero_and_let_them_go(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path, asking: Callable[[WorkCluster], Object]
) -> None:
    """Nodes of two devices. 5 pods with one each need 3 nodes, 8 need 4; the slices come after each node, and no node more is
    asked for until then. 3 pods need 2 nodes, 0 pods none. A pod that asks for another model, or for three devices, waits and
    brings nothing. No pod that had a place in a plan waits at the end."""
    cluster = new_cluster()
    group(cluster, "h100")
    with device_driver.device_class(cluster):
        train = asking(cluster)
        promises = Promises()
        file = _policy(tmp_path, cluster)
        account = user(control_plane, "run-devices" + asking.__name__.replace("_", "-"))
        with Reconciler(account, file, f"--namespace={cluster.namespace}", "--period=1") as process:
            slices: list[str] = []
            for wanted, nodes, waiting, new in ((5, 3, 5, 3), (8, 4, 2, 1)):
                cluster.api.merge(train, {"spec": {"replicas": wanted}})
                cluster.until_nodes(nodes)
                # The driver is late: the plan counts on the devices that the policy declares, and asks for nothing more.
                promises.until(process, waiting)
                _turns(process, 3)
                assert replicas(cluster, "h100") == nodes
                left = _waiting(cluster)
                assert len(left) == waiting + 1
                assert len(left & promises.pods) == waiting
                made = device_driver.publish(cluster, lambda _: device_driver.gpus("gpu", "h100", 2))
                assert len(made) == new
                slices += made
                _bound(cluster, wanted)
            for wanted, nodes in ((3, 2), (0, 0)):
                cluster.api.merge(train, {"spec": {"replicas": wanted}})
                promises.until_size(process, nodes)
                cluster.until_nodes(nodes)
                _bound(cluster, wanted)
            process.plan(lambda plan: [one["outcome"] for one in promises.keep(plan)["pods"]] == ["Unplaceable"])
            (nowhere,) = _waiting(cluster)
            assert nowhere.startswith("nowhere-")
            assert nowhere not in promises.pods
            assert not [line for line in process.lines if line["code"] == "RemovalFailed"]
    gone = {f"{node}-gpu" for node in slices}

    def without_them(items: list[Object]) -> bool:
        return not gone & {one["metadata"]["name"] for one in items}

    cluster.api.wait(device_driver.SLICES, without_them, "the slices going with their nodes")


def test_parts_of_devices_bring_nodes_from_zero(new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Nodes of one GPU, whole or as 7 x 1g. 9 pods with 1g each need 2 nodes. All 9 run once the driver has published its counter
    sets. Then a pod with a whole GPU needs a third node, although 5 parts are free. No pod, no node."""
    cluster = new_cluster()
    group(cluster, "h100")
    with device_driver.device_class(cluster):
        for profile in ("1g", "whole"):
            selector = {"cel": {"expression": f'device.attributes["{device_driver.DRIVER}"].profile == "{profile}"'}}
            asked = device_driver.of_class(cluster, selector, count=1)
            device_driver.claim_template(cluster, profile, {"requests": [{"name": "gpu", "exactly": asked}]})
        train = device_driver.claiming_deployment(cluster, "train", 9, "1g")
        file = _policy(tmp_path, cluster, DIVIDED)
        with Reconciler(user(control_plane, "run-divided"), file, f"--namespace={cluster.namespace}", "--period=1") as process:
            promises = Promises()
            devices, counter_sets = device_driver.divided_gpu(7)
            cluster.until_nodes(2)
            promises.until(process, 9)
            _turns(process, 3)
            assert replicas(cluster, "h100") == 2
            assert len(device_driver.publish(cluster, lambda _: devices, counter_sets)) == 2
            _bound(cluster, 9)
            whole = device_driver.claiming_deployment(cluster, "whole", 1, "whole")
            cluster.until_nodes(3)
            promises.until(process, 1)
            assert replicas(cluster, "h100") == 3
            assert len(device_driver.publish(cluster, lambda _: devices, counter_sets)) == 1
            path = f"/api/v1/namespaces/{cluster.namespace}/pods"
            cluster.api.wait(path, lambda pods: all(pod["spec"].get("nodeName") for pod in pods), "the whole GPU in use")
            for deployment in (train, whole):
                cluster.api.merge(deployment, {"spec": {"replicas": 0}})
            promises.until_size(process, 0)
            cluster.until_nodes(0)


def test_the_pod_of_a_daemon_set_takes_its_device_first(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Nodes of 4 devices, of which a DaemonSet takes one: 10 pods need 4 nodes, and 3 would do without it. At first no claim is
    made. In the end all 10 run. A pod of the DaemonSet may wait, if kube-scheduler gives all devices of its node to others."""
    cluster = new_cluster()
    group(cluster, "h100")
    path = f"/api/v1/namespaces/{cluster.namespace}/pods"

    def of(items: list[Object], app: str) -> list[Object]:
        return [one for one in items if one["metadata"].get("labels", {}).get("app") == app]

    with device_driver.device_class(cluster):
        device_driver.claim_template(cluster, "one", device_driver.exactly(cluster, "h100"))
        device_driver.claiming_daemon_set(cluster, "agent", "one")
        device_driver.claiming_deployment(cluster, "train", 10, "one")
        promises = Promises()
        file = _policy(tmp_path, cluster, DEVICES.replace("count: 2", "count: 4"))
        account = user(control_plane, "run-devices-daemon-set")
        with Reconciler(account, file, f"--namespace={cluster.namespace}", "--period=1") as process:
            promises.until_size(process, 4)
            nodes = {node["metadata"]["name"] for node in cluster.until_nodes(4)}
            cluster.api.wait(path, lambda items: len(of(items, "agent")) == 4, "a pod of the DaemonSet on each node")
            made = device_driver.publish(cluster, lambda _: device_driver.gpus("gpu", "h100", 4))
            assert set(made) == nodes

            def run(items: list[Object]) -> bool:
                promises.keep(process.plan(bool))
                placed = [one for one in of(items, "train") if one["spec"].get("nodeName")]
                return len(placed) == len(of(items, "train")) == 10

            cluster.api.wait(path, run, "all pods having their devices")
            _turns(process, 3)
            assert replicas(cluster, "h100") == 4
    promised = {name for name in promises.pods if name.startswith("train-")}
    assert len(promised) >= 10
    assert not _waiting(cluster) & promised
