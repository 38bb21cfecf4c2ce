"""Removals at their edges: how many a plan may make, what is told, what is forgotten."""

import pytest

from reconciler.cluster.pods.pod import ClaimUse, SpreadConstraint
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.plan.plan import ActionKind, PodOutcome
from reconciler.policy.documents import Budget, Headroom, Limit, ScaleDown
from reconciler.policy.pace import Pace
from tests.builders import ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import node, of_kind, plan_of

ZONE = "topology.kubernetes.io/zone"
AT_ONCE = ScaleDown(unneeded_time_seconds=0)
OPEN = (Budget(nodes=1_000),)


def test_all_of_them_are_a_hundred_percent() -> None:
    """101 empty nodes, a minimum of 0 and no bound: all go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=101)
    plan = plan_of(cluster.world(), policy(node_group("general", max=200, scale_down=AT_ONCE), budgets=OPEN))
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 101


@pytest.mark.parametrize(("delay", "removed"), [(0, 1), (1, 0)])
def test_a_plan_that_adds_nodes_removes_some_where_that_is_not_delayed(delay: int, removed: int) -> None:
    """A pod asks for a node that the empty one is not."""
    cluster = ClusterBuilder()
    cluster.group("idle", nodes=1)
    cluster.group("fast", nodes=0, labels={"disk": "fast"})
    cluster.pods("waits", 1, cpu="1", node_selector={"disk": "fast"})
    rules = policy(
        node_group("idle", scale_down=AT_ONCE), node_group("fast"), budgets=OPEN, pace=Pace(delay_after_add_seconds=delay)
    )
    plan = plan_of(cluster.world(), rules)
    assert len(of_kind(plan, ActionKind.RESIZE)) == 1
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == removed


def test_which_rules_keep_a_pod_from_other_nodes_is_told() -> None:
    """Both others are too full, and one has a taint as well."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.group("tainted", nodes=1, taints=("dedicated=x:NoSchedule",))
    cluster.pods("full", 2, cpu="4", on=["general-2", "tainted-1"], traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu="1", memory="2Gi", on="general-1")
    plan = plan_of(cluster.world(), policy(node_group("general", scale_down=AT_ONCE), node_group("tainted"), budgets=OPEN))
    (blocker,) = node(plan, "general-1").blockers
    assert (blocker.code, blocker.pod) == ("NoPlaceToMove", "shop/web-1")
    assert blocker.message == (
        "1 pod like it (1000m cpu, 2048Mi memory each) does not fit on the other 2 nodes: "
        "too little free capacity on 1, too little free capacity and untolerated taint on 1"
    )


@pytest.mark.parametrize(("most", "served"), [(0, 4), (9, 4)])
def test_zones_of_groups_that_may_not_grow_do_not_count_for_a_spread(most: int, served: int) -> None:
    """Four pods over zones: two and two where both zones can get nodes; all in one where the other cannot."""
    cluster = ClusterBuilder()
    for zone in "ab":
        cluster.group(zone, nodes=0, cpu="4", labels={ZONE: zone})
    cluster.target("unknown", 0)
    spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 4, cpu="1", shape={"spread": (spread,)})
    plan = plan_of(cluster.world(), policy(node_group("a"), node_group("b", max=most), node_group("unknown")))
    assert sum(line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods) == served
    assert {line.group for line in plan.pods} == ({"a", "b"} if most else {"a"})


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"budgets": (Budget(nodes=1),)}, "Budget", "the budget of 1 node at a time is used up"),
        ({"budgets": (Budget(percent=50),)}, "Budget", "the budget of 50% at a time is used up"),
        (
            {"budgets": OPEN, "pace": Pace(max_removed_percent=50)},
            "Pace",
            "pace.maxRemovedPercent allows 50% of the managed nodes in one plan",
        ),
    ],
)
def test_what_one_plan_may_not_do_is_told(fields: dict[str, object], code: str, message: str) -> None:
    """Of two empty nodes one goes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    plan = plan_of(cluster.world(), policy(node_group("general", scale_down=AT_ONCE), **fields))
    (gone,) = of_kind(plan, ActionKind.REMOVE_NODE)
    (kept,) = {"general-1", "general-2"} - set(gone.nodes)
    (blocker,) = node(plan, kept).blockers
    assert (blocker.code, blocker.message) == (code, message)


def test_a_node_stays_when_one_of_its_pods_could_take_the_headroom() -> None:
    """The other one may not run there."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.node("general-1", labels={"pool": "general", "disk": "special"})
    cluster.pods("small", 1, cpu="100m", on="general-1")
    cluster.pods("special", 1, cpu="100m", on="general-1", node_selector={"disk": "special"})
    rules = policy(node_group("general", scale_down=AT_ONCE, headroom=Headroom(nodes=1)), budgets=OPEN)
    (blocker,) = node(plan_of(cluster.world(), rules), "general-1").blockers
    assert blocker.code == "Headroom"
    assert blocker.message == "its pods could take the room of general-2, which headroom keeps free"


def test_above_its_maximum_a_group_gives_up_headroom() -> None:
    """Two empty nodes that headroom stands on, and a maximum of one."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    rules = policy(node_group("general", max=1, headroom=Headroom(nodes=2)), budgets=OPEN)
    assert len(of_kind(plan_of(cluster.world(), rules), ActionKind.REMOVE_NODE)) == 1


@pytest.mark.parametrize(("cores", "gone"), [(4, 2), (5, 1), (8, 1), (9, 0)])
def test_nodes_go_down_to_the_minimum_of_a_limit(cores: int, gone: int) -> None:
    """Three empty nodes of 4 cores."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    limit = Limit(name="floor", min=(("cpu", cores * 1_000),))
    plan = plan_of(cluster.world(), policy(node_group("general", scale_down=AT_ONCE), budgets=OPEN, limits=(limit,)))
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == gone


def test_a_group_without_target_is_not_brought_to_its_minimum() -> None:
    """There is nothing to write to."""
    plan = plan_of(ClusterBuilder().world(), policy(node_group("general", min=2)))
    assert plan.actions == ()
    assert plan.groups[0].desired == 0


def test_a_pod_under_two_budgets_is_named_with_them() -> None:
    """Another pod of the node is under none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("api", 1, cpu="100m", on="general-1")
    cluster.pods("web", 1, cpu="100m", on="general-1", labels={"app": "web", "tier": "front"})
    fields = {"namespace": "shop", "disruptions_allowed": 9, "expected_pods": 1}
    budgets = (
        DisruptionBudget(name="a", selector=selector(app="web"), **fields),
        DisruptionBudget(name="b", selector=selector(tier="front"), **fields),
    )
    plan = plan_of(cluster.world(budgets=budgets), policy(node_group("general", scale_down=AT_ONCE), budgets=OPEN))
    found = [blocker for blocker in node(plan, "general-1").blockers if blocker.code == "SeveralPdbs"]
    assert [(blocker.pod, blocker.message) for blocker in found] == [
        ("shop/web-1", "several PodDisruptionBudgets cover it (a, b), and the eviction API rejects that")
    ]


def test_a_pod_that_is_not_modelled_is_named() -> None:
    """It has a claim on a device; the other one has none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("api", 1, cpu="100m", on="general-1")
    cluster.pods("claims", 1, cpu="100m", on="general-1", shape={"claims": (ClaimUse(name="gpu", claim="gpu"),)})
    plan = plan_of(cluster.world(), policy(node_group("general", scale_down=AT_ONCE), budgets=OPEN))
    assert [(one.code, one.pod) for one in node(plan, "general-1").blockers] == [("NotModelled", "shop/claims-1")]


def test_what_rejects_pods_elsewhere_is_told_of_64_shapes() -> None:
    """Sixty-six nodes, each with a pod that is bound to it: all say that it has no place, 64 say which rule keeps it away."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=66)
    for name in names:
        cluster.node(name, labels={"pool": "general", "own": name})
        cluster.pods(f"web-{name}", 1, cpu="1", on=name, node_selector={"own": name})
    plan = plan_of(cluster.world(), policy(node_group("general", max=66, scale_down=AT_ONCE), budgets=OPEN))
    plain = "1 pod like it (1000m cpu, 0Mi memory each) does not fit on the other 65 nodes"
    said = [blocker.message for line in plan.nodes for blocker in line.blockers if blocker.code == "NoPlaceToMove"]
    assert sorted(said) == [plain] * 2 + [f"{plain}: other labels than the pod wants on 65"] * 64
