"""While a node is drained, a pod is counted once: where it was, or where its successor goes."""

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, plan_of, pod


def _drained(owner: str | None, *, ending: bool) -> Plan:
    """A pod of 3 cores on a node that is leaving, a pending one like it, and 3 free cores on the other node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("before", 1, cpu="3", on="general-1", owner=owner)
    cluster.pods("beside", 1, cpu="1", on="general-2")
    cluster.pods("pending", 1, cpu="3")
    world = cluster.world()
    rows = [
        msgspec.structs.replace(row, deletion_seconds=NOW + 20 if row.name == "before-1" and ending else 0) for row in world.pods
    ]
    world = msgspec.structs.replace(world, pods=PodTable(rows))
    return plan_of(world, policy(node_group("general")), Memory(leaving={"general-1": NOW - 10}))


@pytest.mark.parametrize("owner", ["ReplicaSet", "Job", None])
def test_a_pod_that_ends_takes_no_place_from_its_successor(owner: str | None) -> None:
    """Its controller has made it again already (or nobody will): the pending pod gets the free cores, and no node is bought."""
    plan = _drained(owner, ending=True)
    assert codes(pod(plan, "shop/pending-1")) == ["RoomOnNode"]
    assert plan.actions == ()


@pytest.mark.parametrize(("owner", "ending"), [("ReplicaSet", False), ("StatefulSet", False), ("StatefulSet", True)])
def test_a_pod_whose_successor_is_still_to_come_keeps_its_next_place(owner: str, *, ending: bool) -> None:
    """One that still runs, and one of a StatefulSet, which is made again when its name is free."""
    assert codes(pod(_drained(owner, ending=ending), "shop/pending-1")) == ["NewNode"]
