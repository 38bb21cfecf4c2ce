"""What Cluster API's webhook and topology do when an owner lets go of replicas, or somebody else writes them."""

import pytest

from tests.live.ownership import NO_NODES, OURS, applied, machine_set_of, only_replicas
from tests.testbed.api import ApiError, Object
from tests.testbed.cluster_documents import Group
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners


def _settled(cluster: WorkCluster, item: Object) -> Object:
    """The MachineDeployment once the topology has let go of replicas."""
    return cluster.until(
        item, lambda one: "capi-topology" not in {manager for manager, _, _ in replicas_owners(one)}, "the topology letting go"
    )


def test_replicas_given_back_without_sizes_become_one(paused: WorkCluster, name: str) -> None:
    """An applier that leaves out replicas that it alone owned: the webhook sets one, and nobody owns it."""
    applied(paused, Group(name, replicas=3))
    after = applied(paused, Group(name))
    assert (after["spec"]["replicas"], replicas_owners(after)) == (1, [])


def test_replicas_given_back_with_both_sizes_stay_within_them(paused: WorkCluster, name: str) -> None:
    """With both annotations the value stays when it lies between them."""
    applied(paused, Group(name, replicas=3, min_size=1, max_size=9))
    after = applied(paused, Group(name, min_size=1, max_size=9))
    assert (after["spec"]["replicas"], replicas_owners(after)) == (3, [])


def test_replicas_given_back_above_the_maximum_fall_to_it(paused: WorkCluster, name: str) -> None:
    """With both annotations a value above the maximum becomes the maximum."""
    applied(paused, Group(name, replicas=6))
    assert applied(paused, Group(name, min_size=1, max_size=4))["spec"]["replicas"] == 4


def test_replicas_given_back_below_the_minimum_rise_to_it(paused: WorkCluster, name: str) -> None:
    """With both annotations a value below the minimum becomes the minimum."""
    applied(paused, Group(name, replicas=1))
    assert applied(paused, Group(name, min_size=3, max_size=4))["spec"]["replicas"] == 3


def test_our_empty_apply_gives_replicas_back_to_the_webhook(paused: WorkCluster, name: str) -> None:
    """An apply without replicas by their only owner makes them one: why we never let go that way."""
    item = paused.api.apply(only_replicas(applied(paused, Group(name)), 3), OURS)
    assert item["spec"]["replicas"] == 3
    after = paused.api.apply(only_replicas(item, None), OURS)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (1, [])


def test_an_applier_that_lets_go_of_shared_replicas_changes_nothing(paused: WorkCluster, name: str) -> None:
    """A second owner keeps the value when the first leaves it out."""
    item = applied(paused, Group(name, replicas=3))
    paused.api.apply(only_replicas(item, 3), OURS)
    after = applied(paused, Group(name))
    assert (after["spec"]["replicas"], replicas_owners(after)) == (3, [(OURS, "Apply", "")])


def test_a_topology_without_replicas_leaves_them_to_nobody(new_cluster: NewCluster) -> None:
    """Replicas left out of the topology: one, without owner; with both annotations the minimum."""
    cluster = new_cluster(topology=[Group("bare"), Group("sized", min_size=2, max_size=5)], shape=NO_NODES)
    bare, sized = cluster.topology_deployment("bare"), cluster.topology_deployment("sized")
    assert (bare["spec"]["replicas"], replicas_owners(bare)) == (1, [])
    assert (sized["spec"]["replicas"], replicas_owners(sized)) == (2, [])


def test_a_topology_takes_no_replicas_beside_size_annotations(new_cluster: NewCluster) -> None:
    """Replicas and a size annotation on one group of a topology are refused by the Cluster's webhook."""
    cluster = new_cluster(topology=[Group("g", replicas=0)], shape=NO_NODES)
    with pytest.raises(ApiError, match="if the same MachineDeploymentTopology has autoscaler annotations") as refused:
        cluster.set_topology(Group("g", replicas=3, min_size=1, max_size=5))
    assert refused.value.status == 422


def test_a_topology_that_drops_replicas_lets_them_fall_to_one(new_cluster: NewCluster) -> None:
    """Replicas set and then unset in the Cluster, without annotations: one, without owner."""
    cluster = new_cluster(topology=[Group("g", replicas=3)], shape=NO_NODES)
    item = cluster.topology_deployment("g")
    cluster.set_topology(Group("g"))
    after = _settled(cluster, item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (1, [])


def test_a_topology_that_drops_replicas_for_both_sizes_keeps_them_inside(new_cluster: NewCluster) -> None:
    """Replicas unset and both annotations set in one change of the Cluster: the value stays inside them, without owner."""
    cluster = new_cluster(topology=[Group("g", replicas=3), Group("h", replicas=6)], shape=NO_NODES)
    inside, above = cluster.topology_deployment("g"), cluster.topology_deployment("h")
    cluster.set_topology(Group("g", min_size=1, max_size=9), Group("h", min_size=1, max_size=4))
    inside, above = _settled(cluster, inside), _settled(cluster, above)
    assert (inside["spec"]["replicas"], replicas_owners(inside)) == (3, [])
    assert (above["spec"]["replicas"], replicas_owners(above)) == (4, [])


def test_a_hand_over_from_a_topology_starts_with_our_apply(new_cluster: NewCluster) -> None:
    """We apply the present value first, then the topology drops it: it stays, and it is ours."""
    cluster = new_cluster(topology=[Group("g", replicas=3)], shape=NO_NODES)
    item = cluster.topology_deployment("g")
    cluster.api.apply(only_replicas(item, 3), OURS)
    cluster.set_topology(Group("g"))
    after = _settled(cluster, item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (3, [(OURS, "Apply", "")])


def test_a_topology_puts_back_what_somebody_else_scaled(new_cluster: NewCluster) -> None:
    """No webhook stops a scale of topology-owned replicas; capi-topology undoes it."""
    cluster = new_cluster(topology=[Group("g", replicas=1)])
    item = cluster.topology_deployment("g")
    cluster.until_nodes(1)
    before = int(cluster.api.read(item)["metadata"]["generation"])
    cluster.api.scale(item, 2, manager="scaler")
    after = cluster.until(
        item, lambda one: one["metadata"]["generation"] > before + 1 and one["spec"]["replicas"] == 1, "the value put back"
    )
    assert replicas_owners(after) == [("capi-topology", "Apply", "")]


def test_a_topology_leaves_a_scale_alone_where_it_has_no_replicas(new_cluster: NewCluster) -> None:
    """Replicas that the topology does not name stay as scaled, outside the two sizes as well, when it reconciles again."""
    cluster = new_cluster(topology=[Group("g", min_size=0, max_size=1)], shape=NO_NODES)
    item = cluster.topology_deployment("g")
    cluster.api.scale(item, 2, manager="scaler")
    cluster.set_topology(Group("g", min_size=0, max_size=1, labels={"changed": "yes"}))
    after = cluster.until(item, lambda one: one["metadata"]["labels"].get("changed") == "yes", "the change of the topology")
    assert after["spec"]["replicas"] == 2


def test_replicas_of_a_topology_are_changed_in_the_cluster(new_cluster: NewCluster) -> None:
    """A change of the Cluster's topology reaches the MachineDeployment; its owner stays capi-topology."""
    cluster = new_cluster(topology=[Group("g", replicas=0)], shape=NO_NODES)
    item = cluster.topology_deployment("g")
    cluster.set_topology(Group("g", replicas=1))
    after = cluster.until(item, lambda one: one["spec"]["replicas"] == 1, "the change arriving")
    assert replicas_owners(after) == [("capi-topology", "Apply", "")]


def test_a_deployment_puts_back_what_somebody_scaled_on_its_set(new_cluster: NewCluster, name: str) -> None:
    """A scale of a MachineSet that a MachineDeployment owns is undone."""
    cluster = new_cluster()
    cluster.machine_deployment(Group(name, replicas=0), NO_NODES)
    found = machine_set_of(cluster, name)
    before = int(found["metadata"]["generation"])
    cluster.api.scale(found, 1, manager="scaler")
    after = cluster.until(
        found, lambda one: one["metadata"]["generation"] > before + 1 and one["spec"]["replicas"] == 0, "the value put back"
    )
    assert replicas_owners(after) == [("capi-machinedeployment", "Apply", "")]
