"""What is read of node pools."""

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import LaunchFailure, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from reconciler.platforms.crusoe.kinds import NODE_POOL
from tests.aws.policies import policy_set
from tests.cluster.objects import node
from tests.crusoe.documents import CLUSTER, LOCATION, TYPE, Object, facts, instance, machine_id, pool, world
from tests.crusoe.loops import HEAD, group_text

A, B, C = machine_id(1), machine_id(2), machine_id(3)
TERMS = Terms(now_seconds=1_900_000_000, first_seen_seconds=0)


def crusoe_node(name: str, machine: str, *, ready: bool = True) -> Object:
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-11-21T00:16:25Z"}]
    return node(name, spec={"providerID": f"crusoe://{machine}"}, status={"conditions": conditions})


def test_a_pool_with_its_machines() -> None:
    """Size, place and machines; a machine is the node with its id, in capitals too."""
    found = world(pool(count=2, machines=(A, B)), objects=(crusoe_node("n1", A), crusoe_node("n2", B.upper())))
    (target,) = found.targets
    assert target.ref == TargetRef(kind=NODE_POOL, region=LOCATION, name="h100")
    assert target.replicas == 2
    assert [(one.name, one.node, one.phase, one.deleting) for one in found.machines] == [
        (A, "n1", "RUNNING", False),
        (B, "n2", "RUNNING", False),
    ]
    assert not target.problems


def test_a_pool_that_is_gone() -> None:
    """It is listed for a while."""
    assert not world(pool(state="STATE_DELETED")).targets


def test_where_it_is() -> None:
    """Without its cluster the machines say it, those of another pool as well; without both nobody does."""
    assert facts(pool(machines=(A,)), crusoeClusters=[]).ref.region == LOCATION
    assert facts(pool("empty"), pool("full", machines=(A,)), crusoeClusters=[]).ref.region == LOCATION
    lost = facts(pool(), crusoeClusters=[])
    assert (lost.ref.region, len(lost.problems)) == ("", 1)


@pytest.mark.parametrize(
    ("more", "by", "word"),
    [
        ({"state": "STATE_ROTATING"}, "rotation", "ROTATING"),
        ({"state": "STATE_UPGRADING"}, "pause", "UPGRADING"),
        ({"state": "STATE_NEVER_HEARD_OF"}, "pause", "NEVER_HEARD_OF"),
        ({"state": ""}, "pause", "unknown"),
        ({"state": "STATE_DELETING"}, "deletion", "deletion"),
        ({"autoscaling_config": {"enabled": True, "min_node_size": 1, "max_node_size": 4}}, "Crusoe's autoscaler", "1 to 4"),
    ],
)
def test_what_holds_it(more: Object, by: str, word: str) -> None:
    """Each with its evidence."""
    owner = judge(facts(pool(**more)), TERMS).ownership
    assert (owner.state, owner.by) == (OwnerState.HELD, by)
    assert word in " ".join(owner.evidence)


def test_whose_it_is() -> None:
    """Running, and nobody else is known of."""
    owner = judge(facts(pool(autoscaling_config={"enabled": False})), TERMS).ownership
    assert (owner.state, owner.evidence) == (OwnerState.OURS, ("a node pool of Crusoe does not record who owns its count",))


@pytest.mark.parametrize(
    ("metadata", "held"),
    [({"nodepool": "pool-h100"}, True), ({"vm": A}, True), ({"nodepool": "pool-other"}, False), ({}, True)],
)
def test_auto_clusters_at_work(metadata: Object, *, held: bool) -> None:
    """A replacement under way holds the pool that it names; one that names none of them holds all."""
    under_way = {"operation_id": "o1", "state": "IN_PROGRESS", "metadata": metadata}
    pools = (pool(count=1, machines=(A,)), pool("other"))
    found = facts(*pools, autoClusterOperations=[under_way, {**under_way, "operation_id": "o2", "state": "SUCCEEDED"}])
    assert bool(found.writers) is held
    if held:
        assert "o1" in found.writers[0].evidence


@pytest.mark.parametrize(
    ("labels", "taint", "sign"),
    [
        ({}, "crusoe.ai/remediation.draining", "taint crusoe.ai/remediation.draining"),
        ({"crusoe.ai/remediation.phase": "action-running"}, "", "label crusoe.ai/remediation.phase=action-running"),
        ({"crusoe.ai/remediation.phase": "monitored"}, "", ""),
        ({"crusoe.ai/remediation.managed": "true"}, "", ""),
        ({}, "crusoe.ai/other", ""),
    ],
)
def test_a_node_under_remediation(labels: dict[str, str], taint: str, sign: str) -> None:
    """Its pool is held with what the node says; another pool is not, and a new node does not inherit the taint."""
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    status = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T00:16:25Z"}]}
    there = node("n1", cpu="8", labels=labels, spec={"providerID": f"crusoe://{A}", "taints": taints}, status=status)
    found = world(pool(count=1, machines=(A,)), pool("other", count=1, machines=(B,)), objects=(there, crusoe_node("n2", B)))
    mine, other = (judge(facts, TERMS).ownership for facts in found.targets)
    assert other.state is OwnerState.OURS
    assert (mine.state, mine.by) == ((OwnerState.HELD, "node remediation") if sign else (OwnerState.OURS, ""))
    if sign:
        assert f"node n1 has {sign}: Crusoe's remediation drains it" in mine.evidence[0]
    (group,) = effective_groups(found, policy_set(HEAD + group_text()), found.captured_seconds)
    assert group.template is not None
    assert {one.key for one in group.template.taints} == ({taint} if taint and not sign else set())


def test_a_stopped_machine_takes_no_place() -> None:
    """It is none that the count speaks of, and its replacement is the count's doing."""
    found = world(
        pool(count=2, machines=(A, B), reservation_id="r1"),
        nodePoolInstances=[instance(A), instance(B, "STATE_SHUTOFF")],
        crusoeReservations=[{"id": "r1", "quantity": 2, "used_quantity": 1}],
    )
    assert [machine.deleting for machine in found.machines] == [False, True]
    assert found.targets[0].problems == (
        f"machine {B} is SHUTOFF, so count 2 asks for its replacement. Reservation r1 has no room to start it "
        "again: 1 of 2 machines run, 1 more is requested",
    )


def test_before_it_is_stopped() -> None:
    """A node that is not ready: what stopping its machine would do is said before."""
    found = facts(pool(count=2, machines=(A, B)), objects=(crusoe_node("n1", A), crusoe_node("n2", B, ready=False)))
    assert found.problems == (
        "node n2 is not ready. If its machine is stopped, count 2 asks for the replacement. Lower it first",
    )


def test_a_reservation_that_pools_share() -> None:
    """Room is what neither runs nor was asked for by any of them, and what others run counts by its own number."""
    both = (pool("a", count=2, machines=(A,), reservation_id="r1"), pool("b", count=1, machines=(B,), reservation_id="r1"))
    for used, left in ((0, 2), (2, 2), (4, 0), (9, 0)):
        reservation = {"id": "r1", "quantity": 5, "used_quantity": used}
        found = world(*both, crusoeReservations=[reservation]).targets
        assert {(room.name, room.left) for one in found for room in one.rooms} == {("reservation r1", left)}


def test_what_a_location_has_left() -> None:
    """For pools without a reservation, less what was asked for; nothing is known of a type that is not listed."""
    stock = [{"type": TYPE, "location": LOCATION, "quantity": 3}]
    found = world(pool("a", count=2, machines=(A,)), pool("b", type="a40.1x"), crusoeCapacities=stock).targets
    assert [[room.left for room in one.rooms] for one in found] == [[2], []]


def test_why_machines_do_not_come() -> None:
    """By the health of the pool, else by its newest operation; not while nothing is missing."""
    issue = {"code": "INSUFFICIENT_CAPACITY", "message": "out of stock", "since": "2026-11-21T10:00:00Z"}
    short = pool(count=2, machines=(A,), health={"issues": [{"code": "NODE_NOT_READY"}, issue]})
    assert facts(short).launch_failure == LaunchFailure(
        id="INSUFFICIENT_CAPACITY 2026-11-21T10:00:00Z", at_seconds=1795255200, kind="Stock", message="out of stock"
    )
    assert facts({**short, "count": 1}).launch_failure is None
    operations = [operation("o1", "2026-11-21T10:00:00Z", "quota exceeded"), operation("o2", "2026-11-21T11:00:00Z", "")]
    missing = pool(count=2, machines=(A,))
    assert facts(missing, nodePoolOperations=operations).launch_failure is None
    failed = facts(missing, nodePoolOperations=operations[:1]).launch_failure
    assert failed is not None
    assert (failed.id, failed.kind, failed.message) == ("o1", "Quota", "quota exceeded")
    framed = operation("o3", "2026-11-21T12:00:00Z", "rpc error: code = ResourceExhausted desc = out of stock")
    failed = facts(missing, nodePoolOperations=[*operations, framed]).launch_failure
    assert failed is not None
    assert (failed.kind, failed.message) == ("Stock", "out of stock")


def operation(name: str, completed: str, error: str) -> Object:
    result = {"node_pool": pool(), "details": {"error": error, "num_vms_created": 0}}
    return {"operation_id": name, "state": "SUCCEEDED", "started_at": completed, "completed_at": completed, "result": result}


def test_the_shape_of_a_new_node() -> None:
    """By the machine type while no node is ready, with the labels and taints of the pool."""
    types = [{"product_name": TYPE, "cpu_cores": 176, "memory_gb": 960, "num_gpu": 8, "gpu_type": "h100-80gb-sxm", "disk_gb": 0}]
    item = pool(machines=(A,), node_labels={"team": "a"}, node_taints=[{"key": "gpu", "value": "y", "effect": "NoSchedule"}])
    found = facts(item, crusoeMachineTypes=types).template
    assert found.capacity is not None
    assert dict(found.capacity.items()) == {"cpu": 176_000, "memory": 960 * 10**9, "pods": 110, "nvidia.com/gpu": 8}
    assert dict(found.labels)["team"] == "a"
    assert found.taints == (Taint("gpu", "y", "NoSchedule"),)
    assert facts(item, crusoeMachineTypes=types, objects=(crusoe_node("n1", A),)).template.capacity is None
    amd = [{**types[0], "gpu_type": "MI355X"}]
    assert "amd.com/gpu" in dict(facts(item, crusoeMachineTypes=amd).template.capacity.items())  # type: ignore[union-attr]


def sized_node(name: str, machine: str, cpu: str, *, gpus: str = "8", ready: bool = True) -> Object:
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-11-21T00:16:25Z"}]
    amounts = {"memory": "900Gi", "pods": "110", "nvidia.com/gpu": gpus}
    status = {"conditions": conditions, "capacity": {**amounts, "cpu": "176"}, "allocatable": {**amounts, "cpu": cpu}}
    return node(name, spec={"providerID": f"crusoe://{machine}"}, status=status)


def test_the_shape_by_a_node_that_runs() -> None:
    """Its own node first, then one of a pool with the same type whose devices are there, the least of several, then the table;
    what it was read from is told."""
    types = [{"product_name": TYPE, "cpu_cores": 200, "memory_gb": 960, "num_gpu": 8, "gpu_type": "h100-80gb-sxm"}]
    mine, other, unlike = pool(), pool("b", count=3, machines=(A, B, C)), pool("c", machines=(machine_id(4),), type="a40.1x")
    nodes = (sized_node("n1", A, "172"), sized_node("n2", B, "170"), sized_node("n3", C, "160", gpus="0"))

    def read(*objects: Object, own: Object = mine) -> tuple[int, str]:
        return shape(world(own, other, unlike, crusoeMachineTypes=types, objects=objects))

    assert read(*nodes) == (170_000, "node n2 of node pool b, also " + TYPE)
    assert read(sized_node("n9", machine_id(4), "8")) == (200_000, f"machine type {TYPE}")
    assert read(sized_node("n1", A, "172", ready=False)) == (200_000, f"machine type {TYPE}")
    own = pool(count=1, machines=(machine_id(5),))
    assert read(*nodes, sized_node("n5", machine_id(5), "150"), own=own) == (150_000, "the ready nodes of the group")


def shape(found: World) -> tuple[int, str]:
    """Cpu of a new node of pool h100 and where it is known from."""
    bare = HEAD.partition("    template:")[0]
    (group,) = effective_groups(found, policy_set(bare + group_text()), found.captured_seconds)
    assert group.template is not None
    return group.template.allocatable.cpu_milli, ", ".join(origin.source for origin in group.chains["template.capacity"])


@pytest.mark.parametrize(
    ("behaviour", "word"),
    [
        ({"lowering": "Keeps"}, ""),
        ({"lowering": "Trims"}, "chooses the machine"),
        (None, "it is not known whether"),
        ({"lowering": "Keeps", "passed_over": {"pool-h100": "machine X went"}}, "machine X went"),
        ({"lowering": "Keeps", "passed_over": {"pool-other": "machine X went"}}, ""),
    ],
)
def test_when_a_node_may_be_removed(behaviour: Object | None, word: str) -> None:
    """Only where it is known that lowering a count deletes nothing, and that has not proved wrong."""
    found = facts(pool(), behaviour=behaviour).keeps_nodes
    assert (word in found) if word else not found


def test_a_machine_that_the_count_was_lowered_for() -> None:
    """It runs yet and is none that the count speaks of; before the count falls it is."""
    for count, deleting in ((1, True), (2, False)):
        behaviour = {"lowering": "Keeps", "leaving": {B: 2}}
        found = world(pool(count=count, machines=(A, B)), behaviour=behaviour)
        assert [machine.deleting for machine in found.machines] == [False, deleting]


def test_cautions() -> None:
    """An add-on that sizes pools, what was not captured, and that all of it is experimental."""
    addons = [{"id": CLUSTER, "location": LOCATION, "add_ons": ["nvidia_gpu_operator", "cluster_autoscaler"]}]
    assert [one.code for one in facts(pool(), crusoeClusters=addons).cautions] == ["AutoscalerAddOn", "Experimental"]
    assert [one.code for one in facts(pool()).cautions] == ["Experimental"]


def test_labels_of_the_volume_driver() -> None:
    """A pool is in one location; whether a type takes shared disks says a ready node of it, in whatever pool."""
    empty = facts(pool()).template.driver_labels
    assert empty == (
        ("ssd.csi.crusoe.ai", "ssd.csi.crusoe.ai/location", LOCATION),
        ("fs.csi.crusoe.ai", "fs.csi.crusoe.ai/location", LOCATION),
    )
    there = crusoe_node("n1", machine_id(1))
    there["metadata"]["labels"] = {"fs.csi.crusoe.ai/supports-shared-disks": "true"}
    other = pool("other", 1, (machine_id(1),))
    found = facts(pool(), other, objects=(there,)).template.driver_labels
    assert found == (*empty, ("fs.csi.crusoe.ai", "fs.csi.crusoe.ai/supports-shared-disks", "true"))
    assert facts(pool(), {**other, "type": "another"}, objects=(there,)).template.driver_labels == empty
