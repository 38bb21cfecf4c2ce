"""Random demand for devices on a real scheduler and claim controller. No pod that had a place in a plan waits at the end."""

import os
import random
from pathlib import Path
from typing import Any

from tests.live import device_driver
from tests.live.device_driver import DRIVER, exactly, gpus, has_memory, is_model, of_class
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import Object, group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

DEVICES = {
    "h100": """\
  template:
    devices:
      - name: near
        driver: gpu.example.com
        count: 2
        attributes: [{name: model, string: h100}, {name: driverVersion, version: 13.0.1}, {name: numa, int: 0}]
        capacity: {memory: 80Gi}
      - name: far
        driver: gpu.example.com
        count: 2
        attributes: [{name: model, string: h100}, {name: driverVersion, version: 13.0.1}, {name: numa, int: 1}]
        capacity: {memory: 80Gi}
""",
    "a100": """\
  template:
    devices:
      - name: gpu
        driver: gpu.example.com
        count: 2
        attributes: [{name: model, string: a100}, {name: driverVersion, version: 13.0.1}, {name: numa, int: 0}]
        capacity: {memory: 80Gi}
""",
}
PLACES = {"FitsExisting", "FitsUpcoming", "TriggersScaleUp"}
ROUNDS = 3


def _offered(node: str) -> list[Object]:
    """The devices of a node, by the group in its name: what the policy declares."""
    if node.startswith("a100-"):
        return gpus("gpu", "a100", 2, numa=0)
    return [*gpus("near", "h100", 2, numa=0), *gpus("far", "h100", 2, numa=1)]


def _kinds(cluster: WorkCluster) -> dict[str, Object]:
    """What claims ask for, by name; each can be had on an empty node of one of the two groups."""
    pair = of_class(cluster, is_model("h100"), count=2)
    whole = {"name": "whole", **of_class(cluster, is_model("h100"), count=4)}
    small = {"name": "small", **of_class(cluster, is_model("a100"), count=1)}
    return {
        "one": exactly(cluster, "h100"),
        "near": {
            "requests": [{"name": "gpu", "exactly": pair}],
            "constraints": [{"requests": ["gpu"], "matchAttribute": f"{DRIVER}/numa"}],
        },
        "any": {"requests": [{"name": "gpu", "exactly": of_class(cluster, has_memory("40Gi"), count=1)}]},
        "first": {"requests": [{"name": "gpu", "firstAvailable": [whole, small]}]},
        "every": {"requests": [{"name": "gpu", "exactly": of_class(cluster, is_model("a100"), allocationMode="All")}]},
    }


def _policy(directory: Path, cluster: WorkCluster) -> Path:
    text = policy_text("prod", cluster.namespace, {"h100": (0, 20), "a100": (0, 20)}, unneeded="0s")
    head, *groups = text.split("---\n")
    parts = [one + DEVICES[name] for one, name in zip(groups, ("h100", "a100"), strict=True)]
    file = directory / "policy.yaml"
    file.write_text("---\n".join((head, *parts)))
    return file


def test_no_pod_with_a_place_in_a_plan_waits_at_the_end(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Five kinds of claims, in rounds of other numbers of pods, and then none: drivers publish on each new node, all pods of each
    round run, and all nodes go."""
    seed = int(os.environ.get("DEVICES_SEED", "") or random.randrange(1 << 32))
    print(f"DEVICES_SEED={seed}")
    chance = random.Random(seed)
    cluster = new_cluster()
    for name in DEVICES:
        group(cluster, name)
    promised: set[str] = set()
    with device_driver.device_class(cluster):
        made = {}
        for kind, devices in _kinds(cluster).items():
            device_driver.claim_template(cluster, kind, devices)
            made[kind] = device_driver.claiming_deployment(cluster, kind, 0, kind)
        path = f"/api/v1/namespaces/{cluster.namespace}/pods"
        account = user(control_plane, "run-devices-random")
        with Reconciler(account, _policy(tmp_path, cluster), f"--namespace={cluster.namespace}", "--period=1") as process:
            process.said("Started")

            def keep(plan: dict[str, Any]) -> dict[str, Any]:
                promised.update(one["pod"].partition("/")[2] for one in plan["pods"] if one["outcome"] in PLACES)
                return plan

            for number in range(ROUNDS + 1):
                wanted = {kind: chance.randrange(5) if number < ROUNDS else 0 for kind in made}
                print(wanted)
                for kind, count in wanted.items():
                    cluster.api.merge(made[kind], {"spec": {"replicas": count}})
                total = sum(wanted.values())

                def run(items: list[Object], total: int = total) -> bool:
                    device_driver.publish(cluster, _offered)
                    process.plan(keep)
                    return len(items) == total and all(one["spec"].get("nodeName") for one in items)

                cluster.api.wait(path, run, f"{wanted} having their devices")
            # Whoever was moved meanwhile has a place too: nobody is there any more.
            cluster.until_nodes(0)
    assert promised
    left = {one["metadata"]["name"] for one in cluster.api.items(path) if not one["spec"].get("nodeName")}
    assert not left & promised
