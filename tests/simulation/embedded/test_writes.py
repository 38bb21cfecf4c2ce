"""Our writes are accepted and refused as the API server and the machine controller do."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.plan.plan import Bound
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import NO_DELAY
from reconciler.simulation.embedded.field_owner import Via
from reconciler.simulation.embedded.writes import SimulatedWrites
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")
ARGO = FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=NOW - 100)


def _start(cluster: ClusterBuilder, **options: object) -> tuple[SimulatedCluster, SimulatedWrites]:
    simulated = SimulatedCluster(cluster.world(), policy(node_group("general")), NOW, **options)
    simulated.advance_to(NOW)
    return simulated, SimulatedWrites(simulated, owner="test")


def _bound(cluster: SimulatedCluster) -> Bound:
    facts = cluster.world().targets[0]
    return Bound(resource_version=facts.resource_version, replicas=facts.replicas or 0, owner_digest="", policy_digest="")


def _replicas(cluster: SimulatedCluster) -> int | None:
    return cluster.world().targets[0].replicas


def test_resize_on_a_field_without_owner_makes_it_ours():
    """The apply is accepted and recorded under our manager."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=())
    simulated, writes = _start(cluster)
    done = writes.resize(GENERAL, 3, _bound(simulated))
    assert (done.code, done.generation, _replicas(simulated)) == ("", 2, 3)
    assert [owner.manager for owner in simulated.world().targets[0].owner.owners] == ["nodegroup-reconciler"]


def test_resize_against_another_owner_is_a_conflict_that_names_it():
    """Nothing is written."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=(ARGO,))
    simulated, writes = _start(cluster)
    refused = writes.resize(GENERAL, 3, _bound(simulated))
    assert (refused.code, _replicas(simulated)) == ("Conflict", 1)
    assert '"argocd-controller"' in refused.message


@pytest.mark.parametrize("change", [{"resource_version": "0"}, {"replicas": 7}])
def test_write_under_a_bound_that_moved_is_stale(change):
    """Either part of the bound is enough."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    simulated, writes = _start(cluster)
    bound = msgspec.structs.replace(_bound(simulated), **change)
    assert writes.resize(GENERAL, 3, bound).code == "Stale"
    assert writes.remove_node(GENERAL, "general-1", bound).code == "Stale"
    assert _replicas(simulated) == 1


def test_adoption_keeps_the_value_and_takes_the_field():
    """A later resize of ours meets no conflict."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, owners=(ARGO,))
    simulated, writes = _start(cluster)
    assert writes.adopt(GENERAL, 2, _bound(simulated)).code == ""
    assert _replicas(simulated) == 2
    assert writes.resize(GENERAL, 3, _bound(simulated)).code == ""


def test_release_takes_our_marks_and_leaves_replicas():
    """Our entry of the field goes with the annotations, the value stays: the spec is no part of the write. An applier's entry
    is not ours to take."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    ours = FieldOwner(manager="nodegroup-reconciler", operation="Apply")
    marked = (("a", "b"), ("reconciler.dev/revision", "abc"))
    ref = cluster.target("other", 4, owners=(ARGO, ours), annotations=marked)
    simulated, writes = _start(cluster)
    facts = simulated.objects.targets[ref]
    bound = Bound(resource_version=facts.resource_version, replicas=4, owner_digest="", policy_digest="")
    assert writes.release(ref, bound).code == ""
    after = simulated.objects.targets[ref]
    assert (after.replicas, after.annotations, after.owner.owners) == (4, (("a", "b"),), (ARGO,))


def test_adoption_takes_replicas_out_of_the_last_applied_manifest():
    """Else the manifest would go on declaring what we own."""
    cluster = ClusterBuilder()
    evidence = OwnerEvidence(owners=(ARGO,), last_applied_replicas=2)
    ref = cluster.target("other", 2, evidence=evidence)
    simulated, writes = _start(cluster)
    facts = simulated.objects.targets[ref]
    bound = Bound(resource_version=facts.resource_version, replicas=2, owner_digest="", policy_digest="")
    assert writes.adopt(ref, 2, bound).code == ""
    after = simulated.objects.targets[ref].owner
    assert (after.last_applied_replicas, [owner.manager for owner in after.owners]) == (None, ["nodegroup-reconciler"])


def test_removal_drains_then_deletes_exactly_that_node():
    """Marked and cordoned at once; replicas fall only when the node is empty; the other node stays."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, on="general-1")
    simulated, writes = _start(cluster)
    assert writes.remove_node(GENERAL, "general-1", _bound(simulated)).code == ""
    world = simulated.world()
    shape = world.node_shapes[world.nodes[0].shape]
    assert (shape.unschedulable, _replicas(simulated)) == (True, 2)
    assert (f"test.{NOW}", "NoSchedule") in [(taint.value, taint.effect) for taint in shape.taints]
    simulated.advance_to(NOW + 120)
    assert ([node.name for node in simulated.world().nodes], _replicas(simulated)) == (["general-2"], 1)
    assert [(end.node, end.code, end.replicas) for end in writes.ended()] == [("general-1", "", 1)]


def test_removal_that_cannot_drain_is_given_up_and_the_node_opened():
    """After the drain's time the marks are gone and replicas are untouched."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("db", 1, on="general-1")
    cluster.budget("db", max_unavailable="0", healthy=1, desired=1, expected=1)
    simulated, writes = _start(cluster)
    before = simulated.world()
    writes.remove_node(GENERAL, "general-1", _bound(simulated))
    simulated.advance_to(NOW + 599)
    assert writes.draining()[0][2] == 1
    simulated.advance_to(NOW + 610)
    ended = writes.ended()
    assert [(end.node, end.code) for end in ended] == [("general-1", "DrainTimeout")]
    assert "PodDisruptionBudget db" in ended[0].message
    after = simulated.world()
    assert (after.node_shapes[after.nodes[0].shape], _replicas(simulated)) == (before.node_shapes[before.nodes[0].shape], 2)


def test_removal_asked_twice_is_one_removal():
    """The write is idempotent: replicas fall by one."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    simulated, writes = _start(cluster)
    bound = _bound(simulated)
    assert [writes.remove_node(GENERAL, "general-2", bound).code for _ in range(2)] == ["", ""]
    simulated.advance_to(NOW + 120)
    assert _replicas(simulated) == 2


def test_two_removals_at_once_lower_replicas_by_two():
    """Each lowers what is there by one, whichever ends first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.pods("web", 2, on=["general-1", "general-1"])
    simulated, writes = _start(cluster)
    bound = _bound(simulated)
    writes.remove_node(GENERAL, "general-1", bound)
    writes.remove_node(GENERAL, "general-3", bound)
    simulated.advance_to(NOW + 300)
    assert ([node.name for node in simulated.world().nodes], _replicas(simulated)) == (["general-2"], 1)


def test_somebody_takes_the_field_during_a_drain():
    """The decrement meets the new owner: the removal is given up, the node is opened, their value stands."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, on="general-1")
    simulated, writes = _start(cluster)
    writes.remove_node(GENERAL, "general-1", _bound(simulated))
    simulated.advance_to(NOW + 1)
    simulated.write_replicas(GENERAL, 2, "argocd-controller", Via.APPLY)
    simulated.advance_to(NOW + 120)
    assert [end.code for end in writes.ended()] == ["Conflict"]
    world = simulated.world()
    assert (len(world.nodes), _replicas(simulated)) == (2, 2)
    assert not any(world.node_shapes[node.shape].unschedulable for node in world.nodes)


def test_unknown_target_and_foreign_node_are_not_found():
    """A node of another group is not this target's to remove."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.node("stranger")
    simulated, writes = _start(cluster, durations=NO_DELAY)
    bound = _bound(simulated)
    assert writes.resize(machine_deployment("nobody"), 1, bound).code == "NotFound"
    assert writes.remove_node(GENERAL, "stranger", bound).code == "NotFound"
