"""Which nodes are replaced, by a node of which group, and how long a replacement is waited for."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.removal.replacements.opportunity import Opportunity
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Consolidation, Hold, NodeGroup, PolicySet, RemovalReason, ScaleDown, Toggle
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

ON = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
OPEN = (Budget(nodes=100),)
MEGA = machine_deployment("mega")


def _group(name: str, price: str | None, **fields: object) -> NodeGroup:
    return node_group(name, price_per_hour=price or "", scale_down=ON, **fields)


def _rules(*groups: NodeGroup, **fields: object) -> PolicySet:
    return policy(*groups, **{"budgets": OPEN, **fields})


def _replaced(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(action.group, action.nodes) for action in of_kind(plan, ActionKind.REPLACE)]


@pytest.mark.parametrize(
    ("cpus", "memories", "counts", "replaced"),
    [
        (("3", "2900m", "2800m"), ("0", "0", "0"), (1, 1, 1), ("small-2", "small-3")),
        (("2800m", "2900m", "3"), ("0", "0", "0"), (1, 1, 1), ("small-1", "small-2")),
        (("2900m", "2900m", "2900m"), ("3Gi", "2Gi", "1Gi"), (1, 1, 1), ("small-2", "small-3")),
        # 2.9 cores are worth 0.0917, and 2.7 with 2 GiB 0.0938: less cpu is not less.
        (("2700m", "2900m", "2900m"), ("2Gi", "0", "0"), (1, 1, 1), ("small-2", "small-3")),
        (("2900m", "2900m", "2900m"), ("0", "0", "0"), (1, 1, 1), ("small-1", "small-2")),
        (("1450m", "2800m", "2700m"), ("0", "0", "0"), (2, 1, 1), ("small-2", "small-3")),
        (("1450m", "2900m", "2900m"), ("2Gi", "3Gi", "3Gi"), (2, 1, 1), ("small-2", "small-3")),
    ],
)
def test_nodes_whose_pods_are_worth_least_go_first(
    cpus: tuple[str, ...], memories: tuple[str, ...], counts: tuple[int, ...], replaced: tuple[str, ...]
) -> None:
    """Three nodes of 4 cores with so many pods each, and room for those of two of them on one of 6: by cpu and memory at the
    prices of a core and a GiB, then by name."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=3, cpu="4")
    cluster.group("mega", nodes=0, cpu="6")
    for name, cpu, memory, count in zip(names, cpus, memories, counts, strict=True):
        cluster.pods(f"web-{name}", count, cpu=cpu, memory=memory, on=name)
    assert _replaced(plan_of(cluster.world(), _rules(_group("small", "0.20"), _group("mega", "0.30")))) == [("mega", replaced)]


def test_of_nodes_with_equal_pods_the_dearer_go_first() -> None:
    """One of 0.20 and two of 0.40 an hour."""
    cluster = ClusterBuilder()
    for name, nodes in (("a-cheap", 1), ("dear", 2)):
        for one in cluster.group(name, nodes=nodes, cpu="4"):
            cluster.pods(f"web-{one}", 1, cpu="3", on=one)
    cluster.group("mega", nodes=0, cpu="6")
    rules = _rules(_group("a-cheap", "0.20", max=1), _group("dear", "0.40"), _group("mega", "0.50"))
    assert _replaced(plan_of(cluster.world(), rules)) == [("mega", ("dear-1", "dear-2"))]


@pytest.mark.parametrize(
    ("prices", "chosen"),
    [
        ({"alpha": "0.30", "beta": "0.25"}, "beta"),
        ({"alpha": "0.25", "beta": "0.30"}, "alpha"),
        ({"alpha": "0.30", "beta": "0.30"}, "alpha"),
        ({"alpha": "0.30", "beta": None}, "alpha"),
        ({"alpha": None, "beta": None}, ""),
    ],
)
def test_the_group_that_saves_most_stands_in(prices: dict[str, str | None], chosen: str) -> None:
    """Of equal savings the first by name; a group without a price never."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="3", on=list(names))
    for name in prices:
        cluster.group(name, nodes=0, cpu="8")
    rules = _rules(_group("small", "0.20"), *(_group(name, price) for name, price in prices.items()))
    assert _replaced(plan_of(cluster.world(), rules)) == ([(chosen, names)] if chosen else [])


@pytest.mark.parametrize(("least", "replaced"), [(1, [("small", ("small-1", "small-2"))]), (2, [])])
def test_a_group_may_stand_in_for_its_own_nodes(least: int, replaced: list[tuple[str, tuple[str, ...]]]) -> None:
    """Two cordoned nodes with a pod of 1 core each: one new node takes both, and the group is at 2 + 1 - 2 then; where two is
    the least, one for one saves nothing."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="4")
    for name in names:
        cluster.node(name, "4", labels={"pool": "small"}, cordoned=True)
    cluster.pods("web", 2, cpu="1", on=list(names))
    rules = _rules(_group("small", "0.20", min=least))
    assert _replaced(plan_of(cluster.world(), rules)) == replaced


def test_shares_are_rounded_down() -> None:
    """99.5 % is told as 99."""
    found = Opportunity(adds=((0, 1),), nodes=(0,), saving_micros=995, price_micros=1000, enabled=True, wait_seconds=0, pods=1)
    assert found.saving_percent == 99


def _smalls(cluster: ClusterBuilder | None = None) -> ClusterBuilder:
    """Two nodes of 4 cores with a pod of 3 each."""
    cluster = cluster or ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="3", on=["small-1", "small-2"])
    return cluster


PRICED = _rules(_group("small", "0.20"), _group("mega", "0.30"))


def test_a_group_that_waits_for_nodes_does_not_stand_in() -> None:
    """A machine of it is on its way, or its node has just joined: those are seen first."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8", replicas=1)
    assert codes(group(plan_of(cluster.world(), PRICED), "small")) == []
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    cluster.node("mega-1", "8", labels={"pool": "mega"}, ready=False, created=NOW - 60)
    assert codes(group(plan_of(cluster.world(), PRICED), "small")) == []


def test_a_group_that_grows_does_not_stand_in() -> None:
    """For a pod that only it runs."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("new", 1, cpu="1", node_selector={"pool": "mega"})
    plan = plan_of(cluster.world(), PRICED)
    assert group(plan, "mega").desired == 1
    assert codes(group(plan, "small")) == []


def test_a_group_that_takes_a_request_back_does_not_stand_in() -> None:
    """Its machine failed some time ago, and the back-off for it is over."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8", replicas=1)
    cluster.machine("mega-a", MEGA, failed="quota")
    memory = Memory(failed_machines=(f"{MEGA}/mega-a",))
    plan = plan_of(cluster.world(), PRICED, memory)
    assert [action.kind for action in plan.actions] == [ActionKind.CANCEL]
    assert codes(group(plan, "small")) == []


def test_without_a_group_that_may_grow_nothing_is_left_out() -> None:
    """Sixty-six nodes and nobody to stand in: there was nothing to compare them with."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=66, cpu="4")
    cluster.pods("web", 66, cpu="3", on=list(names))
    plan = plan_of(cluster.world(), _rules(_group("small", "0.20", max=66)))
    assert codes(group(plan, "small")) == []


def _begun(seconds_ago: int, to: int = 1, nodes: tuple[str, ...] = ("small-1", "small-2")) -> Memory:
    one = Replacement(target=str(MEGA), nodes=nodes, to=to, started_seconds=NOW - seconds_ago, saving_micros=100_000)
    return Memory(replacements=(one,))


def _under_way(cluster: ClusterBuilder, memory: Memory, rules: PolicySet = PRICED) -> bool:
    return decide(cluster.world(), rules, memory, NOW)[1].replacements == memory.replacements


@pytest.mark.parametrize(("seconds", "waits"), [(900, True), (901, False)])
def test_a_machine_is_waited_for_as_long_as_any(seconds: int, waits: bool) -> None:
    """Fifteen minutes; its age is not told, so that it counts as asked for just now."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8", replicas=1)
    assert _under_way(cluster, _begun(seconds)) is waits


@pytest.mark.parametrize(("seconds", "waits"), [(1800, True), (1801, False)])
def test_a_node_that_joined_has_its_time_to_start(seconds: int, waits: bool) -> None:
    """Fifteen minutes more."""
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    cluster.node("mega-1", "8", labels={"pool": "mega"}, ready=False, created=NOW - 60)
    assert _under_way(cluster, _begun(seconds)) is waits


@pytest.mark.parametrize(("created", "came"), [(120, True), (121, False)])
def test_the_node_that_came_is_one_made_since_then(created: int, came: bool) -> None:
    """An older node of the group is not it; the target has not grown to two for it either."""
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - created)
    plan, memory = decide(cluster.world(), PRICED, _begun(120, to=2), NOW)
    assert bool(memory.replacements) is came
    assert (blocker_codes(plan, "mega-1") == ["Replaces"]) is came


def test_what_ends_a_replacement() -> None:
    """A hold on the group that grew, the end of that group, the end of all nodes that were to go."""
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    held = _rules(_group("small", "0.20"), _group("mega", "0.30", hold=Hold(reason="repair")))
    assert not _under_way(cluster, _begun(120), held)
    assert not _under_way(cluster, _begun(120), _rules(_group("small", "0.20")))
    assert not _under_way(cluster, _begun(120, nodes=("small-8", "small-9")))
    assert _under_way(cluster, _begun(120, nodes=("small-2", "small-9")))


@pytest.mark.parametrize(("seconds", "keeps"), [(3600, True), (3601, False)])
def test_nodes_that_cannot_be_drained_are_waited_for_an_hour(seconds: int, keeps: bool) -> None:
    """Both have a pod that must not be evicted; the new node is there."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="3", on=list(names), traits={"safe_to_evict": "false"})
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    assert _under_way(cluster, _begun(seconds)) is keeps


def test_nodes_that_only_a_budget_keeps_are_waited_for() -> None:
    """Whatever the time: they will go. So will one that is leaving."""
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    closed = (Budget(nodes=0, reasons=(RemovalReason.CONSOLIDATED,)),)
    assert _under_way(cluster, _begun(9000), msgspec.structs.replace(PRICED, policy=policy(budgets=closed).policy))
    leaving = ClusterBuilder()
    names = leaving.group("small", nodes=2, cpu="4")
    leaving.pods("web", 2, cpu="3", on=list(names), traits={"safe_to_evict": "false"})
    leaving.group("mega", nodes=1, cpu="8", created=NOW - 60)
    memory = msgspec.structs.replace(_begun(9000), leaving={"small-1": NOW - 60})
    assert _under_way(leaving, memory)


def test_without_a_pace_no_replacement_begins() -> None:
    """No node may be removed by this plan, so that none is bought for it."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8")
    for percent, begun in ((0, 0), (1, 1)):
        rules = _rules(_group("small", "0.20"), _group("mega", "0.30"), pace=Pace(max_removed_percent=percent))
        assert len(_replaced(plan_of(cluster.world(), rules))) == begun


def test_nodes_of_a_replacement_under_way_are_not_free_to_go() -> None:
    """Neither those that wait for the new node, nor the new one."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8", replicas=1)
    waiting = plan_of(cluster.world(), PRICED, _begun(60))
    assert [(line.node, line.removable, line.blockers[0].message) for line in waiting.nodes] == [
        (name, False, f"it is replaced as soon as a new node of {MEGA} is ready") for name in ("small-1", "small-2")
    ]
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    came = plan_of(cluster.world(), PRICED, _begun(120))
    assert [(line.node, line.removable) for line in came.nodes] == [("mega-1", False), ("small-1", True), ("small-2", True)]
    assert node(came, "mega-1").blockers[0].message == "it replaces small-1, small-2"


def test_what_keeps_a_node_keeps_it_in_a_replacement_under_way() -> None:
    """A pod that must not be evicted; that the node is much used does not matter any more."""
    cluster = ClusterBuilder()
    names = cluster.group("small", nodes=2, cpu="4")
    cluster.pods("kept", 1, cpu="3", on=names[0], traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu="3", on=names[1])
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    plan = plan_of(cluster.world(), PRICED, _begun(120))
    assert (blocker_codes(plan, "small-1"), node(plan, "small-1").removable) == (["NotSafeToEvict"], False)
    assert [action.nodes for action in plan.actions] == [("small-2",)]


def test_the_one_that_saves_most_begins() -> None:
    """Of two that are due: 0.80 for 0.30 before 0.40 for 0.30."""
    cluster = _smalls()
    cluster.group("dear", nodes=2, cpu="4")
    cluster.pods("costly", 2, cpu="3", on=["dear-1", "dear-2"])
    for name in ("mega", "mega-2"):
        cluster.group(name, nodes=0, cpu="8")
    rules = _rules(_group("small", "0.20"), _group("dear", "0.40"), _group("mega", "0.30"), _group("mega-2", "0.30"))
    plan, memory = decide(cluster.world(), rules, Memory(), NOW)
    assert _replaced(plan) == [("mega", ("dear-1", "dear-2"))]
    assert [one.nodes for one in memory.replacements] == [("dear-1", "dear-2")]
    assert memory.replaceable_since == {"small-1": NOW, "small-2": NOW}


def test_none_begins_beside_another_or_beside_growth() -> None:
    """One under way stays what is remembered; a plan that buys nodes for pods begins none, also where it may remove some."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8")
    cluster.group("old", nodes=1, cpu="4")
    cluster.pods("kept", 1, cpu="3900m", on="old-1")
    cluster.group("new", nodes=0, cpu="4", replicas=1)
    rules = _rules(_group("small", "0.20"), _group("mega", "0.30"), _group("old", None), _group("new", None))
    target = str(machine_deployment("new"))
    begun = Replacement(target=target, nodes=("old-1",), to=1, started_seconds=NOW - 60, saving_micros=1)
    plan, memory = decide(cluster.world(), rules, Memory(replacements=(begun,)), NOW)
    assert (_replaced(plan), memory.replacements) == ([], (begun,))
    assert "CouldBeReplaced" in codes(group(plan, "small"))
    for pods, expected in ((0, 1), (1, 0)):
        cluster = _smalls()
        cluster.group("mega", nodes=0, cpu="8")
        cluster.group("fresh", nodes=0, cpu="4", labels={"disk": "fast"})
        cluster.pods("waits", pods, cpu="3500m", node_selector={"disk": "fast"})
        now = Pace(delay_after_add_seconds=0)
        rules = _rules(_group("small", "0.20"), _group("mega", "0.30"), _group("fresh", "9.00"), pace=now)
        plan, memory = decide(cluster.world(), rules, Memory(), NOW)
        assert (len(_replaced(plan)), len(memory.replacements)) == (expected, expected)


def test_pods_of_a_replacement_go_to_its_node_alone() -> None:
    """The new node is full; another one has room, which may be somebody's tomorrow."""
    cluster = _smalls()
    cluster.group("spare", nodes=1, cpu="64")
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    cluster.pods("came", 1, cpu="7", on="mega-1")
    rules = _rules(_group("small", "0.20"), _group("mega", "0.30"), node_group("spare"))
    plan = plan_of(cluster.world(), rules, _begun(120))
    assert [blocker_codes(plan, name) for name in ("small-1", "small-2")] == [["NoPlaceToMove"]] * 2


def test_what_a_replacement_added_itself_does_not_put_off_its_drains() -> None:
    """Its node was added a minute ago, and the delay after additions is ten."""
    cluster = _smalls()
    cluster.group("mega", nodes=1, cpu="8", created=NOW - 60)
    memory = msgspec.structs.replace(_begun(120), last_added_seconds=NOW - 60)
    plan = plan_of(cluster.world(), PRICED, memory)
    assert sorted(action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)) == [("small-1",), ("small-2",)]


def test_what_stands_in_is_bought_for_the_demand() -> None:
    """The group that grows is remembered with the pods, so that its node is not drained again for them."""
    cluster = _smalls()
    cluster.group("mega", nodes=0, cpu="8")
    plan, memory = decide(cluster.world(), PRICED, Memory(), NOW)
    assert _replaced(plan) == [("mega", ("small-1", "small-2"))]
    assert memory.purchase is not None
    assert (memory.purchase.since, sum(memory.purchase.pods.values())) == ({str(MEGA): NOW}, 2)
    alone = ClusterBuilder()
    alone.group("small", nodes=1, cpu="4")
    alone.pods("web", 1, cpu="3", on="small-1")
    assert decide(alone.world(), PRICED, Memory(), NOW)[1].purchase is None
