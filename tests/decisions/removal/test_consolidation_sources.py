"""Which nodes and which groups a replacement may be made of."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Consolidation, NodeGroup, ScaleDown, Template, Toggle
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import of_kind

OPEN = (Budget(nodes=100),)


def _on(saving_percent: int = 15) -> ScaleDown:
    consolidation = Consolidation(mode=Toggle.ENABLED, min_saving_percent=saving_percent)
    return ScaleDown(unneeded_time_seconds=0, consolidation=consolidation)


def _priced(name: str, price: str, saving_percent: int = 15) -> NodeGroup:
    return node_group(name, price_per_hour=price, scale_down=_on(saving_percent))


def _decided(cluster: ClusterBuilder, *groups: NodeGroup, memory: Memory | None = None) -> tuple[Plan, Memory]:
    return decide(cluster.world(), policy(*groups, budgets=OPEN), memory or Memory(), NOW)


def _two_groups() -> ClusterBuilder:
    """One node of 4 cores in each of two groups, with a pod of 3, and a group of 8-core nodes that is empty."""
    cluster = ClusterBuilder()
    for name in ("left", "right"):
        cluster.group(name, nodes=1, cpu="4")
        cluster.pods(f"web-{name}", 1, cpu="3", on=f"{name}-1")
    cluster.group("mega", nodes=0, cpu="8")
    return cluster


def test_of_two_groups_the_higher_threshold_counts() -> None:
    """A quarter is saved: enough where both ask for 25 %, not where one of them asks for 26."""
    for threshold, expected in ((25, 1), (26, 0)):
        plan, _ = _decided(
            _two_groups(), _priced("left", "0.20", 15), _priced("right", "0.20", threshold), _priced("mega", "0.30")
        )
        assert len(of_kind(plan, ActionKind.REPLACE)) == expected


def test_a_group_that_is_backed_off_does_not_stand_in() -> None:
    """Its last machine failed; nothing is proposed, and nothing is remembered as begun."""
    backoff = BackoffState(failures=1, failed_seconds=NOW - 10, until_seconds=NOW + 290)
    groups = (_priced("left", "0.20"), _priced("right", "0.20"), _priced("mega", "0.30"))
    plan, memory = _decided(_two_groups(), *groups, memory=Memory(backoffs={"mega": backoff}))
    assert plan.actions == ()
    assert memory.replacements == ()
    assert [reason.code for line in plan.groups for reason in line.reasons if reason.code == "CouldBeReplaced"] == []


def test_a_node_whose_pods_have_places_needs_no_new_one() -> None:
    """The pod of 2.4 cores fits beside what `spare` runs; the other node alone is cheaper than an 8-core one."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.group("spare", nodes=1, cpu="8")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("movable", 1, cpu="2400m", on="small-1")
    cluster.pods("web", 1, cpu="3", on="small-2")
    cluster.pods("base", 1, cpu="5500m", on="spare-1", traits={"safe_to_evict": "false"})
    plan, memory = _decided(cluster, _priced("small", "0.20"), node_group("spare"), _priced("mega", "0.30"))
    assert [(one.kind, one.nodes) for one in plan.actions] == [(ActionKind.REMOVE_NODE, ("small-1",))]
    assert memory.replacements == ()


def test_a_plan_that_removes_a_node_begins_no_replacement() -> None:
    """One thing at a time: the empty node goes now; the replacement is told of, and is for a later plan."""
    cluster = _two_groups()
    cluster.group("idle", nodes=1, cpu="2")
    groups = (_priced("left", "0.20"), _priced("right", "0.20"), _priced("mega", "0.30"))
    idle = node_group("idle", scale_down=ScaleDown(unneeded_time_seconds=0))
    plan, memory = _decided(cluster, *groups, idle)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("idle-1",)]
    assert of_kind(plan, ActionKind.REPLACE) == []
    assert memory.replacements == ()
    assert memory.replaceable_since == {"left-1": NOW, "right-1": NOW}


THREE = (_priced("left", "0.20"), _priced("right", "0.20"), _priced("mega", "0.30"))


def _told(plan: Plan) -> list[tuple[tuple[str, ...], bool]]:
    """Nodes that could be replaced, and whether their groups ask for it; each replacement once."""
    reasons = {reason.message: reason.data for line in plan.groups for reason in line.reasons if reason.code == "CouldBeReplaced"}
    return [(tuple(data["nodes"]), data["enabled"]) for data in reasons.values()]


def test_a_node_counts_while_one_of_its_pods_has_no_place_elsewhere() -> None:
    """The small pods have room on the other node, the large ones have none."""
    cluster = _two_groups()
    for name in ("left", "right"):
        cluster.pods(f"z-small-{name}", 1, cpu="100m", on=f"{name}-1")
    plan, _ = _decided(cluster, *THREE)
    assert [action.nodes for action in of_kind(plan, ActionKind.REPLACE)] == [("left-1", "right-1")]


@pytest.mark.parametrize("price", [None, "0"])
def test_nodes_that_leave_anyway_or_have_no_price_are_not_replaced(price: str | None) -> None:
    """An empty one whose time runs, one of a group without price or for nothing, one of nobody."""
    cluster = ClusterBuilder()
    cluster.group("left", nodes=2, cpu="4")
    cluster.group("right", nodes=1, cpu="4")
    cluster.group("mega", nodes=0, cpu="12")
    cluster.group("unpriced", nodes=1, cpu="2")
    cluster.node("lonely", cpu="2")
    for name, cpu in (("left-1", "3"), ("right-1", "3"), ("unpriced-1", "1500m"), ("lonely", "1500m")):
        cluster.pods(f"web-{name}", 1, cpu=cpu, on=name, node_selector={} if name == "lonely" else {"kubernetes.io/os": "linux"})
    later = ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED))
    groups = [node_group(name, price_per_hour=price, scale_down=later) for name, price in (("left", "0.20"), ("right", "0.20"))]
    plan, _ = _decided(
        cluster,
        *groups,
        node_group("mega", price_per_hour="0.30", scale_down=later),
        node_group("unpriced", price_per_hour=price),
    )
    assert _told(plan) == [(("left-1", "right-1"), True)]


def test_all_groups_have_to_ask_for_it() -> None:
    """One that does not is told of what could be saved, and keeps its node."""
    for quiet in ("left", "right"):
        groups = [node_group(one.name, price_per_hour="0.20") if one.name == quiet else one for one in THREE]
        plan, memory = _decided(_two_groups(), *groups)
        assert _told(plan) == [(("left-1", "right-1"), False)]
        assert (plan.actions, memory.replaceable_since) == ((), {})


def test_what_saves_nothing_is_no_replacement() -> None:
    """Two nodes of 0.20 for one of 0.40, where any saving would be enough; for a tenth of a cent less it is one."""
    for price, expected in (("0.40", []), ("0.399", [(("left-1", "right-1"), True)])):
        groups = (_priced("left", "0.20", 0), _priced("right", "0.20", 0), _priced("mega", price, 0))
        assert _told(_decided(_two_groups(), *groups)[0]) == expected


def test_a_group_at_its_minimum_gives_no_node() -> None:
    """And one node alone is cheaper than an 8-core one."""
    left = node_group("left", min=1, price_per_hour="0.20", scale_down=_on())
    assert _told(_decided(_two_groups(), left, *THREE[1:])[0]) == []


def test_a_group_that_loses_a_node_gives_no_other() -> None:
    """Its empty node goes in this plan."""
    cluster = ClusterBuilder()
    cluster.group("left", nodes=2, cpu="4")
    cluster.group("right", nodes=1, cpu="4")
    cluster.group("mega", nodes=0, cpu="8")
    for name in ("left-1", "right-1"):
        cluster.pods(f"web-{name}", 1, cpu="3", on=name)
    plan, _ = _decided(cluster, *THREE)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("left-2",)]
    assert _told(plan) == []


def test_a_part_of_a_percent_less_than_asked_for_is_not_enough() -> None:
    """24.875 % are saved."""
    groups = (_priced("left", "0.20", 25), _priced("right", "0.20", 25), _priced("mega", "0.3005", 25))
    assert _told(_decided(_two_groups(), *groups)[0]) == []


def test_the_longest_time_of_the_groups_is_waited_for() -> None:
    """Ten minutes in one of them, none in the other."""
    slow = ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED))
    for name in ("left", "right"):
        groups = [node_group(one.name, price_per_hour="0.20", scale_down=slow) if one.name == name else one for one in THREE]
        rules = policy(*groups, budgets=OPEN)
        _, memory = decide(_two_groups().world(), rules, Memory(), NOW)
        early, _ = decide(_two_groups().world(), rules, memory, NOW + 599)
        due, _ = decide(_two_groups().world(), rules, memory, NOW + 600)
        assert (len(of_kind(early, ActionKind.REPLACE)), len(of_kind(due, ActionKind.REPLACE))) == (0, 1)


def test_a_group_whose_target_is_not_there_does_not_stand_in() -> None:
    """The policy tells what its nodes would be, and what they would cost."""
    cluster = ClusterBuilder()
    for name in ("left", "right"):
        cluster.group(name, nodes=1, cpu="4")
        cluster.pods(f"web-{name}", 1, cpu="3", on=f"{name}-1")
    template = Template(capacity=(("cpu", 8_000), ("memory", 64 << 30), ("pods", 110)))
    gone = node_group("mega", price_per_hour="0.30", scale_down=_on(), template=template)
    assert _told(_decided(cluster, *THREE[:2], gone)[0]) == []
    cluster.target("mega", 0)
    assert len(_told(_decided(cluster, *THREE[:2], gone)[0])) == 1


@pytest.mark.parametrize("how", [{"ready": False}, {"taints": ("ToBeDeletedByClusterAutoscaler=1:NoSchedule",)}])
def test_nodes_that_are_unready_or_leave_are_not_replaced(how: dict[str, object]) -> None:
    """They are mended or gone soon; a group that loses one gives no other."""
    cluster = _two_groups()
    cluster.node("left-1", labels={"pool": "left"}, **how)
    assert _told(_decided(cluster, *THREE)[0]) == []
    if "taints" in how:
        cluster = ClusterBuilder()
        cluster.group("left", nodes=2, cpu="4")
        cluster.node("left-2", labels={"pool": "left"}, **how)
        cluster.group("right", nodes=1, cpu="4")
        cluster.group("mega", nodes=0, cpu="8")
        for name in ("left-1", "right-1"):
            cluster.pods(f"web-{name}", 1, cpu="3", on=name)
        assert _told(_decided(cluster, *THREE)[0]) == []
