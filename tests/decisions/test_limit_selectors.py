"""Named limits: which nodes they count, by which amounts, and that all of them apply."""

import msgspec
import pytest

from reconciler.policy.documents import Budget, Limit, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, amounts, machine_deployment, node_group, policy
from tests.decisions.deciding import group, plan_of

ACCELERATOR = "cluster-api/accelerator"


def test_a_limit_on_cards_counts_the_nodes_that_carry_its_label_alone() -> None:
    """At most 16 h100 cards, 8 of them on a node of nobody: one machine of 8 more. Cards of another make are free."""
    cluster = ClusterBuilder()
    cluster.node("own", labels={ACCELERATOR: "h100"}, taints=["own:NoSchedule"], gpu=8)
    for make in ("h100", "a100"):
        cluster.group(make, nodes=0, gpu=8, labels={ACCELERATOR: make})
        cluster.pods(f"train-{make}", 3, gpu=8, node_selector={ACCELERATOR: make})
    cards = Limit(name="h100-cards", nodes=Selector(match_labels=((ACCELERATOR, "h100"),)), max=(("nvidia.com/gpu", 16),))
    plan = plan_of(cluster.world(), policy(node_group("h100"), node_group("a100"), limits=(cards,)))
    assert (group(plan, "h100").desired, group(plan, "a100").desired) == (1, 3)
    told = [reason.message for reason in plan.pods[-1].reasons if reason.code == "LimitReached"]
    assert told == ["limit h100-cards allows 16 nvidia.com/gpu: 16 in use (8 of it unmanaged), one more node of h100 adds 8"]


def test_limits_count_capacity_and_not_allocatable() -> None:
    """Machines of 8 cores that leave 7 for pods: at most 23 cores are two machines (16), not three (21)."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="8", memory="32Gi")
    cluster.pods("full", 1, cpu="7", on="general-1")
    cluster.pods("web", 3, cpu="7")
    world = cluster.world()
    less = amounts("7", "30Gi", 110)
    (target,) = world.targets
    world = msgspec.structs.replace(
        world,
        node_shapes=tuple(msgspec.structs.replace(shape, allocatable=less) for shape in world.node_shapes),
        targets=(msgspec.structs.replace(target, template=msgspec.structs.replace(target.template, allocatable=less)),),
    )
    rules = policy(node_group("general"), limits=(Limit(name="cores", max=(("cpu", 23_000),)),))
    assert group(plan_of(world, rules), "general").desired == 2


def test_every_limit_applies_whatever_their_order() -> None:
    """Nodes, cores and memory by three names: the memory of two machines of 16 GiB is the least that is allowed."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 9, cpu="4")
    limits = (
        Limit(name="few", max=(("nodes", 4),)),
        Limit(name="cores", max=(("cpu", 12_000),)),
        Limit(name="memory", max=(("memory", 47 << 30),)),
    )
    for given in (limits, limits[::-1]):
        assert group(plan_of(cluster.world(), policy(node_group("general"), limits=given)), "general").desired == 2


def test_nodes_on_their_way_count() -> None:
    """Two machines are asked for and not there: a limit of three nodes leaves room for one."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, replicas=2)
    target = cluster.world().targets[0].ref
    for number in range(2):
        cluster.machine(f"general-{number}", target, created=cluster.now)
    cluster.pods("web", 9, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("general"), limits=(Limit(name="few", max=(("nodes", 3),)),)))
    assert group(plan, "general").desired == 3


def test_a_shared_reserve_counts_the_nodes_that_are_there() -> None:
    """Two groups share four nodes, three of which stand: one more for either, whoever asks for it."""
    labels = (("reserve", "h100"),)
    cluster = ClusterBuilder()
    full = [*cluster.group("h100-a", nodes=2), *cluster.group("h100-b", nodes=1)]
    cluster.pods("full", 3, cpu="4", on=full)
    cluster.pods("web", 5, cpu="4")
    reserve = Limit(name="reserve", groups=Selector(match_labels=labels), max=(("nodes", 4),))
    rules = policy(node_group("h100-a", labels=labels), node_group("h100-b", labels=labels), limits=(reserve,))
    plan = plan_of(cluster.world(), rules)
    assert group(plan, "h100-a").desired + group(plan, "h100-b").desired == 4


def test_a_minimum_over_groups_counts_their_nodes_alone() -> None:
    """At least two nodes of the reserve: one of three empty ones goes, whatever others there are, managed or not."""
    cluster = ClusterBuilder()
    cluster.group("reserve", nodes=3)
    cluster.group("zoo", nodes=1)
    for number in range(4):
        cluster.node(f"own-{number}")
    reserve = Selector(match_labels=(("reserve", "h100"),))
    floor = Limit(name="floor", groups=reserve, min=(("nodes", 2),))
    at_once = ScaleDown(unneeded_time_seconds=0)
    groups = (node_group("reserve", labels=(("reserve", "h100"),), scale_down=at_once), node_group("zoo", scale_down=at_once))
    plan = plan_of(cluster.world(), policy(*groups, limits=(floor,), budgets=(Budget(nodes=9),)))
    assert (group(plan, "reserve").desired, group(plan, "zoo").desired) == (2, 0)
    assert [line.blockers[0].code for line in plan.nodes if line.group == "reserve" and line.blockers] == ["LimitMin"] * 2


@pytest.mark.parametrize(("asked", "left"), [(2, 2), (3, 2)])
def test_nodes_on_their_way_stand_on_the_floor(asked: int, left: int) -> None:
    """At least two nodes: of two empty ones one goes where another is about to come."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, replicas=asked)
    if asked == 3:
        cluster.machine("late", machine_deployment("general"), created=NOW - 60)
    floor = Limit(name="floor", min=(("nodes", 2),))
    rules = policy(
        node_group("general", scale_down=ScaleDown(unneeded_time_seconds=0)), limits=(floor,), budgets=(Budget(nodes=9),)
    )
    assert group(plan_of(cluster.world(), rules), "general").desired == left


def test_nodes_that_this_plan_adds_stand_on_the_floor() -> None:
    """At least two nodes, whatever other limits there are: of two empty ones one goes where another is bought for a pod."""
    cluster = ClusterBuilder()
    cluster.group("idle", nodes=2)
    cluster.group("fast", nodes=0, labels={"disk": "fast"})
    cluster.pods("waits", 1, cpu="1", node_selector={"disk": "fast"})
    limits = (Limit(name="floor", min=(("nodes", 2),)), Limit(name="most", max=(("nodes", 9),)))
    idle = node_group("idle", scale_down=ScaleDown(unneeded_time_seconds=0))
    pace = Pace(delay_after_add_seconds=0)
    rules = policy(idle, node_group("fast"), limits=limits, pace=pace, budgets=(Budget(nodes=9),))
    plan = plan_of(cluster.world(), rules)
    assert (group(plan, "idle").desired, group(plan, "fast").desired) == (1, 1)
