"""Auto Scaling groups of our own service beside a real control plane: an instance in service is a node there, as a kubelet with
the cloud's provider would register it, and an instance that has gone is none."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from tests.aws.documents import REGION, TEMPLATE
from tests.aws.service.behaviour import advance
from tests.aws.service.server import Service
from tests.aws.service.state import Group, Instance, Timing
from tests.testbed.control_plane import FAKE_NODE
from tests.testbed.work_cluster import WorkCluster

ZONE = f"{REGION}a"
# An m5.large: what AWS's machine shows, and what its pods get, by the published table.
_CAPACITY = {"cpu": "2", "memory": "7577Mi", "ephemeral-storage": "20Gi", "pods": "29"}
_ALLOCATABLE = {"cpu": "1930m", "memory": "6903Mi", "ephemeral-storage": "17Gi", "pods": "29"}
_STEP_SECONDS = 0.1
_accounts = itertools.count(1)
_PATIENCE_SECONDS = 300


class AwsCloud:
    """One account for one test. `environment` is what a process needs to ask it."""

    def __init__(self, service: Service, cluster: WorkCluster) -> None:
        self.service, self.cluster = service, cluster
        self.account = service.account
        self.account.now = time.time()
        # The nodes of another test may still be there.
        self.account._numbers = next(_accounts) * 0x10000
        self.account.timing = Timing(launch=1, terminate=1, retry=3)
        self.account.joined.append(self._join)
        self.account.gone.append(self._leave)
        self._stopping = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._clock.join()
        for item in self.cluster.api.items("/api/v1/nodes"):
            if item["metadata"]["name"].startswith(f"{self.cluster.namespace}-i-"):
                self.cluster.api.delete({"apiVersion": "v1", "kind": "Node", **item})

    @property
    def environment(self) -> dict[str, str]:
        """Whose credentials, and where they are taken."""
        return {
            "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": self.service.url,
        }  # fmt: skip

    def group(self, name: str, *, most: int = 5, desired: int = 0) -> Group:
        """A group of m5.large whose nodes carry this cluster's label, as its tag says."""
        tags = {f"{TEMPLATE}label/test": self.cluster.namespace}
        with self.service.lock:
            made = Group(name=name, region=REGION, min_size=0, max_size=most, desired=desired, zones=[ZONE], tags=tags)
            self.account.add(made)
            for one in made.instances.values():
                self._join(made, one)
            return made

    def stock(self, left: int) -> None:
        """So many more m5.large can be had."""
        with self.service.lock:
            self.account.stock[ZONE, "m5.large"] = left

    def node(self, instance: str) -> str:
        """What the node of an instance is called."""
        return f"{self.cluster.namespace}-{instance}"

    def looked(self, look: Callable[[], Any]) -> Any:
        """What `look` says while nothing moves."""
        with self.service.lock:
            return look()

    def until(self, holds: Callable[[], object], what: str, told: Callable[[], object] = lambda: "") -> None:
        """Return once `holds`."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self.looked(holds):
            assert time.monotonic() < deadline, f"{what} did not happen: {told()}"
            self._stopping.wait(_STEP_SECONDS)

    def writes(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls so far that change something."""
        return [(action, given) for action, given in list(self.account.calls) if not action.startswith("Describe")]

    def ended(self) -> list[str]:
        """The instances that have gone, in that order."""
        return [name for _, name in self.account.ended]

    def _tick(self) -> None:
        while not self._stopping.wait(_STEP_SECONDS):
            with self.service.lock:
                advance(self.account, max(0.0, time.time() - self.account.now))

    def _join(self, group: Group, instance: Instance) -> None:
        name = self.node(instance.instance_id)
        labels = {
            "test": self.cluster.namespace, "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": instance.instance_type,
            "topology.kubernetes.io/region": group.region, "topology.kubernetes.io/zone": instance.zone,
        }  # fmt: skip
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": FAKE_NODE},
            "spec": {"providerID": f"aws:///{instance.zone}/{instance.instance_id}"},
            "status": {"capacity": _CAPACITY, "allocatable": _ALLOCATABLE},
        }
        self.cluster.api.create(node)

    def _leave(self, _: Group, instance: Instance) -> None:
        self.cluster.api.call("DELETE", f"/api/v1/nodes/{self.node(instance.instance_id)}")
