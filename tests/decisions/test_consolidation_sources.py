"""Which nodes and which groups a replacement may be made of."""

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Consolidation, NodeGroup, ScaleDown, Toggle
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
    assert plan.actions == ()
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
    assert len(memory.replaceable_since) == 1
