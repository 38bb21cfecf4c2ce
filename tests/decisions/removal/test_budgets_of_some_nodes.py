"""Budgets that cover only some nodes, by labels of the node or of its group, and budgets of zones."""

import random
import secrets

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import of_kind, plan_of

ZONE = "topology.kubernetes.io/zone"
LEAVING = "ToBeDeletedByClusterAutoscaler=1:NoSchedule"
ANY = Budget(nodes=1000)


def _selector(key: str, value: str) -> Selector:
    return Selector(match_labels=((key, value),))


def _plan(
    zones: dict[str, str], *budgets: Budget, leaving: frozenset[str] = frozenset()
) -> tuple[dict[str, str], dict[str, str]]:
    """The zones of the nodes that leave now, and the code that keeps each other one.

    `zones` has a letter per node of a group, its zone (`-`: no label). All nodes are empty. `leaving` leave already.
    """
    cluster, zone_of = ClusterBuilder(), {}
    for name, letters in zones.items():
        ref = cluster.target(name, len(letters))
        for number, zone in enumerate(letters):
            labels = {} if zone == "-" else {ZONE: zone}
            node = f"{name}-{number}"
            cluster.node(node, "4", "16Gi", labels=labels, taints=(LEAVING,) if node in leaving else ())
            cluster.machine(node, ref, node=node)
            zone_of[node] = zone
    groups = [node_group(name, max=1000, labels=(("team", name),)) for name in zones]
    memory = Memory(unneeded_since=dict.fromkeys(zone_of, NOW - 7200))
    plan = plan_of(cluster.world(), policy(*groups, budgets=budgets), memory)
    gone = {node for action in of_kind(plan, ActionKind.REMOVE_NODE) for node in action.nodes}
    kept = {line.node: line.blockers[0].code for line in plan.nodes if line.blockers and line.node not in gone | leaving}
    return {node: zone_of[node] for node in sorted(gone)}, kept


def test_a_budget_of_one_group() -> None:
    """One node of team a at a time; those of team b are free to go."""
    gone, kept = _plan({"a": "xxx", "b": "xxx"}, ANY, Budget(nodes=1, groups=_selector("team", "a")))
    assert sorted(node[0] for node in gone) == ["a", "b", "b", "b"]
    assert set(kept.values()) == {"Budget"}


def test_a_percentage_is_of_the_nodes_that_the_budget_covers() -> None:
    """A quarter of the 4 nodes in zone x is 1; of all 8 it would be 2."""
    gone, _ = _plan({"a": "xxxxyyyy"}, ANY, Budget(percent=25, node_selector=_selector(ZONE, "x")))
    assert sorted(gone.values()) == ["x", "y", "y", "y", "y"]


def test_a_budget_of_zero_keeps_only_the_nodes_that_it_selects() -> None:
    """Zone x is closed. The reason is the budget, and the other zone is not affected by it."""
    gone, kept = _plan({"a": "xxyy"}, ANY, Budget(nodes=0, node_selector=_selector(ZONE, "x")))
    assert sorted(gone.values()) == ["y", "y"]
    assert set(kept.values()) == {"Budget"}


def test_both_selectors_have_to_match() -> None:
    budget = Budget(nodes=0, groups=_selector("team", "a"), node_selector=_selector(ZONE, "x"))
    gone, kept = _plan({"a": "xy", "b": "xy"}, ANY, budget)
    assert (sorted(gone), sorted(kept)) == (["a-1", "b-0", "b-1"], ["a-0"])


@pytest.mark.parametrize(
    ("zones", "most", "leaving", "gone"),
    [
        ("xxyy", 1, frozenset(), "xx"),
        ("xxyyz", 2, frozenset(), "xxyy"),
        ("xxyy", 1, frozenset({"a-2"}), "y"),  # zone y is disrupted already
        ("xyz", 1, frozenset({"a-0", "a-1"}), ""),  # two zones are, although one may be
        ("--x", 1, frozenset(), "--"),  # without the label, it is one more zone
    ],
)
def test_a_budget_of_zones(zones: str, most: int, leaving: frozenset[str], gone: str) -> None:
    found, kept = _plan({"a": zones}, Budget(nodes=1000, zones=most), leaving=leaving)
    assert "".join(sorted(found.values())) == gone
    assert set(kept.values()) == ({"ZoneBudget"} if len(found) + len(leaving) < len(zones) else set())


def test_the_reason_names_the_disrupted_zones() -> None:
    cluster = ClusterBuilder()
    ref = cluster.target("a", 2)
    for number, zone in enumerate("xy"):
        node = cluster.node(f"a-{number}", "4", "16Gi", labels={ZONE: zone})
        cluster.machine(node, ref, node=node)
    memory = Memory(unneeded_since=dict.fromkeys(("a-0", "a-1"), NOW - 7200))
    plan = plan_of(cluster.world(), policy(node_group("a"), budgets=(Budget(nodes=9, zones=1),)), memory)
    (blocker,) = next(line.blockers for line in plan.nodes if line.blockers)
    assert blocker.message == "a budget allows nodes of 1 zone to leave at a time, and nodes of x leave"


@pytest.mark.parametrize("_", range(300))
def test_no_two_zones_are_disrupted_at_once(_: int) -> None:
    """Random clusters whose nodes leave at random speeds. What is disrupted is counted here, from the nodes that leave."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    groups = {name: [draw.choice("xyz") for _ in range(draw.randint(1, 8))] for name in "ab"[: draw.randint(1, 2)]}
    nodes = {f"{name}-{number}": zone for name, zones in groups.items() for number, zone in enumerate(zones)}
    budgets = (Budget(nodes=draw.randint(1, 9), zones=1), *((ANY,) if draw.random() < 0.5 else ()))
    leaving: set[str] = set()
    for _turn in range(40):
        cluster = ClusterBuilder()
        for name in groups:
            alive = [node for node in nodes if node.startswith(name)]
            ref = cluster.target(name, sum(node not in leaving for node in alive))
            for node in alive:
                taints = (LEAVING,) if node in leaving else ()
                cluster.node(node, "4", "16Gi", labels={ZONE: nodes[node]}, taints=taints)
                cluster.machine(node, ref, node=node)
        memory = Memory(unneeded_since=dict.fromkeys(nodes, NOW - 7200))
        plan = plan_of(cluster.world(), policy(*(node_group(name) for name in groups), budgets=budgets), memory)
        leaving |= {node for action in of_kind(plan, ActionKind.REMOVE_NODE) for node in action.nodes}
        assert len({nodes[node] for node in leaving}) <= 1, (seed, leaving)
        if not nodes:
            return
        for node in [node for node in sorted(leaving) if draw.random() < 0.6]:
            leaving.discard(node)
            del nodes[node]
    assert not nodes, (seed, "every node leaves in the end")
