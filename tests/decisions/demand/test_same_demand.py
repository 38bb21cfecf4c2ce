"""What was bought for a demand costs no node again while that demand lasts."""

import msgspec

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory, Purchase
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, Headroom, PolicySet, ScaleDown
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind

AT_ONCE = ScaleDown(unneeded_time_seconds=0)
GENERAL = str(machine_deployment("general"))
LATER = NOW + 3600


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general", scale_down=AT_ONCE), **{"budgets": (Budget(nodes=100),), **fields})


def _before() -> World:
    """A node of 4 cores with half a core used, and a pod of 3.6 cores that needs another."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("old", 1, cpu="500m", on="general-1")
    cluster.pods("new", 1, cpu="3600m")
    return cluster.world()


def _bought() -> Memory:
    return decide(_before(), _rules(), Memory(), NOW)[1]


def test_a_purchase_is_remembered_with_its_demand() -> None:
    """By target and instant."""
    purchase = _bought().purchase
    assert purchase is not None
    assert purchase.since == {GENERAL: NOW}
    assert list(purchase.pods.values()) == [1, 1]
    assert purchase.last_seconds == NOW


def test_the_same_pods_elsewhere_are_the_same_demand() -> None:
    """Bound or pending, on whatever node, a day later."""
    pending, running = ClusterBuilder(), ClusterBuilder()
    for cluster in (pending, running):
        cluster.group("general", nodes=2, cpu="4")
    pending.pods("web", 3, cpu="3", on=["general-1", None, None])
    running.pods("web", 3, cpu="3", on=["general-1", "general-2", None])
    demands = []
    for cluster in (pending, running):
        purchase = decide(cluster.world(), _rules(), Memory(), NOW)[1].purchase
        assert purchase is not None
        demands.append(purchase.pods)
    assert demands[0] == demands[1]


def _came(world: World, name: str, after_seconds: int = 60) -> World:
    """The World with a node that was asked for at NOW and came so long after."""
    nodes = tuple(
        msgspec.structs.replace(one, created_seconds=NOW + after_seconds) if one.name == name else one for one in world.nodes
    )
    machines = tuple(msgspec.structs.replace(one, created_seconds=NOW) if one.node == name else one for one in world.machines)
    return msgspec.structs.replace(world, nodes=nodes, machines=machines)


def _grown(pods: int = 2) -> World:
    """Two nodes of 4 cores that hold 1 core each; the second one came after the purchase."""
    cluster = ClusterBuilder(now=LATER, age=90_000)
    names = cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", pods, cpu="1", on=[names[number % 2] for number in range(pods)])
    return _came(cluster.world(), "general-2")


def _remembering(world: World, rules: PolicySet) -> Memory:
    """A memory in which this very demand was bought for at NOW: learnt from a cluster with the same pods and no node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", len(world.pods), cpu="1")
    purchase = decide(cluster.world(), rules, Memory(), NOW)[1].purchase
    return Memory(purchase=purchase)


def test_no_node_leaves_a_group_that_grew_for_this_demand() -> None:
    """One of the two would do; both stay while the demand is the one that they were bought for, and say why."""
    world, rules = _grown(), _rules()
    plan, _ = decide(world, rules, _remembering(world, rules), LATER)
    assert plan.actions == ()
    assert blocker_codes(plan, "general-1") == ["SameDemand"]
    assert node(plan, "general-1").unneeded_since is None


def test_without_a_purchase_one_of_them_leaves() -> None:
    """The counter-check: nothing else keeps them."""
    plan, _ = decide(_grown(), _rules(), Memory(), LATER)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


def test_less_demand_frees_them() -> None:
    """One pod of two is gone for good: one of the nodes may leave."""
    rules = _rules()
    plan, _ = decide(_grown(1), rules, _remembering(_grown(), rules), LATER)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


def test_more_demand_frees_nothing() -> None:
    """With a third pod the two that nodes were bought for are still there."""
    rules = _rules()
    plan, _ = decide(_grown(3), rules, _remembering(_grown(), rules), LATER)
    assert plan.actions == ()
    assert blocker_codes(plan, "general-2") == ["SameDemand"]


def test_demand_that_rose_and_fell_frees_them() -> None:
    """Three pods were seen since the purchase; two are one less, though no fewer than at the purchase."""
    rules = _rules()
    _, memory = decide(_grown(3), rules, _remembering(_grown(), rules), LATER)
    plan, _ = decide(_grown(2), rules, memory, LATER)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


def test_after_less_demand_a_node_leaves_when_its_unneeded_time_is_over() -> None:
    """Ten minutes from the fall, not from the purchase."""
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600)), budgets=(Budget(nodes=100),))
    fallen, memory = _grown(1), _remembering(_grown(), rules)
    waiting, memory = decide(fallen, rules, memory, LATER)
    early, memory = decide(fallen, rules, memory, LATER + 599)
    due, _ = decide(fallen, rules, memory, LATER + 600)
    assert (waiting.actions, early.actions) == ((), ())
    assert [one.nodes for one in of_kind(due, ActionKind.REMOVE_NODE)] == [("general-2",)]


def test_demand_that_fell_and_came_back_keeps_them() -> None:
    """Within the unneeded time: the timer that ran is forgotten."""
    rules = policy(node_group("general", scale_down=ScaleDown(unneeded_time_seconds=600)), budgets=(Budget(nodes=100),))
    _, memory = decide(_grown(1), rules, _remembering(_grown(), rules), LATER)
    assert memory.unneeded_since == {"general-2": LATER}
    plan, memory = decide(_grown(2), rules, memory, LATER + 300)
    assert blocker_codes(plan, "general-2") == ["SameDemand"]
    assert memory.unneeded_since == {}


def _terminating(world: World, name: str, until: int) -> World:
    rows = (msgspec.structs.replace(pod, deletion_seconds=until if pod.name == name else 0) for pod in world.pods)
    return msgspec.structs.replace(world, pods=PodTable(rows))


def test_a_pod_between_two_lives_is_no_less_demand() -> None:
    """Preempted or evicted, it terminates and its controller makes it again."""
    rules = _rules()
    memory = _remembering(_grown(), rules)
    plan, _ = decide(_terminating(_grown(), "web-2", LATER + 30), rules, memory, LATER)
    assert plan.actions == ()


def test_a_purchase_while_a_pod_is_between_two_lives_lasts() -> None:
    """One of the pods was preempted when nodes were bought for the rest, and came back."""
    rules = _rules()
    before = ClusterBuilder()
    before.group("general", nodes=1, cpu="4")
    before.pods("web", 2, cpu="1", on="general-1")
    before.pods("new", 1, cpu="3600m")
    _, memory = decide(_terminating(before.world(), "web-2", NOW + 30), rules, Memory(), NOW)
    after = ClusterBuilder(now=LATER, age=90_000)
    after.group("general", nodes=3, cpu="4")
    after.pods("web", 2, cpu="1", on=["general-1", "general-1"])
    after.pods("new", 1, cpu="3600m", on="general-2")
    plan, memory = decide(_came(_came(after.world(), "general-2"), "general-3"), rules, memory, LATER)
    assert blocker_codes(plan, "general-3") == ["SameDemand"]
    assert memory.purchase is not None
    assert sorted(memory.purchase.pods.values()) == [1, 2]


def test_a_pod_that_terminates_for_too_long_is_less_demand() -> None:
    """A minute after its grace period it keeps nothing any more, though it never goes away."""
    rules = _rules()
    memory = _remembering(_grown(3), rules)
    world = _grown(3)
    kept, _ = decide(_terminating(world, "web-2", LATER - 59), rules, memory, LATER)
    freed, _ = decide(_terminating(world, "web-2", LATER - 60), rules, memory, LATER)
    assert blocker_codes(kept, "general-1") == ["SameDemand"]
    assert blocker_codes(freed, "general-1") != ["SameDemand"]


def test_a_second_purchase_keeps_what_the_first_one_bought() -> None:
    """More pods come while those of the first purchase are there: its nodes stay for them."""
    rules = _rules()
    cluster = ClusterBuilder(now=LATER)
    cluster.group("general", nodes=2, cpu="4", created=NOW + 60)
    cluster.pods("web", 2, cpu="1", on=["general-1", "general-2"])
    cluster.pods("more", 1, cpu="3600m")
    _, memory = decide(cluster.world(), rules, _remembering(_grown(), rules), LATER)
    assert memory.purchase is not None
    assert memory.purchase.since == {GENERAL: NOW}
    assert memory.purchase.last_seconds == LATER
    assert sorted(memory.purchase.pods.values()) == [1, 2]


def test_a_fall_before_a_purchase_is_no_fall_after_it() -> None:
    """One of three terminates for good while nodes are bought for another pod: these are bought for two and one."""
    rules = _rules()
    before = ClusterBuilder(now=LATER)
    before.group("general", nodes=1, cpu="4", created=NOW + 60)
    before.pods("web", 3, cpu="1", on="general-1")
    before.pods("more", 1, cpu="3600m")
    memory = _remembering(_grown(3), rules)
    _, memory = decide(_terminating(before.world(), "web-3", LATER + 30), rules, memory, LATER)
    after = ClusterBuilder(now=LATER + 600)
    after.group("general", nodes=3, cpu="4", created=LATER + 60)
    after.pods("web", 2, cpu="1", on="general-1")
    after.pods("more", 1, cpu="3600m", on="general-2")
    plan, _ = decide(after.world(), rules, memory, LATER + 600)
    assert blocker_codes(plan, "general-3") == ["SameDemand"]


def test_a_node_bought_for_headroom_stays_while_the_demand_does() -> None:
    """A pod of three ends on one node and begins on the empty one: for a moment none is free, and what is bought is kept."""
    before, after = ClusterBuilder(), ClusterBuilder(now=LATER)
    before.group("general", nodes=3, cpu="4")
    before.pods("web", 3, cpu="3", on=["general-1", "general-2", None])
    after.group("general", nodes=4, cpu="4", created=NOW - 60)
    after.pods("web", 2, cpu="3", on=["general-2", "general-3"])
    rules = policy(node_group("general", scale_down=AT_ONCE, headroom=Headroom(nodes=1)), budgets=(Budget(nodes=100),))
    first, memory = decide(_terminating(before.world(), "web-1", NOW + 30), rules, Memory(), NOW)
    assert codes(group(first, "general")) == ["Headroom"]
    assert memory.purchase is not None
    assert memory.purchase.since == {GENERAL: NOW}
    kept, _ = decide(after.world(), rules, memory, LATER)
    freed, _ = decide(after.world(), rules, Memory(), LATER)
    assert kept.actions == ()
    assert blocker_codes(kept, "general-4") == ["SameDemand"]
    assert len(of_kind(freed, ActionKind.REMOVE_NODE)) == 1


def test_growth_to_a_minimum_is_no_purchase() -> None:
    """Whoever set it may set another."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    cluster.pods("web", 1, cpu="3", on="general-1")
    plan, memory = decide(cluster.world(), policy(node_group("general", min=2)), Memory(), NOW)
    assert [one.to for one in of_kind(plan, ActionKind.RESIZE)] == [2]
    assert memory.purchase is None


def test_another_policy_frees_them() -> None:
    """Whoever changes the policy wants another answer."""
    world, rules = _grown(), _rules()
    other = msgspec.structs.replace(rules, digest="sha256:other")
    plan, _ = decide(world, other, _remembering(world, rules), LATER)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


def test_above_the_maximum_they_leave() -> None:
    """A maximum is not about demand."""
    world = _grown()
    rules = policy(node_group("general", max=1, scale_down=AT_ONCE), budgets=(Budget(nodes=100),))
    plan, _ = decide(world, rules, _remembering(world, rules), LATER)
    assert [one.reason.code for one in of_kind(plan, ActionKind.REMOVE_NODE)] == ["AboveMax"]


def test_other_groups_do_not_drain_into_what_was_bought() -> None:
    """`other` did not grow, but its pod fits only on the bought node: NoPlaceToMove, with the reason."""
    cluster = ClusterBuilder(now=LATER, age=90_000)
    cluster.group("general", nodes=1, cpu="4")
    cluster.group("other", nodes=1, cpu="4")
    cluster.pods("web", 2, cpu="1", on=["general-1", "other-1"])
    world = _came(cluster.world(), "general-1")
    rules = policy(node_group("general", scale_down=AT_ONCE), node_group("other", scale_down=AT_ONCE), budgets=(Budget(nodes=9),))
    memory = Memory(purchase=_purchase_of(world, rules))
    plan, _ = decide(world, rules, memory, LATER)
    assert plan.actions == ()
    assert blocker_codes(plan, "other-1") == ["NoPlaceToMove"]
    assert "added for the current demand" in node(plan, "other-1").blockers[0].message


def _purchase_of(world: World, rules: PolicySet) -> Purchase:
    """What was bought for as many pods, learnt from a cluster in which nothing runs yet."""
    cluster = ClusterBuilder()
    for name in ("general", "other"):
        cluster.group(name, nodes=0, cpu="4")
    cluster.pods("web", len(world.pods), cpu="1")
    purchase = decide(cluster.world(), rules, Memory(), NOW)[1].purchase
    assert purchase is not None
    return msgspec.structs.replace(purchase, since={GENERAL: NOW})


def test_a_node_that_came_late_may_leave() -> None:
    """Its machine took longer than maxNodeProvisionTime, so that others were bought in its place."""
    cluster = ClusterBuilder(now=LATER, age=90_000)
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="1", on="general-1")
    world = _came(cluster.world(), "general-2", 1200)
    rules = _rules()
    plan, _ = decide(world, rules, _remembering(world, rules), LATER)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-2",)]


def test_a_node_that_takes_pods_of_a_leaving_one_stays() -> None:
    """An eviction is refused for long; the empty node that its pod will go to is not given up meanwhile."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("slow", 1, cpu="3", on="general-1")
    plan, _ = decide(cluster.world(), _rules(), Memory(leaving={"general-1": NOW - 600}), NOW)
    assert plan.actions == ()
    assert blocker_codes(plan, "general-2") == ["ReceivesPods"]
