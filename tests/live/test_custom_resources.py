"""`reconciler run --custom-resources` on a real control plane: policy applied as Argo CD and Flux do, status told back."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.kube.custom_resources import conditions, definitions, fields_of, kstatus
from tests.live.reconciler_process import Reconciler, policy_text, user
from tests.live.run_cluster import all_bound, group, pods, replicas
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
OURS = "nodegroup-reconciler"


@pytest.fixture(scope="module", autouse=True)
def served(cluster_api: ClusterApi) -> Iterator[None]:
    """Our definitions on the server."""
    with definitions(cluster_api.api):
        yield


class Delivery:
    """What a delivery applies for one cluster, with the group's sizes as they are to be."""

    def __init__(self, cluster: WorkCluster, manager: str) -> None:
        self.cluster, self.manager = cluster, manager
        self.name = f"crs-{cluster.namespace}"[:40].rstrip("-")
        self.items: list[Object] = []

    def sync(self, sizes: dict[str, tuple[int, int]], *, tiers: dict[str, str] | None = None) -> None:
        """Apply the policy and the groups with these smallest and largest sizes."""
        texts = policy_text(self.name, self.cluster.namespace, sizes, tiers=tiers)
        self.items = list(yaml.safe_load_all(texts))
        for item in self.items:
            self.cluster.api.apply(item, self.manager, force=True)

    def mistake(self, name: str) -> None:
        """Apply a version of one group that the server takes and that is wrong: there is no such tier."""
        item = next(item for item in self.items if item["metadata"]["name"] == name)
        size = {"min": 5, "max": 9}
        self.cluster.api.apply({**item, "spec": {**item["spec"], "size": size, "tier": "sport"}}, self.manager, force=True)

    def prune(self) -> None:
        """Delete all groups."""
        for item in self.items:
            if item["kind"] == "NodeGroup":
                self.cluster.api.delete(item)

    def until(self, name: str, state: str) -> Object:
        """The object of a group once kstatus says so."""
        path = f"/apis/reconciler.dev/v1alpha1/namespaces/{self.cluster.namespace}/nodegroups"
        found: list[Object] = []

        def holds(items: list[Object]) -> bool:
            found[:] = [item for item in items if item["metadata"]["name"] == name and "status" in item]
            return bool(found) and kstatus(found[0]) == state

        self.cluster.api.wait(path, holds, f"{name} being {state}")
        return found[0]


@pytest.mark.parametrize("manager", ["argocd-controller", "kustomize-controller"])
def test_groups_from_custom_resources(new_cluster: NewCluster, control_plane: ControlPlane, manager: str) -> None:
    """Pods become nodes by a policy that was applied; the status tells it; a mistake holds one group alone, pruning all of them
    changes nothing, and nobody writes the other's fields."""
    cluster = new_cluster()
    group(cluster, "general")
    group(cluster, "other")
    delivery = Delivery(cluster, manager)
    delivery.sync({"general": (0, 10), "other": (0, 10)})
    me = f"crs-{manager}"
    arguments = ("--custom-resources", f"--name={delivery.name}", f"--namespace={cluster.namespace}")
    with Reconciler(user(control_plane, me), None, *arguments) as process:
        pods(cluster, "p", 2, "3")
        process.said("Resize")
        all_bound(cluster, 2)
        item = delivery.until("general", "Current")
        assert {"current", "desired", "planDigest", "revision"} <= item["status"].keys()
        assert set(fields_of(item, OURS)) == {"status"}
        assert set(fields_of(item, manager)) == {""}
        assert item["metadata"]["generation"] == 1

        sizes = replicas(cluster, "general"), replicas(cluster, "other")
        assert sum(sizes) == 2
        delivery.mistake("general")
        item = delivery.until("general", "Failed")
        assert conditions(item)["Held"] == ("True", "Invalid")
        assert kstatus(delivery.until("other", "Current")) == "Current"

        delivery.prune()
        process.said("NoGroups")
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    assert (replicas(cluster, "general"), replicas(cluster, "other")) == sizes
    events = cluster.api.items(f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events")
    ours = {(event["regarding"]["kind"], event["reason"]) for event in events if event["reportingController"].endswith(OURS)}
    assert ("NodeGroup", "ScaledUp") in ours
    assert ("NodeGroup", "UnknownTier") in ours
    assert not {reason for kind, reason in ours if kind == "MachineDeployment"}
    written = {request.resource for request in control_plane.audit(me) if request.resource.startswith("nodegroup")}
    assert written == {"nodegroups/status", "nodegrouppolicies/status"}
