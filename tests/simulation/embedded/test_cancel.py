"""Requests are taken back on the simulated cluster as a machine controller would: exactly the named machines go."""

import msgspec

from reconciler.control.turn.revalidation import Moved, Stands, revalidate
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Bound
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.writes import SimulatedWrites
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")


def _start(failed: str = "quota") -> tuple[SimulatedCluster, SimulatedWrites]:
    """Two nodes, and two machines of which the younger one may have failed."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, replicas=4)
    cluster.machine("late", GENERAL, created=NOW - 900, failed=failed)
    cluster.machine("young", GENERAL, created=NOW)
    simulated = SimulatedCluster(cluster.world(), policy(node_group("general")), NOW)
    simulated.advance_to(NOW)
    return simulated, SimulatedWrites(simulated, owner="test")


def _bound(cluster: SimulatedCluster) -> Bound:
    facts = cluster.world().targets[0]
    return Bound(resource_version=facts.resource_version, replicas=facts.replicas or 0, owner_digest="", policy_digest="")


def _machines(cluster: SimulatedCluster) -> list[str]:
    return [machine.name for machine in cluster.world().machines]


def test_the_named_machine_goes_and_nothing_else() -> None:
    """Replicas 4 to 3: neither the younger machine nor a node, which the controller's own order would have taken."""
    cluster, writes = _start()
    done = writes.cancel(GENERAL, ("late",), 3, _bound(cluster))
    cluster.advance_to(NOW)
    assert (done.code, cluster.world().targets[0].replicas) == ("", 3)
    assert _machines(cluster) == ["general-1", "general-2", "young"]


def test_with_replicas_kept_another_machine_comes() -> None:
    """The target makes one in the place of the one that went."""
    cluster, writes = _start()
    assert writes.cancel(GENERAL, ("late",), 4, _bound(cluster)).code == ""
    cluster.advance_to(NOW)
    assert _machines(cluster) == ["general-1", "general-2", "general-3", "young"]


def test_a_machine_that_has_a_node_is_never_taken_back() -> None:
    """It joined between the view and the write."""
    cluster, writes = _start()
    refused = writes.cancel(GENERAL, ("general-1",), 3, _bound(cluster))
    assert (refused.code, refused.message) == ("Stale", "machine general-1 has become node general-1")
    assert cluster.world().targets[0].replicas == 4


def test_replicas_are_not_lowered_below_what_is_there() -> None:
    """Nothing named, four machines, three to remain: the controller would choose one to go."""
    cluster, writes = _start()
    assert writes.cancel(GENERAL, (), 3, _bound(cluster)).code == "Stale"


def test_the_loop_sees_that_the_machine_joined_after_all() -> None:
    """The action is refused before any write when a fresh view shows a node."""
    cluster, _ = _start()
    judged = cluster.world()
    plan, _ = decide(judged, policy(node_group("general")), Memory(), NOW)
    (action,) = [action for action in plan.actions if action.kind is ActionKind.CANCEL]
    machines = tuple(msgspec.structs.replace(m, node=m.node or f"{m.name}-node") for m in judged.machines)
    moved = revalidate(action, judged, msgspec.structs.replace(judged, machines=machines))
    assert moved == Moved("machine late has become node late-node")
    assert isinstance(revalidate(action, judged, judged), Stands)
