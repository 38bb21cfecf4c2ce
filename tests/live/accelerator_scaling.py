"""The test that KAR-0055 of kubernetes-sigs/ai-conformance describes: cluster autoscaling for accelerators.

N nodes of a labelled pool have one accelerator each. N pods that keep apart take one each. One more pod waits: a node comes, and
the pod runs there. The pod is deleted: the pool is its first N nodes again. Steps are told in a log and a result in JSON.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.live import device_driver
from tests.live.run_cluster import Object, pod_spec
from tests.testbed.build import KUBERNETES_VERSION
from tests.testbed.overlooked import until_seen_to
from tests.testbed.work_cluster import WorkCluster

REQUIREMENT = "KAR-0055"
STEPS = ("Baseline", "Pending", "ScaleUp", "Running", "ScaleDown")
RESOURCE = "nvidia.com/gpu"
MODEL = "h100"
TEMPLATE = "one-gpu"


class Evidence:
    """What was seen in each step, in `NAME.log` and `NAME.json` of a directory. A step that fails is told before its error."""

    def __init__(self, directory: Path, mode: str, pool: Mapping[str, str], nodes: int) -> None:
        self._directory = directory
        self._mode = mode
        self._lines: list[str] = []
        self._result: Object = {
            "requirement": REQUIREMENT,
            "mode": mode,
            "kubernetes": KUBERNETES_VERSION,
            "pool": dict(pool),
            "baselineNodes": nodes,
            "steps": [],
            "passed": False,
        }

    @contextmanager
    def step(self, name: str) -> Iterator[Object]:
        """One step; its body adds what it saw."""
        seen: Object = {}
        passed = False
        try:
            yield seen
            passed = True
        finally:
            self._result["steps"].append({"name": name, "passed": passed, **seen})
            steps = self._result["steps"]
            self._result["passed"] = tuple(one["name"] for one in steps if one["passed"]) == STEPS
            told = " ".join(f"{key}={json.dumps(value)}" for key, value in seen.items())
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._lines.append(f"{now} {'PASS' if passed else 'FAIL'} {name} {told}".rstrip())
            self._write()

    def result(self) -> Object:
        """The result so far."""
        return self._result

    def _write(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        stem = f"accelerators-{self._mode}"
        (self._directory / f"{stem}.log").write_text("".join(f"{line}\n" for line in self._lines))
        (self._directory / f"{stem}.json").write_text(json.dumps(self._result, indent=2) + "\n")


class Pool:
    """The pods of the test on one pool. `mode` is `device-plugin` or `dra`."""

    def __init__(self, cluster: WorkCluster, mode: str) -> None:
        self.cluster = cluster
        self._mode = mode
        self._pods = f"/api/v1/namespaces/{cluster.namespace}/pods"

    def drivers_start(self) -> None:
        """What no kubelet does here: drivers of new nodes publish their devices."""
        if self._mode == "dra":
            device_driver.publish(self.cluster, lambda _: device_driver.gpus("gpu", MODEL, 1))

    def pod(self, name: str, *, apart: bool) -> None:
        """A pod that wants one accelerator. Those of the baseline keep apart."""
        spec = pod_spec(self.cluster, "100m")
        if self._mode == "dra":
            spec = device_driver.claiming(spec, TEMPLATE)
        else:
            spec["containers"][0]["resources"] = {"requests": {"cpu": "100m"}, "limits": {RESOURCE: "1"}}
        labels = {}
        if apart:
            labels = {"run": "baseline"}
            term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        metadata = {"name": name, "namespace": self.cluster.namespace, "labels": labels}
        self.cluster.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def until_running(self, *names: str) -> dict[str, str]:
        """The nodes of pods by their names, once all of these run."""

        def running(items: list[Object]) -> bool:
            return {*names} <= {one["metadata"]["name"] for one in items if one["status"].get("phase") == "Running"}

        found = until_seen_to(self.cluster.api, self._pods, running, f"{', '.join(names)} running")
        return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if one["metadata"]["name"] in names}

    def until_unschedulable(self, name: str) -> str:
        """Why kube-scheduler has no place for a pod."""
        told: list[str] = []

        def refused(items: list[Object]) -> bool:
            told[:] = [
                condition["message"]
                for one in items
                if one["metadata"]["name"] == name and not one["spec"].get("nodeName")
                for condition in one["status"].get("conditions") or ()
                if condition["type"] == "PodScheduled" and "nodes are available" in condition.get("message", "")
            ]
            return bool(told)

        self.cluster.api.wait(self._pods, refused, f"{name} being unschedulable")
        return told[0]

    def delete(self, name: str) -> None:
        """Delete a pod."""
        self.cluster.api.delete({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.cluster.namespace},
        })  # fmt: skip

    def ready(self, count: int) -> dict[str, str]:
        """The uids of the pool's nodes by name, once so many are there and all are Ready and schedulable."""
        found = self.cluster.until_nodes(count)
        assert not [one for one in found if one["spec"].get("unschedulable")]
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def scale_up_and_down(pool: Pool, evidence: Evidence, nodes: int) -> None:
    """All steps. The autoscaler runs by the time `Pending` has been seen; `nodes` is the pool's minimum."""
    names = [f"baseline-{number}" for number in range(nodes)]
    with evidence.step("Baseline") as seen:
        before = pool.ready(nodes)
        pool.drivers_start()
        for name in names:
            pool.pod(name, apart=True)
        places = pool.until_running(*names)
        assert sorted(places.values()) == sorted(before)
        seen.update(nodes=len(before), pods=places)
    with evidence.step("Pending") as seen:
        pool.pod("trigger", apart=False)
        seen.update(pod="trigger", scheduler=pool.until_unschedulable("trigger"))
    with evidence.step("ScaleUp") as seen:
        grown = pool.ready(nodes + 1)
        assert before.items() <= grown.items()
        seen.update(nodes=len(grown), new=sorted(grown.keys() - before.keys()))
    with evidence.step("Running") as seen:
        pool.drivers_start()
        (node,) = pool.until_running("trigger").values()
        assert grown[node] not in before.values()
        seen.update(pod="trigger", node=node)
    with evidence.step("ScaleDown") as seen:
        pool.delete("trigger")
        after = pool.ready(nodes)
        assert after == before
        assert pool.until_running(*names) == places
        seen.update(nodes=len(after), same=True)
