"""What is said of node pools in full sentences, and the numbers in them: rooms, failures, stopped machines, shapes."""

import pytest

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import Caution, LaunchFailure, SharedRoom
from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.shown import shown, words_of_instance, words_of_pool
from tests.cluster.objects import node
from tests.crusoe.documents import CLUSTER, LOCATION, TYPE, Object, cluster, facts, files, instance, machine_id, pool, world
from tests.crusoe.test_facts import crusoe_node, operation, sized_node

A, B, C = machine_id(1), machine_id(2), machine_id(3)
CHECKLIST = "see the checklist of examples/crusoe"
SHORT = {"count": 2, "machines": (A,)}


def machines(found: World) -> list[tuple[str, int, bool, str, str]]:
    return [(one.name, one.created_seconds, one.deleting, one.failed, one.phase) for one in found.machines]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([instance(A, created_at="2026-11-21T10:00:00Z")], (A, 1_795_255_200, False, "", "RUNNING")),
        ([instance(A, created_at="")], (A, 0, False, "", "RUNNING")),
        ([instance(A, created_at="yesterday")], (A, 0, False, "", "RUNNING")),
        ([], (A, 0, False, "", "")),
        ([instance(A, "STATE_BLOCKED")], (A, 0, False, "its machine lacks resources (BLOCKED)", "BLOCKED")),
        ([instance(A, "STATE_DELETING")], (A, 0, True, "", "DELETING")),
        ([instance(A, "TERMINATED")], (A, 0, True, "", "TERMINATED")),
        ([instance(A, "CRASHED")], (A, 0, True, "", "CRASHED")),
    ],
)
def test_one_machine(told: list[Object], expected: object) -> None:
    """When it was made, whether the count speaks of it, and what is wrong with it."""
    assert machines(world(pool(count=1, machines=(A,)), nodePoolInstances=told)) == [expected]


def test_machines_that_were_to_be_taken_back() -> None:
    """They bear a mark for whoever goes on with that; their place, provider id and node are told."""
    found = world(
        pool(count=2, machines=(A, B)), behaviour={"lowering": "Keeps", "cancelled": [B]}, objects=(crusoe_node("n1", A),)
    )
    assert [(one.delete_marked, one.node, one.provider_id, one.namespace) for one in found.machines] == [
        (False, "n1", f"crusoe://{A}", LOCATION),
        (True, "", f"crusoe://{B}", LOCATION),
    ]


def test_what_is_known_of_a_pool() -> None:
    """Its id, count and labels; who owns the count nobody records."""
    found = facts(pool(count=3, node_labels={"team": "a"}))
    assert (found.uid, found.replicas, found.labels) == ("pool-h100", 3, (("team", "a"),))
    assert found.unrecorded_owner == "a node pool of Crusoe does not record who owns its count"
    assert (found.owner.paused, found.owner.deleting, found.launch_failure, found.rooms) == ("", False, None, ())


def test_where_pools_of_another_cluster_are_says_nothing() -> None:
    """A machine without a location says nothing either, nor does one that nobody listed."""
    elsewhere = pool("other", machines=(B,), cluster_id="another")
    silent = [instance(A, location=""), instance(B, location="us-west1-a")]
    found = facts(pool(machines=(A, C)), elsewhere, crusoeClusters=[], nodePoolInstances=silent)
    assert (found.ref.region, found.problems) == (
        "",
        ("its location is unknown: none of its machines and no cluster was captured",),
    )
    assert facts(pool(machines=(B,)), crusoeClusters=[cluster(location="")], nodePoolInstances=silent).ref.region == "us-west1-a"
    bare = pool()
    del bare["instance_ids"]
    assert facts(bare, crusoeClusters=[]).ref.region == ""


OUT = {"code": "INSUFFICIENT_CAPACITY", "message": "out of stock", "since": "2026-11-21T10:00:00Z"}


def failure(*operations: Object, **rest: object) -> LaunchFailure | None:
    return facts(pool(**{**SHORT, **rest}), nodePoolOperations=list(operations)).launch_failure  # type: ignore[arg-type]


def test_an_issue_without_words() -> None:
    """Its code stands in their place; a time that cannot be read is none."""
    found = failure(health={"issues": [{"code": OUT["code"], "since": "lately"}]})
    assert found == LaunchFailure(id="INSUFFICIENT_CAPACITY lately", at_seconds=0, kind="Stock", message="INSUFFICIENT_CAPACITY")
    assert failure(health={"issues": None}) is None
    assert failure(health={"issues": [{"code": "NODE_NOT_READY"}]}) is None


def test_more_machines_than_are_asked_for() -> None:
    """Nothing is missing then, whatever the platform says."""
    assert failure(health={"issues": [OUT]}, count=0) is None


def test_the_newest_operation_that_has_ended() -> None:
    """Of two that ended at once that of the later name; those that go on, say nothing or are of another pool do not count."""
    at = "2026-11-21T10:00:00Z"
    found = failure(operation("o2", at, "quota"), operation("o1", at, "no capacity"))
    assert found == LaunchFailure(id="o2", at_seconds=1_795_255_200, kind="Quota", message="quota")
    other = {
        **operation("o3", "2026-11-21T11:00:00Z", "x"),
        "result": {"node_pool": {"id": "pool-other"}, "details": {"error": "x"}},
    }
    running = {**operation("o4", "", "x")}
    assert failure(running) is None, "what goes on has not failed"
    nobodys = [{"operation_id": "o5", "completed_at": at}, {"operation_id": "o6", "completed_at": at, "result": {}}]
    found = failure(operation("o2", at, "quota"), other, running, *nobodys)
    assert found is not None
    assert found.id == "o2"
    for result in ({}, {"details": None}, {"details": {}}, {"details": {"error": ""}}):
        silent = {"operation_id": "o7", "completed_at": at, "result": {"node_pool": {"id": "pool-h100"}, **result}}
        assert failure(silent) is None


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Insufficient Capacity for this type", "Stock"),
        ("no capacity", "Stock"),
        ("the reservation is full", "Stock"),
        ("Quota exceeded", "Quota"),
        ("the image is gone", "Configuration"),
    ],
)
def test_the_class_of_a_failure(message: str, kind: str) -> None:
    """What nobody knows needs a person."""
    found = failure(operation("o1", "2026-11-21T10:00:00Z", message))
    assert found is not None
    assert found.kind == kind


def rooms(*pools: Object, left: int = 5, **documents: object) -> list[tuple[SharedRoom, ...]]:
    stock = [{"type": TYPE, "location": LOCATION, "quantity": left}]
    return [one.rooms for one in world(*pools, crusoeCapacities=stock, **documents).targets]


@pytest.mark.parametrize(
    ("counts", "left", "room", "why"),
    [
        ((0, 0), 5, 5, "5 left"),
        ((1, 0), 5, 4, "5 left, 1 more is requested"),
        ((2, 1), 5, 2, "5 left, 3 more are requested"),
        ((2, 1), 1, 0, "1 left, 3 more are requested"),
    ],
)
def test_what_is_left_in_stock(counts: tuple[int, int], left: int, room: int, why: str) -> None:
    """Less what all pools of the type there have asked for and not got."""
    found = rooms(pool("a", counts[0]), pool("b", counts[1]), left=left)
    assert found == [(SharedRoom(name=f"stock of {TYPE} in {LOCATION}", left=room, why=why),)] * 2


def test_stock_that_other_pools_do_not_take() -> None:
    """Those of another type, of another place, or with a reservation of their own."""
    others = (
        pool("type", 3, type="a40.1x"),
        pool("reserved", 3, reservation_id="r1"),
        pool("place", 3, cluster_id="another"),
    )
    places = [cluster(), {"id": "another", "name": "b", "location": "us-west1-a"}]
    assert [room.left for room in rooms(pool("a"), *others, crusoeClusters=places)[0]] == [5]


def test_a_reservation_that_nobody_listed() -> None:
    """Nothing is known of its room, and stock is not what bounds it."""
    assert rooms(pool("a", reservation_id="r1")) == [()]


def test_the_room_of_a_reservation() -> None:
    """What runs in it by its own number or by ours, whichever is more, and what pools of it have asked for."""
    both = (pool("a", 2, (A,), reservation_id="r1"), pool("b", 0, type="other", reservation_id="r2"))
    reservations = [{"id": "r1", "quantity": 4}, {"id": "r2", "quantity": 0, "used_quantity": 3}]
    found = rooms(*both, crusoeReservations=reservations)
    assert found == [
        (SharedRoom(name="reservation r1", left=2, why="1 of 4 machines run, 1 more is requested"),),
        (SharedRoom(name="reservation r2", left=0, why="3 of 0 machines run"),),
    ]


STOPPED_A = [instance(A, "STATE_SHUTOFF"), instance(B), instance(C)]


@pytest.mark.parametrize(
    ("count", "others", "does"),
    [
        (2, (B, C), "count 2 keeps 2 others running"),
        (1, (B,), "count 1 keeps 1 other running"),
        (2, (B,), "count 2 asks for its replacement"),
        (1, (B, C), "count 1 keeps 2 others running"),
    ],
)
def test_a_stopped_machine(count: int, others: tuple[str, ...], does: str) -> None:
    """What the count makes of it is said before anybody starts it again."""
    found = facts(pool(count=count, machines=(A, *others)), nodePoolInstances=STOPPED_A, objects=(crusoe_node("n1", A),))
    assert found.problems == (f"the machine of node n1 is SHUTOFF, so {does}",)


def test_a_stopped_machine_that_could_be_started() -> None:
    """Its reservation has room; where nobody listed that, nothing is said of it."""
    item = pool(count=1, machines=(A, B), reservation_id="r1")
    kept = f"machine {A} is SHUTOFF, so count 1 keeps 1 other running"
    room = "reservation r1 has room to start it again: 1 of 2 machines run"
    reservations = [{"id": "r1", "quantity": 2, "used_quantity": 1}]
    assert facts(item, nodePoolInstances=STOPPED_A, crusoeReservations=reservations).problems == (f"{kept}. R{room[1:]}",)
    assert facts(item, nodePoolInstances=STOPPED_A).problems == (kept,)


@pytest.mark.parametrize(
    ("reservation", "lowering", "more"),
    [
        (None, "Keeps", ". Lower it first"),
        ("r1", "Keeps", ", which takes its place in reservation r1 (2 machines). Lower it first"),
        ("r2", "Keeps", ". Lower it first"),
        (None, "", f". Lower it first, if that deletes no machine ({CHECKLIST}, CRUSOE_LOWERING)"),
    ],
)
def test_before_a_machine_is_stopped(reservation: str | None, lowering: str, more: str) -> None:
    """What stopping it would do is said while its node is not ready."""
    found = facts(
        pool(count=1, machines=(A,), reservation_id=reservation),
        objects=(crusoe_node("n1", A, ready=False),),
        crusoeReservations=[{"id": "r1", "quantity": 2}],
        behaviour={"lowering": lowering},
    )
    assert found.problems == (f"node n1 is not ready. If its machine is stopped, count 1 asks for the replacement{more}",)


def test_a_node_that_leaves_is_not_ready_for_that() -> None:
    """Nobody is about to stop its machine."""
    leaving = node(
        "n1",
        spec={"providerID": f"crusoe://{A}"},
        status={"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T00:16:25Z"}]},
    )
    leaving["metadata"]["deletionTimestamp"] = "2026-11-21T00:20:00Z"
    assert facts(pool(count=1, machines=(A,)), objects=(leaving,)).problems == ()


EXPERIMENTAL = Caution(
    code="Experimental",
    message="the calls that write node pools of Crusoe were tried only on a server of our own",
    advice=f"{CHECKLIST} before mode Enforce",
)


def test_what_was_not_captured() -> None:
    """Who replaces machines is not known without it."""
    for left_out, names in (
        (("nodePoolInstances",), "CrusoeInstance was"),
        (("nodePoolInstances", "autoClusterOperations"), "CrusoeInstance and CrusoeClusterOperation were"),
    ):
        found = {name: body for name, body in files(pool()).items() if name.removesuffix(".json") not in left_out}
        target = read_snapshot(found).targets[0]
        message = f"{names} not captured, so it is unknown which machines run and who replaces them"
        assert target.unseen == f"{message}: put them into the snapshot (examples/crusoe explains how)"
        assert judge(target, Terms(now_seconds=1, first_seen_seconds=0)).ownership.state is OwnerState.UNKNOWN


@pytest.mark.parametrize("addons", [None, [], ["nvidia_gpu_operator"]])
def test_clusters_without_an_autoscaler(addons: list[str] | None) -> None:
    """Nothing is told of them, nor where the cluster is not known."""
    assert facts(pool(), crusoeClusters=[cluster(add_ons=addons)]).cautions == (EXPERIMENTAL,)
    assert facts(pool(), crusoeClusters=[]).cautions == (EXPERIMENTAL,)


def test_an_add_on_that_sizes_pools() -> None:
    """Every pool of the cluster is a group of it."""
    found = facts(pool(), crusoeClusters=[cluster(add_ons=["gpu", "Cluster_Autoscaler", "autoscaler2"])]).cautions
    assert found[0] == Caution(
        code="AutoscalerAddOn",
        message="its cluster has the add-on Cluster_Autoscaler: every pool of the cluster is a group of that autoscaler",
        advice="run one autoscaler: hold these groups with a reason and an end, or remove the add-on",
    )


def test_two_signs_of_remediation() -> None:
    """A taint and a phase are one writer; a machine that is no node says nothing."""
    there = node(
        "n1",
        labels={"crusoe.ai/remediation.phase": "draining"},
        spec={
            "providerID": f"crusoe://{A}",
            "taints": [{"key": f"crusoe.ai/remediation.{one}", "effect": "NoSchedule"} for one in ("draining", "scheduled")],
        },
    )
    (writer,) = facts(pool(count=2, machines=(B, A)), objects=(there,)).writers
    assert writer.by == "node remediation"
    assert writer.evidence == (
        "node n1 has taint crusoe.ai/remediation.draining and taint crusoe.ai/remediation.scheduled and label "
        "crusoe.ai/remediation.phase=draining: Crusoe's remediation drains it and resets its machine by itself"
    )


def test_a_replacement_of_a_pool_without_machines() -> None:
    """One that names no pool may concern it; one that names another does not."""
    bare = pool("a")
    del bare["instance_ids"]
    for metadata, held in (({}, True), ({"pool": "pool-a"}, True), ({"vm": A}, False)):
        under_way = [{"operation_id": "o", "state": "IN_PROGRESS", "metadata": metadata}]
        assert bool(facts(bare, pool("b", machines=(A,)), autoClusterOperations=under_way).writers) is held


def types(**more: object) -> list[Object]:
    return [{"product_name": TYPE, "cpu_cores": 8, "memory_gb": 32, **more}]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {}),
        ({"disk_gb": 100}, {"ephemeral-storage": 100_000_000_000}),
        ({"num_gpu": 2, "gpu_type": "H100"}, {"nvidia.com/gpu": 2}),
        ({"num_gpu": 2, "gpu_type": "mi300x"}, {"amd.com/gpu": 2}),
        ({"num_gpu": 2, "gpu_type": "instinct-AMD"}, {"amd.com/gpu": 2}),
        ({"num_gpu": 0, "gpu_type": "h100"}, {}),
    ],
)
def test_the_amounts_of_a_type(more: Object, expected: dict[str, int]) -> None:
    """In whole GB of a thousand million bytes, the smaller of what the word may mean; 110 pods, as kubelets have it."""
    found = facts(pool(), crusoeMachineTypes=types(**more)).template
    assert found.capacity is not None
    assert dict(found.capacity.items()) == {"cpu": 8000, "memory": 32_000_000_000, "pods": 110, **expected}
    assert (found.origins, found.estimated) == ((f"machine type {TYPE}",), True)


def test_a_type_that_says_nothing() -> None:
    """One without processors, and one that nobody listed."""
    assert facts(pool(), crusoeMachineTypes=types(cpu_cores=0)).template.capacity is None
    assert facts(pool(type="a40.1x"), crusoeMachineTypes=types()).template.capacity is None


def test_marks_of_a_new_node() -> None:
    """Its type and its pool; the pool's own labels win, and what is empty is left out."""
    labels = dict(facts(pool(node_labels={"crusoe.ai/nodepool.id": "mine", "team": ""})).template.labels)
    assert labels == {"node.kubernetes.io/instance-type": TYPE, "crusoe.ai/nodepool.id": "mine"}
    bare = pool(type="", node_labels=None, node_taints=None)
    assert (facts(bare).template.labels, facts(bare).template.taints) == ((("crusoe.ai/nodepool.id", "pool-h100"),), ())


def test_nodes_of_pools_without_a_type_are_not_alike() -> None:
    """What is not known is not the same."""
    both = (pool("a", type=""), pool("b", count=1, machines=(A,), type=""))
    assert facts(*both, objects=(sized_node("n1", A, "8"),)).template.capacity is None


@pytest.mark.parametrize(
    ("nodes", "chosen"),
    [
        ((("n1", "170", "0"), ("n2", "172", "8")), "n2"),
        ((("n1", "172", "8"), ("n2", "170", "8")), "n2"),
        ((("n2", "170", "8"), ("n1", "170", "8")), "n1"),
    ],
)
def test_the_node_that_is_taken_for_a_new_one(nodes: tuple[tuple[str, str, str], ...], chosen: str) -> None:
    """One whose devices are there, the least of those, and the first by name of equal ones."""
    there = [sized_node(name, machine_id(number), cpu, gpus=gpus) for number, (name, cpu, gpus) in enumerate(nodes, 1)]
    found = facts(pool("a"), pool("b", count=2, machines=(A, B)), objects=tuple(there)).template
    assert found.origins == (f"node {chosen} of node pool b, also {TYPE}",)


def test_what_leaves_the_house() -> None:
    """What is read of an answer, in words of the snapshot; what is not read is not shown, nor is what is empty."""
    words = Pseudonyms(b"salt", words=set())
    item = {**pool(node_labels={"team": "a"}), "secret": "x", "health": None}
    found = shown(wire.NodePool, item, words)
    assert not {"secret", "health", "kind"} & found.keys()
    assert "team" not in found["node_labels"]
    named = {"operation_id": "o", "metadata": {"b": B, "a": [A, A], "reason": "of-the-user"}}
    assert shown(wire.ClusterOperation, named, words)["metadata"] == {"ids": [A, B]}
    whole = shown(wire.Cluster, cluster(), words)
    assert (whole["name"] != "prod", whole["id"]) == (True, CLUSTER)
    assert "name" not in shown(wire.Reservation, {"id": "r", "quantity": 1}, words)


def test_words_that_nodes_may_say() -> None:
    """Of a pool its id, name, type and machines; of a machine its id and place."""
    assert list(words_of_pool(pool("a", machines=(A, B)))) == ["pool-a", "a", TYPE, A, B]
    assert list(words_of_pool({"instance_ids": None})) == ["", "", ""]
    assert list(words_of_instance(instance(A))) == [A, LOCATION]
