"""Cluster API on the testbed does what the project relies on: groups become nodes, and go, and fail, as asked."""

import time
from typing import Any

from tests.live.demand import deployment, own_nodes
from tests.testbed.cluster_api import AS_RELEASED, ClusterApi
from tests.testbed.cluster_documents import DELETE_MACHINE, Group, Shape
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners

Object = dict[str, Any]


def _name(item: Object) -> str:
    return str(item["metadata"]["name"])


def _marked(cluster: WorkCluster, machines: list[Object]) -> str:
    """Mark the machine in the middle by name, and say which it is."""
    chosen = sorted(machines, key=_name)[1]
    cluster.api.merge(chosen, {"metadata": {"annotations": {DELETE_MACHINE: "yes"}}})
    return _name(chosen)


def _infrastructure(machine: Object) -> tuple[str, str]:
    """Reason and message of the condition that says how the infrastructure is."""
    found = [one for one in machine.get("status", {}).get("conditions", ()) if one["type"] == "InfrastructureReady"]
    return (found[0]["reason"], found[0]["message"]) if found else ("", "")


def _deprecated(machine: Object) -> Object:
    """Where a v1beta2 Machine says that it failed for good."""
    found: Object = machine.get("status", {}).get("deprecated", {}).get("v1beta1", {})
    return found


def test_a_machine_deployment_of_three_becomes_three_ready_nodes(new_cluster: NewCluster) -> None:
    """Three replicas become three Machines with a Node each, Ready, and three available replicas."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=3))
    nodes = cluster.until_nodes(3)
    cluster.until(group, lambda item: item["status"].get("availableReplicas") == 3, "three available replicas")
    assert {machine["status"]["nodeRef"]["name"] for machine in cluster.machines("general")} == set(map(_name, nodes))


def test_a_node_offers_what_its_template_says(new_cluster: NewCluster) -> None:
    """Capacity, zone, architecture, labels and taints of the template arrive on the Node; the template publishes the capacity."""
    cluster = new_cluster()
    shape = Shape(
        capacity={"cpu": "8", "memory": "32Gi", "pods": "58", "nvidia.com/gpu": "2"},
        allocatable={"cpu": "7500m"},
        zone="z-b",
        architecture="arm64",
        labels={"pool": "gpu"},
        taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
    )
    cluster.machine_deployment(Group("gpu", replicas=1), shape)
    (node,) = cluster.until_nodes(1)
    labels = node["metadata"]["labels"]
    assert node["status"]["capacity"] == {"cpu": "8", "memory": "32Gi", "pods": "58", "nvidia.com/gpu": "2"}
    assert node["status"]["allocatable"] == {"cpu": "7500m", "memory": "32Gi", "pods": "58", "nvidia.com/gpu": "2"}
    assert (labels["topology.kubernetes.io/zone"], labels["kubernetes.io/arch"], labels["pool"]) == ("z-b", "arm64", "gpu")
    assert node["spec"]["taints"] == [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    (template,) = cluster.templates()
    assert template["status"]["capacity"]["nvidia.com/gpu"] == "2"
    assert template["status"]["nodeInfo"]["architecture"] == "arm64"


def test_a_topology_with_replicas_makes_a_group_that_it_owns(new_cluster: NewCluster) -> None:
    """The MachineDeployment of a topology gets its nodes, and capi-topology owns its replicas by apply."""
    cluster = new_cluster(topology=[Group("fixed", replicas=2)])
    group = cluster.topology_deployment("fixed")
    cluster.until_nodes(2)
    assert replicas_owners(group) == [("capi-topology", "Apply", "")]


def test_a_group_at_zero_grows_to_one_and_back(new_cluster: NewCluster) -> None:
    """A group at zero stays there until it is scaled; the node comes, and goes again."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("zero", replicas=0, min_size=0, max_size=3))
    assert group["spec"]["replicas"] == 0
    assert cluster.machines("zero") == []
    cluster.api.scale(group, 1)
    cluster.until_nodes(1)
    cluster.api.scale(group, 0)
    cluster.until_nodes(0)


def test_a_marked_machine_of_a_deployment_is_the_one_that_goes(new_cluster: NewCluster) -> None:
    """Of three Machines the marked one is deleted when the MachineDeployment shrinks."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=3))
    before = {_name(node) for node in cluster.until_nodes(3)}
    chosen = _marked(cluster, cluster.machines("general"))
    cluster.api.scale(group, 2)
    after = {_name(node) for node in cluster.until_nodes(2)}
    assert before - after == {chosen}


def test_a_marked_machine_of_a_set_is_the_one_that_goes(new_cluster: NewCluster) -> None:
    """Of three Machines the marked one is deleted when a MachineSet without owner shrinks."""
    cluster = new_cluster()
    group = cluster.machine_set(Group("single", replicas=3))
    before = {_name(node) for node in cluster.until_nodes(3)}
    chosen = _marked(cluster, cluster.machines("single"))
    # Cluster API reads Machines and sets by watches of their own, and may hear of the second write first.
    time.sleep(1)
    cluster.api.scale(group, 2)
    after = {_name(node) for node in cluster.until_nodes(2)}
    assert before - after == {chosen}


def test_a_machine_out_of_stock_waits_without_node_until_there_is_stock(new_cluster: NewCluster) -> None:
    """With stock for one, the second Machine stays without node and says why; more stock brings its node."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("scarce", replicas=2), Shape(annotations={"sim.reconciler.dev/stock": "1"}))
    cluster.until_machines(
        lambda items: [_infrastructure(item)[0] for item in items].count("OutOfStock") == 1, "a Machine being out of stock"
    )
    (left_out,) = (item for item in cluster.machines("scarce") if _infrastructure(item)[0] == "OutOfStock")
    assert "1 of 1 machines in use" in _infrastructure(left_out)[1]
    assert "nodeRef" not in left_out["status"]
    cluster.until_nodes(1)
    cluster.annotate_template("scarce", stock="2")
    cluster.until_nodes(2)


def test_stock_is_free_again_when_a_machine_goes(new_cluster: NewCluster) -> None:
    """A Machine that waits for stock gets the place of one that was deleted."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("scarce", replicas=1), Shape(annotations={"sim.reconciler.dev/stock": "1"}))
    (first,) = cluster.until_nodes(1)
    cluster.api.delete(cluster.machines("scarce")[0])
    cluster.until_machines(lambda items: {_name(item) for item in items} and _name(first) not in map(_name, items), "replacement")
    (second,) = cluster.until_nodes(1)
    assert _name(second) != _name(first)


def test_a_machine_that_fails_says_so_and_gets_no_node(new_cluster: NewCluster) -> None:
    """A terminal failure of the infrastructure reaches the Machine with its reason; no node comes."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("broken", replicas=1), Shape(annotations={"sim.reconciler.dev/failure": "QuotaExceeded"}))
    (machine,) = cluster.until_machines(lambda items: any("failureMessage" in _deprecated(item) for item in items), "the failure")
    assert _deprecated(machine)["failureReason"] == "QuotaExceeded"
    assert _deprecated(machine)["failureMessage"].endswith("the cloud says QuotaExceeded")
    assert cluster.nodes() == []


def test_a_machine_takes_the_time_that_its_template_says(new_cluster: NewCluster) -> None:
    """A Machine that takes an hour has no instance; told to take none, it gets its node at once."""
    cluster = new_cluster()
    slow = Shape(annotations={"sim.reconciler.dev/provision-seconds": "3600"})
    cluster.machine_deployment(Group("slow", replicas=1), slow)
    cluster.until_machines(
        lambda items: any(item.get("status", {}).get("phase") == "Provisioning" for item in items), "being provisioned"
    )
    assert cluster.nodes() == []
    cluster.annotate_template("slow", provision_seconds=None)
    cluster.until_nodes(1)


def test_as_released_a_group_grows_the_same_way(cluster_api: ClusterApi, new_cluster: NewCluster) -> None:
    """With all limits as in the release a group gets its nodes, too."""
    cluster = new_cluster()
    with cluster_api.with_flags(AS_RELEASED):
        cluster.machine_deployment(Group("general", replicas=2))
        cluster.until_nodes(2)


def test_a_deleted_cluster_takes_its_machines_and_nodes_with_it(cluster_api: ClusterApi) -> None:
    """Asked to go with pods on its node, everything of it is gone in the end, though nobody waited for it."""
    cluster = WorkCluster(cluster_api.api, "leaving")
    own_nodes(cluster, "general", 1)
    cluster.until_nodes(1)
    deployment(cluster, "web", 1, "1")
    cluster.delete()
    cluster.until_alone()
    assert (cluster.machines(), cluster.nodes(), list(cluster.api.items(cluster.path("clusters")))) == ([], [], [])
    assert list(cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/pods")) == []
