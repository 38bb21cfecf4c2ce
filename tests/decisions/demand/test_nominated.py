"""A pod that kube-scheduler has made room for goes where it was nominated, and buys nothing."""

from collections.abc import Callable, Mapping

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.demand.nominated import place_nominated
from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

GRACE_END = NOW + 20


def _full(*, cpu: str = "3", nodes: int = 1, low: int = 1, **fields: object) -> ClusterBuilder:
    """Nodes of 4 cores, the first one full of pods of so many cores and another of priority 200; a pod of 3 cores and priority
    100 waits."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, cpu="4", **fields)
    cluster.pods("low", low, cpu=cpu, on="general-1")
    cluster.pods("keeps", 1, cpu="1", on="general-1", priority=200)
    cluster.pods("high", 1, cpu="3", priority=100)
    return cluster


def _world(cluster: ClusterBuilder, nominated: Mapping[str, int], ending: Mapping[str, int]) -> World:
    """Pods by name: nominated for a node by index, gone by an instant."""
    world = cluster.world()
    rows = [
        msgspec.structs.replace(row, nominated=nominated.get(row.name, -1), deletion_seconds=ending.get(row.name, 0))
        for row in world.pods
    ]
    return msgspec.structs.replace(world, pods=PodTable(rows))


def _plan(cluster: ClusterBuilder, node: int = 0, memory: Memory | None = None, **ending: int) -> Plan:
    """`high-1` is nominated; unless told, `low-1` is ending."""
    until = {name.replace("_", "-"): instant for name, instant in ending.items()} or {"low-1": GRACE_END}
    return plan_of(_world(cluster, {"high-1": node}, until), policy(node_group("general")), memory)


def test_a_pod_that_waits_for_its_victim_buys_nothing() -> None:
    """3 of 4 cores are held by a pod that ends: the one that was nominated gets them."""
    plan = _plan(_full())
    assert plan.actions == ()
    line = pod(plan, "shop/high-1")
    assert (line.outcome.value, line.node, codes(line)) == ("FitsExisting", "general-1", ["RoomAfterOthers"])
    assert line.reasons[0].message == (
        "general-1, nominated by kube-scheduler, has room once 1 pod of lower priority is gone, due at 2027-01-15T08:00:20Z"
    )


def test_without_a_nomination_it_buys() -> None:
    """The counter-check: only the nomination says that this room is for it."""
    assert codes(pod(_plan(_full(), node=-1), "shop/high-1")) == ["NewNode"]


def test_the_pod_made_in_place_of_the_victim_buys() -> None:
    """One need, one node: for the pod that had to give way."""
    cluster = _full()
    cluster.pods("again", 1, cpu="3")
    plan = _plan(cluster)
    assert codes(pod(plan, "shop/again-1")) == ["NewNode"]
    assert group(plan, "general").desired == 2


def test_what_is_left_beside_it_is_given_to_nobody_before_the_victims_are_gone() -> None:
    """Two pods of 1.5 cores end on a node of 4 for one of 2 cores that was nominated: the third free core is no place yet."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("low", 2, cpu="1500m", on="general-1")
    cluster.pods("keeps", 1, cpu="1", on="general-1", priority=200)
    cluster.pods("high", 1, cpu="2", priority=100)
    cluster.pods("small", 1, cpu="1")
    plan = _plan(cluster, low_1=GRACE_END, low_2=GRACE_END)
    assert codes(pod(plan, "shop/high-1")) == ["RoomAfterOthers"]
    assert codes(pod(plan, "shop/small-1")) == ["NewNode"]


@pytest.mark.parametrize(("late_seconds", "code"), [(59, "RoomAfterOthers"), (60, "NewNode")])
def test_a_victim_that_does_not_end_is_waited_for_a_minute(late_seconds: int, code: str) -> None:
    """Its grace period has been over for that long."""
    assert codes(pod(_plan(_full(), low_1=NOW - late_seconds), "shop/high-1")) == [code]


@pytest.mark.parametrize(("refused_seconds", "code"), [(59, "RoomAfterOthers"), (60, "NewNode")])
def test_the_scheduler_is_given_a_minute_to_delete_the_victims(refused_seconds: int, code: str) -> None:
    """Nobody is ending yet: a nomination counts for a minute after the first refusal, and not against higher priority."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("low", 1, cpu="3", on="general-1")
    cluster.pods("keeps", 1, cpu="1", on="general-1", priority=200)
    cluster.pods("high", 1, cpu="3", priority=100, age=refused_seconds)
    cluster.pods("highest", 1, cpu="4", priority=150, age=0)
    world = _world(cluster, {"high-1": 0, "highest-1": 0}, {})
    plan = plan_of(world, policy(node_group("general")))
    assert codes(pod(plan, "shop/high-1")) == [code]
    assert codes(pod(plan, "shop/highest-1")) == ["NewNode"]


def test_a_place_is_taken_once() -> None:
    """Two are nominated where the victim makes room for one."""
    cluster = _full()
    cluster.pods("other", 1, cpu="3", priority=100)
    world = _world(cluster, {"high-1": 0, "other-1": 0}, {"low-1": GRACE_END})
    plan = plan_of(world, policy(node_group("general")))
    assert sorted(codes(pod(plan, f"shop/{name}"))[0] for name in ("high-1", "other-1")) == ["NewNode", "RoomAfterOthers"]


def test_too_little_room_is_no_place() -> None:
    """A pod of 1 core ends where 3 are asked for: kube-scheduler will nominate anew, and cannot."""
    assert codes(pod(_plan(_full(cpu="1500m", low=2)), "shop/high-1")) == ["NewNode"]


def test_pods_of_no_lower_priority_were_not_taken_away_for_it() -> None:
    """The one that ends is as important."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("equal", 1, cpu="3", on="general-1", priority=100)
    cluster.pods("high", 1, cpu="3", priority=100)
    assert codes(pod(_plan(cluster, equal_1=GRACE_END), "shop/high-1")) == ["NewNode"]


def test_a_node_that_leaves_takes_nobody() -> None:
    """It was nominated and then drained: the pod waits like any other."""
    plan = _plan(_full(), memory=Memory(leaving={"general-1": NOW - 60}))
    assert codes(pod(plan, "shop/high-1")) == ["NewNode"]


def test_it_is_expected_on_its_node_where_it_fits_already() -> None:
    """The first of two empty nodes has room too, but kube-scheduler tries the nominated one first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("high", 1, cpu="3", priority=100)
    plan = plan_of(_world(cluster, {"high-1": 1}, {}), policy(node_group("general")))
    assert (pod(plan, "shop/high-1").node, codes(pod(plan, "shop/high-1"))) == ("general-2", ["RoomOnNode"])


@pytest.mark.parametrize(("priority", "phase", "code"), [
    (-10, PodPhase.RUNNING, "RoomAfterOthers"),
    (-11, PodPhase.RUNNING, "NewNode"),
    (0, PodPhase.SUCCEEDED, "NewNode"),
    (0, PodPhase.FAILED, "NewNode"),
])  # fmt: skip
def test_room_that_nobody_holds_is_not_left_by_who_ends(priority: int, phase: PodPhase, code: str) -> None:
    """A pod of two cores ends on a node of 4, where another two are kept: for three cores there is room then if that pod held
    any. Pods below the cut-off of -10 hold none, nor do those that have ended."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("keeps", 1, cpu="1", on="general-1", priority=200)
    cluster.pods("also", 1, cpu="1" if code == "NewNode" else "0", on="general-1", priority=200)
    cluster.pods("low", 1, cpu="2", on="general-1", priority=priority)
    cluster.pods("high", 1, cpu="3", priority=100)
    world = _world(cluster, {"high-1": 0}, {"low-1": GRACE_END})
    rows = [msgspec.structs.replace(row, phase=phase) if row.name == "low-1" else row for row in world.pods]
    plan = plan_of(msgspec.structs.replace(world, pods=PodTable(rows)), policy(node_group("general")))
    assert codes(pod(plan, "shop/high-1")) == [code]


def test_one_place_is_taken_on_a_node_with_room() -> None:
    """1.5 of 4 cores: a pod of 2.5 fits beside it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("high", 1, cpu="1500m", priority=100)
    cluster.pods("other", 1, cpu="2500m")
    plan = plan_of(_world(cluster, {"high-1": 0}, {}), policy(node_group("general")))
    assert [codes(line) for line in plan.pods] == [["RoomOnNode"], ["RoomOnNode"]]


@pytest.mark.parametrize(("refused", "ends", "due"), [
    (9000, (20, 40), 40), (9000, (40, 20), 40), (20, (20, 30), 40), (50, (20, 30), 30),
])  # fmt: skip
def test_until_when_it_is_waited_for(refused: int, ends: tuple[int, int], due: int) -> None:
    """Until the last of those that end should be gone, and for a minute after the first refusal."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("low", 2, cpu="2", on="general-1")
    cluster.pods("high", 1, cpu="4", priority=100, age=refused)
    plan = plan_of(
        _world(cluster, {"high-1": 0}, {f"low-{number}": NOW + seconds for number, seconds in enumerate(ends, 1)}),
        policy(node_group("general")),
    )
    (reason,) = pod(plan, "shop/high-1").reasons
    assert reason.message.endswith(f"once 2 pods of lower priority are gone, due at 2027-01-15T08:00:{due}Z")


def test_just_after_a_refusal_pods_of_equal_priority_do_not_give_way() -> None:
    """Nobody is ending yet, and the only other pod is as important."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("equal", 1, cpu="3", on="general-1", priority=100)
    cluster.pods("high", 1, cpu="3", priority=100, age=5)
    plan = plan_of(_world(cluster, {"high-1": 0}, {}), policy(node_group("general")))
    assert codes(pod(plan, "shop/high-1")) == ["NewNode"]


@pytest.mark.parametrize(("budget", "placed"), [(1, 1), (0, 0)])
def test_a_nomination_costs_one_step(budget: int, placed: int) -> None:
    """One node is asked."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("high", 1, cpu="1")
    world, rules = _world(cluster, {"high-1": 0}, {}), policy(node_group("general"))
    draft = View.of(world, rules, Memory(), NOW, Work(budget)).draft()
    demands = pending_demand(world, waiting_pods(world), draft.state, rules.policy.pods, NOW).demands
    assert len(place_nominated(draft, demands)[1]) == placed


def _beside(*, priority: int = 100, nominated: bool = True, ending: int = GRACE_END, beside: int = 2) -> Plan:
    """A pod of 3.5 cores ends; `high-1` (1 core) is nominated for its node, and pods of 1 core wait beside it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("low", 1, cpu="3500m", on="general-1")
    cluster.pods("high", 1, cpu="1", priority=100)
    cluster.pods("beside", beside, cpu="1", priority=priority)
    world = _world(cluster, {"high-1": 0} if nominated else {}, {"low-1": ending})
    return plan_of(world, policy(node_group("general")))


def test_what_is_left_of_the_room_that_was_made_is_for_those_beside() -> None:
    """4 cores are free once it has ended: one for the nominated pod, three for others like it, and the fourth needs a node."""
    plan = _beside(beside=3)
    assert plan.actions == ()
    line = pod(plan, "shop/beside-3")
    assert (line.outcome.value, line.node, codes(line)) == ("FitsExisting", "general-1", ["RoomBesideOthers"])
    assert line.reasons[0].message == (
        "general-1 has room for it next to the pod that kube-scheduler nominated, once 1 pod of lower priority is gone, "
        "due at 2027-01-15T08:00:20Z"
    )
    assert group(_beside(beside=4), "general").desired == 2


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lambda: _beside(priority=0), id="no more important than what ends: its successor may come first"),
        pytest.param(lambda: _beside(nominated=False), id="nobody was nominated"),
        pytest.param(lambda: _beside(ending=NOW - 3600), id="it does not end"),
    ],
)
def test_no_room_beside(plan: Callable[[], Plan]) -> None:
    assert group(plan(), "general").desired == 2
