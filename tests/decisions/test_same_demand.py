"""What was bought for a demand costs no node again while that demand lasts."""

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory, Purchase
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind

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
    assert len(purchase.demand) == 16


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
        demands.append(purchase.demand)
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


def test_another_demand_frees_them() -> None:
    """One pod less, one pod more: what was bought for another demand may leave again."""
    rules = _rules()
    memory = _remembering(_grown(), rules)
    for pods in (1, 3):
        plan, _ = decide(_grown(pods), rules, memory, LATER)
        assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


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
    memory = Memory(purchase=Purchase(demand=_demand_of(world, rules), since={GENERAL: NOW}))
    plan, _ = decide(world, rules, memory, LATER)
    assert plan.actions == ()
    assert blocker_codes(plan, "other-1") == ["NoPlaceToMove"]
    assert "bought for the same demand" in node(plan, "other-1").blockers[0].message


def _demand_of(world: World, rules: PolicySet) -> str:
    """The digest of a demand, learnt from a cluster in which nothing runs yet."""
    cluster = ClusterBuilder()
    for name in ("general", "other"):
        cluster.group(name, nodes=0, cpu="4")
    cluster.pods("web", len(world.pods), cpu="1")
    purchase = decide(cluster.world(), rules, Memory(), NOW)[1].purchase
    assert purchase is not None
    return purchase.demand


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
