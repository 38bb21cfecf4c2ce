"""`tiers[].share`: at least so many percent of the nodes of all tiers are of one tier. The tables are hand arithmetic."""

import msgspec
import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import BackoffState, Memory, Replacement, TierState
from reconciler.gitops.preview import compare
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import Budget, Consolidation, NodeGroup, PolicySet, RemovalReason, ScaleDown, Tier, Toggle
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

DAY = 86_400
OPEN = (Budget(nodes=100),)
THIRTY = (Tier(name="spot"), Tier(name="on-demand", share_percent=30))
AT_ONCE = ScaleDown(unneeded_time_seconds=0)


def _cluster(spot: int = 0, demand: int = 0, pods: int = 0, *, demand_cpu: str = "4", spot_cpu: str = "4") -> ClusterBuilder:
    """Nodes of 4 cores, and pending pods of 3: one for each node."""
    cluster = ClusterBuilder()
    busy = [*cluster.group("spot", nodes=spot, cpu=spot_cpu), *cluster.group("demand", nodes=demand, cpu=demand_cpu)]
    cluster.pods("there", len(busy), cpu="3", on=busy)
    cluster.pods("new", pods, cpu="3")
    return cluster


def _rules(*more: NodeGroup, tiers: tuple[Tier, ...] = THIRTY, most: int = 50, **fields: object) -> PolicySet:
    groups = (
        node_group("spot", tier="spot", scale_down=AT_ONCE, max=50),
        node_group("demand", tier="on-demand", scale_down=AT_ONCE, max=most),
        *more,
    )
    return policy(*groups, **{"budgets": OPEN, "tiers": tiers, **fields})


def _sizes(plan: Plan) -> tuple[int, int]:
    return group(plan, "spot").desired, group(plan, "demand").desired


def _pending(plan: Plan) -> int:
    return sum(one.outcome is PodOutcome.UNPLACEABLE for one in plan.pods)


@pytest.mark.parametrize(("spot", "demand", "pods", "sizes"), [
    (0, 0, 1, (0, 1)),  # of 1 node 0.3, rounded up 1
    (0, 0, 2, (1, 1)),  # of 2 nodes 0.6
    (0, 0, 3, (2, 1)),  # of 3 nodes 0.9
    (0, 0, 4, (2, 2)),  # of 4 nodes 1.2
    (0, 0, 6, (4, 2)),
    (0, 0, 7, (4, 3)),  # of 7 nodes 2.1
    (0, 0, 10, (7, 3)),  # exactly 3
    (0, 0, 11, (7, 4)),  # 3.3
    (6, 3, 1, (7, 3)),  # 3 of 10 nodes are 30%
    (7, 3, 1, (7, 4)),  # 3 of 11 nodes are less
    (0, 5, 3, (3, 5)),  # more than the share is there: 2.4 of 8
    (10, 0, 1, (10, 1)),  # it lacks 4 of 11, and the pods need 1
    (10, 0, 8, (12, 6)),  # of 18 nodes 5.4
    (10, 0, 20, (21, 9)),  # of 30 nodes exactly 9
])  # fmt: skip
def test_growth_keeps_the_share(spot: int, demand: int, pods: int, sizes: tuple[int, int]) -> None:
    plan = plan_of(_cluster(spot, demand, pods).world(), _rules())
    assert (_sizes(plan), _pending(plan)) == (sizes, 0)


@pytest.mark.parametrize(("spot_cpu", "demand_cpu", "sizes"), [
    ("4", "8", (4, 3)),  # 10 nodes of spot would do: 3 on demand take 6 pods, and 4 nodes of spot the rest
    ("8", "4", (4, 2)),  # 5 would do: 2 on demand take 2 pods, and 4 nodes of spot take 8
])  # fmt: skip
def test_nodes_count_whatever_their_size(spot_cpu: str, demand_cpu: str, sizes: tuple[int, int]) -> None:
    """Ten pods. The share is of the nodes that are there afterwards."""
    plan = plan_of(_cluster(pods=10, spot_cpu=spot_cpu, demand_cpu=demand_cpu).world(), _rules())
    assert (_sizes(plan), _pending(plan)) == (sizes, 0)


def test_the_growth_says_why() -> None:
    """Ten nodes: 3 of them on demand, in place of spot."""
    plan = plan_of(_cluster(pods=10).world(), _rules())
    (reason,) = [one for one in group(plan, "demand").reasons if one.code == "GrownForShare"]
    assert reason.message == (
        "3 new nodes are of tier on-demand instead of spot: at least 30% of all nodes are of tier on-demand"
    )
    pending, _ = group(plan, "demand").reasons
    assert pending.message.startswith("3 pending pods on 3 new nodes. ")
    assert pending.message.endswith(": spot (tier share)")
    assert codes(group(plan, "spot")) == ["PendingPods"]


def test_large_machines_do_not_take_more_than_the_share_needs() -> None:
    """100 pods, 5 to a node on demand. 14 of these leave 30 pods for spot, and 14 of 44 nodes are 31%; 13 of 48 would be 27%."""
    assert _sizes(plan_of(_cluster(pods=100, demand_cpu="16").world(), _rules())) == (30, 14)


def test_without_a_share_the_first_tier_serves_everything() -> None:
    tiers = (Tier(name="spot"), Tier(name="on-demand"))
    assert _sizes(plan_of(_cluster(pods=10).world(), _rules(tiers=tiers))) == (10, 0)


def test_the_first_tier_may_have_a_share() -> None:
    """It serves everything anyway, up to its maximum of 2; then nobody waits, and the tier says what it lacks: 3 of 5."""
    tiers = (Tier(name="spot", share_percent=60), Tier(name="on-demand"))
    groups = (node_group("spot", tier="spot", max=2), node_group("demand", tier="on-demand"))
    plan = plan_of(_cluster(pods=5).world(), policy(*groups, tiers=tiers))
    assert (_sizes(plan), _pending(plan)) == ((2, 3), 0)
    (reason,) = [one for one in group(plan, "spot").reasons if one.code == "ShareNotReached"]
    assert reason.message == (
        "tier spot has 2 of 5 nodes, and its share of 60% is 3. New nodes are of this tier if pods can run there. "
        "spot (AtMaxSize) cannot grow now"
    )


def test_two_shares() -> None:
    """Reserved 50%, on demand 30%: of 10 nodes 5 and 3, and the other 2 are of the first tier that has room, spot."""
    tiers = (Tier(name="spot"), Tier(name="reserved", share_percent=50), Tier(name="on-demand", share_percent=30))
    cluster = _cluster(pods=10)
    cluster.group("reserved", nodes=0, cpu="4")
    plan = plan_of(cluster.world(), _rules(node_group("reserved", tier="reserved"), tiers=tiers))
    assert (_sizes(plan), group(plan, "reserved").desired, _pending(plan)) == ((2, 3), 5, 0)


def test_groups_without_a_tier_do_not_count() -> None:
    """Ten nodes of no tier and 7 of spot: 3 on demand are 30% of 10, so the next node is of on demand."""
    cluster = _cluster(7, 3, 1)
    cluster.pods("elsewhere", 10, cpu="3", on=cluster.group("other", nodes=10))
    plan = plan_of(cluster.world(), _rules(node_group("other", min=10)))
    assert _sizes(plan) == (7, 4)


@pytest.mark.parametrize("why", ["full", "backed off", "other pods"])
def test_no_pod_waits_for_a_share(why: str) -> None:
    """Three pods, and nothing on demand: its maximum is 0, its group is backed off, or the pods select spot."""
    cluster = _cluster(pods=0 if why == "other pods" else 3)
    if why == "other pods":
        cluster.pods("picky", 3, cpu="3", node_selector={"pool": "spot"})
    failed = BackoffState(failures=1, failed_seconds=NOW - 60, until_seconds=NOW + 240)
    memory = Memory(backoffs={"demand": failed} if why == "backed off" else {})
    plan = plan_of(cluster.world(), _rules(most=0 if why == "full" else 50), memory)
    assert (_sizes(plan), _pending(plan)) == ((3, 0), 0)
    (reason,) = [one for one in group(plan, "demand").reasons if one.code == "ShareNotReached"]
    unable = {"full": ("demand (AtMaxSize)",), "backed off": ("demand (BackedOff)",), "other pods": ()}
    assert (reason.data["needed"], reason.data["total"], reason.data["unable"]) == (1, 3, unable[why])


def test_pods_that_can_run_there_fill_the_share() -> None:
    """Nine pods select spot, one does not: that one is on demand, though 3 of 10 would be the share."""
    cluster = _cluster(pods=1)
    cluster.pods("picky", 9, cpu="3", node_selector={"pool": "spot"})
    plan = plan_of(cluster.world(), _rules())
    assert (_sizes(plan), _pending(plan)) == ((9, 1), 0)


def test_nothing_is_added_for_a_share_alone() -> None:
    """Ten nodes of spot and no pending pod: the plan is empty, and says that 3 of 10 would be the share."""
    plan = plan_of(_cluster(10).world(), _rules())
    assert plan.actions == ()
    (reason,) = [one for one in group(plan, "demand").reasons if one.code == "ShareNotReached"]
    assert (reason.data["nodes"], reason.data["needed"], reason.data["total"]) == (0, 3, 10)


def test_requested_nodes_count() -> None:
    """Six of spot are there and 3 on demand are on their way: one more of spot is within the share, and 30% of 11 are not."""
    cluster = ClusterBuilder()
    busy = cluster.group("spot", nodes=6)
    cluster.group("demand", nodes=0, replicas=3)
    for number in range(3):
        cluster.machine(f"m{number}", machine_deployment("demand"), created=NOW - 30)
    cluster.pods("there", 6, cpu="3", on=busy)
    cluster.pods("new", 3 + 1, cpu="3")
    assert _sizes(plan_of(cluster.world(), _rules())) == (7, 3)


@pytest.mark.parametrize(("share", "sizes"), [(0, (1, 2)), (40, (1, 2)), (50, (2, 0))])
def test_a_cheaper_mix_does_not_take_from_the_share(share: int, sizes: tuple[int, int]) -> None:
    """Six pods, four to a large node for 1.00, one to a small one for 0.40. Two large nodes cost 2.00, a large and two small ones
    1.80. Two nodes are on demand: of 4 nodes they are 50%, of 5 nodes 40%."""
    cluster = _cluster(demand=2)
    cluster.group("large", nodes=0, cpu="16")
    cluster.pods("new", 6, cpu="3500m")
    groups = (
        node_group("large", tier="spot", price_per_hour="1.00"),
        node_group("spot", tier="spot", price_per_hour="0.40"),
        node_group("demand", tier="on-demand", price_per_hour="5.00"),
    )
    tiers = (Tier(name="spot"), Tier(name="on-demand", share_percent=share))
    plan = plan_of(cluster.world(), policy(*groups, tiers=tiers))
    assert (group(plan, "large").desired, group(plan, "spot").desired, group(plan, "demand").desired) == (*sizes, 2)


def _idle(spot: int, demand: int, *, spot_busy: bool = True) -> ClusterBuilder:
    """Empty nodes on demand; those of spot have a pod each unless told."""
    cluster = ClusterBuilder()
    names = cluster.group("spot", nodes=spot)
    cluster.group("demand", nodes=demand)
    cluster.pods("there", spot if spot_busy else 0, cpu="3", on=names if spot_busy else None)
    return cluster


@pytest.mark.parametrize(("spot", "demand", "stay"), [
    (7, 3, 3),  # without one, 2 of 9, and 2.7 are needed
    (6, 3, 3),  # 2 of 8, and 2.4
    (5, 3, 3),  # 2 of 7, and 2.1
    (4, 3, 2),  # 2 of 6, and 1.8; then 1 of 5, and 1.5
    (1, 3, 1),  # 2 of 3, 1 of 2, and then 0 of 1, and 0.3
    (0, 3, 0),  # of no node nothing is needed
    (7, 2, 2),  # less than the share already
])  # fmt: skip
def test_removal_keeps_the_share(spot: int, demand: int, stay: int) -> None:
    plan = plan_of(_idle(spot, demand).world(), _rules())
    assert _sizes(plan) == (spot, stay)
    kept = [line.node for line in plan.nodes if [one.code for one in line.blockers] == ["KeptByShare"]]
    assert len(kept) == stay


def test_the_node_says_why_it_stays() -> None:
    plan = plan_of(_idle(7, 3).world(), _rules())
    (blocker,) = node(plan, "demand-1").blockers
    assert blocker.message == "tier on-demand keeps 30% of all nodes: it has 3 of 10, without this one 2 of 9"


def test_underused_nodes_are_kept_as_well() -> None:
    """One core of four, and room for the pod elsewhere."""
    cluster = _idle(7, 3)
    cluster.pods("small", 1, cpu="1", on="demand-1")
    assert blocker_codes(plan_of(cluster.world(), _rules()), "demand-1") == ["KeptByShare"]


@pytest.mark.parametrize("what", ["unready", "above its maximum"])
def test_what_is_broken_or_too_much_leaves_all_the_same(what: str) -> None:
    """A share keeps no node that serves nobody, and no group above its maximum."""
    cluster = _idle(7, 2)
    if what == "unready":
        cluster.node("demand-3", labels={"pool": "demand"}, ready=False)
        cluster.machine("demand-3", machine_deployment("demand"), node="demand-3")
        cluster.target("demand", 3, template=cluster.world().targets[0].template)
    plan = plan_of(cluster.world(), _rules(most=3 if what == "unready" else 1))
    removed = [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)]
    assert len(removed) == 1
    assert group(plan, "demand").desired == (2 if what == "unready" else 1)


def test_nodes_that_wait_for_their_time_still_count() -> None:
    """All are empty. Those of spot leave in ten minutes, so those on demand may not leave before."""
    groups = (
        node_group("spot", tier="spot", scale_down=ScaleDown(unneeded_time_seconds=600)),
        node_group("demand", tier="on-demand", scale_down=AT_ONCE),
    )
    rules = policy(*groups, tiers=THIRTY, budgets=OPEN)
    plan, memory = decide(_idle(2, 1, spot_busy=False).world(), rules, Memory(), NOW)
    assert (plan.actions, blocker_codes(plan, "demand-1")) == ((), ["KeptByShare"])
    later = plan_of(_idle(2, 1, spot_busy=False).world(), rules, memory, NOW + 600)
    assert _sizes(later) == (0, 0)


def test_only_as_many_wait_for_their_time_as_may_leave() -> None:
    """One of three may: then 2 of 6 are left. The other two are kept, though the first is still there."""
    groups = (node_group("spot", tier="spot"), node_group("demand", tier="on-demand"))
    plan = plan_of(_idle(4, 3).world(), policy(*groups, tiers=THIRTY, budgets=OPEN))
    told = [blocker_codes(plan, f"demand-{number}") for number in (1, 2, 3)]
    assert told == [["NotUnneededLongEnough"], ["KeptByShare"], ["KeptByShare"]]


QUIET = Memory(tiers={"spot": TierState(since_seconds=NOW - DAY)})
RETURNING = (Tier(name="spot", return_after_seconds=1800), Tier(name="on-demand", share_percent=30))


@pytest.mark.parametrize(("spot", "demand", "returns"), [
    (0, 3, 2),  # 1 of 2; three would leave 0 of 1
    (6, 3, 0),  # 2 of 9, and 2.7 are needed
    (5, 4, 1),  # 3 of 9; two would leave 2 of 8, and 2.4 are needed
    (2, 4, 2),  # 2 of 5, and 1.5; three would leave 1 of 4, and 1.2
])  # fmt: skip
def test_a_return_keeps_the_share_of_the_lower_tier(spot: int, demand: int, returns: int) -> None:
    """A new node of spot has 16 cores, and takes five pods."""
    cluster = ClusterBuilder()
    busy = [*cluster.group("spot-a", nodes=spot), *cluster.group("demand", nodes=demand)]
    cluster.group("spot", nodes=0, cpu="16", memory="64Gi")
    cluster.pods("there", len(busy), cpu="3", on=busy)
    plan = plan_of(cluster.world(), _rules(node_group("spot-a", tier="spot", max=spot), tiers=RETURNING), QUIET)
    replaced = [len(one.nodes) for one in of_kind(plan, ActionKind.REPLACE)]
    assert replaced == ([returns] if returns else [])


def _under_way(spot: int, demand: int, pods: int = 0) -> tuple[ClusterBuilder, Memory]:
    """`spot` nodes of spot, the last of which is new and takes the pod of the first node on demand."""
    cluster = ClusterBuilder()
    names = cluster.group("spot", nodes=spot - 1)
    machines = cluster.group("demand", nodes=demand)
    cluster.target("spot", spot, template=cluster.world().targets[0].template)
    new = cluster.node(f"spot-{spot}", labels={"pool": "spot"}, created=NOW - 60)
    cluster.machine(new, machine_deployment("spot"), node=new, created=NOW - 60)
    cluster.pods("there", len(names) + demand, cpu="3", on=[*names, *machines])
    cluster.pods("new", pods, cpu="3")
    begun = Replacement(
        target=str(machine_deployment("spot")), nodes=("demand-1",), to=spot, started_seconds=NOW - 120, saving_micros=0,
        reason=RemovalReason.RETURNED,
    )  # fmt: skip
    return cluster, msgspec.structs.replace(QUIET, replacements=(begun,))


def test_a_return_that_has_begun_goes_on() -> None:
    """It leads to 3 of 10 nodes on demand. Until then there are 4 of 11."""
    cluster, memory = _under_way(spot=7, demand=4)
    plan = plan_of(cluster.world(), _rules(tiers=RETURNING), memory)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("demand-1",)]
    assert (_sizes(plan), codes(group(plan, "demand"))) == ((7, 3), [])


def test_growth_counts_what_a_return_leads_to() -> None:
    """3 of 10, so of 11 nodes the new one is on demand, though 4 of 11 are there now."""
    cluster, memory = _under_way(spot=7, demand=4, pods=2)
    plan = plan_of(cluster.world(), _rules(tiers=RETURNING), memory)
    assert group(plan, "demand").desired - group(plan, "demand").current == 1


def test_a_return_stops_where_the_tier_has_lost_other_nodes() -> None:
    """Somebody deleted a node on demand meanwhile: it would lead to 2 of 9."""
    cluster, memory = _under_way(spot=7, demand=3)
    plan = plan_of(cluster.world(), _rules(tiers=RETURNING), memory)
    assert (plan.actions, blocker_codes(plan, "demand-1")) == ((), ["KeptByShare"])


@pytest.mark.parametrize("why", ["never requested", "never came"])
def test_a_replacement_that_ended_without_its_new_node_leads_to_nothing(why: str) -> None:
    """There are 5 nodes of spot and 3 on demand. Without one on demand they would be 2 of 7, and 2.1 are needed. Had the
    replacement gone on, 2 of 6 would do."""
    cluster = _idle(5, 3)
    if why == "never came":
        cluster.target("dear", 1, template=cluster.world().targets[0].template)
        cluster.machine("dear-1", machine_deployment("dear"), created=NOW - 3600)
    else:
        cluster.group("dear", nodes=0)
    began = Replacement(
        target=str(machine_deployment("dear")), nodes=("spot-1",), to=1, started_seconds=NOW - 3600, saving_micros=0
    )
    rules = _rules(node_group("dear", tier="spot", max=1))
    plan = plan_of(cluster.world(), rules, Memory(replacements=(began,)))
    assert of_kind(plan, ActionKind.REMOVE_NODE) == []
    kept = [line.node for line in plan.nodes if [one.code for one in line.blockers] == ["KeptByShare"]]
    assert kept == ["demand-1", "demand-2", "demand-3"]


@pytest.mark.parametrize(("share", "nodes"), [
    (0, ("demand-1",)),  # by a node of spot, which is the cheapest
    (25, ("demand-1",)),  # 1 of 4
    (30, ("demand-1", "demand-2")),  # not by spot, but by the large one of their own tier: 1 of 3
    (34, ()),
])  # fmt: skip
def test_a_replacement_keeps_the_share_of_its_tier(share: int, nodes: tuple[str, ...]) -> None:
    """Two nodes of spot and two on demand, each with a pod."""
    on = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    cluster = ClusterBuilder()
    busy = [*cluster.group("spot", nodes=2), *cluster.group("demand", nodes=2)]
    cluster.group("big", nodes=0, cpu="8")
    cluster.pods("there", 4, cpu="3", on=busy)
    groups = (
        node_group("spot", tier="spot", scale_down=on, price_per_hour="0.01"),
        node_group("demand", tier="on-demand", scale_down=on, price_per_hour="0.40"),
        node_group("big", tier="on-demand", scale_down=on, price_per_hour="0.50"),
    )
    tiers = (Tier(name="spot"), Tier(name="on-demand", share_percent=share))
    plan = plan_of(cluster.world(), policy(*groups, tiers=tiers, budgets=OPEN))
    assert [one.nodes for one in of_kind(plan, ActionKind.REPLACE)] == ([nodes] if nodes else [])


def test_a_tier_without_groups_is_a_problem() -> None:
    """Nothing can hold its share, and the plan says so."""
    tiers = (Tier(name="spot"), Tier(name="on-demand"), Tier(name="reserved", share_percent=10))
    plan = plan_of(_cluster(1, 1).world(), _rules(tiers=tiers))
    (problem,) = [one for one in plan.problems if one.code == "ShareWithoutGroups"]
    assert problem.object == "tier reserved"
    assert problem.message == "no group is of this tier, so its share of 10% is never reached"


def test_a_preview_tells_that_a_lower_share_loosens_and_what_it_removes() -> None:
    """From 30% to 10%: of 3 empty nodes next to 7 two leave, since 1 of 8 is more than 10%."""
    side = PreviewSide(source="x")
    lower = (Tier(name="spot"), Tier(name="on-demand", share_percent=10))
    sides = (side, _rules()), (side, _rules(tiers=lower))
    told = {one.code: one.message for one in consequences(compare(_idle(7, 3).world(), NOW, *sides, DEFAULT_WORK_BUDGET))}
    assert told[Code.NODES_REMOVED] == "2 more nodes are removed (0 -> 2): demand (2)."
    assert told[Code.LOOSENS] == "This loosens tiers[on-demand].share 30 -> 10."
    higher = consequences(compare(_idle(7, 3).world(), NOW, sides[1], sides[0], DEFAULT_WORK_BUDGET))
    assert Code.LOOSENS not in {one.code for one in higher}
