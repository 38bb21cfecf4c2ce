"""Of equal nodes, the one in the fullest zone leaves, and groups that balance shrink evenly."""

from collections import Counter

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, NodeGroup
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import of_kind, plan_of

ZONE = "topology.kubernetes.io/zone"


def _left(
    groups: dict[str, str], *rules: NodeGroup, used: frozenset[str] = frozenset(), budgets: tuple[Budget, ...] = ()
) -> dict[str, str]:
    """The zones of the nodes that are left, by group. `groups` has a letter per node, its zone; nodes in `used` have a pod."""
    cluster = ClusterBuilder()
    places: dict[str, tuple[str, str]] = {}
    for name, zones in groups.items():
        ref = cluster.target(name, len(zones))
        for number, zone in enumerate(zones):
            node = cluster.node(f"{name}-{number}", "4", "16Gi", labels={ZONE: zone})
            cluster.machine(node, ref, node=node)
            places[node] = name, zone
            if node in used:
                cluster.pods(f"kept-{node}", cpu="3500m", on=node)
    memory = Memory(unneeded_since=dict.fromkeys(places, NOW - 7200))
    plan = plan_of(cluster.world(), policy(*rules, budgets=budgets), memory)
    gone = {node for action in of_kind(plan, ActionKind.REMOVE_NODE) for node in action.nodes}
    left = Counter(place for node, place in places.items() if node not in gone)
    return {name: "".join(zone * count for (of, zone), count in sorted(left.items()) if of == name) for name in groups}


@pytest.mark.parametrize(
    ("zones", "least", "left"),
    [
        ("aaabbbccc", 3, "abc"),
        ("aaaabc", 3, "abc"),
        ("bcaaaa", 4, "aabc"),
        ("cbbbba", 4, "abbc"),
        ("baba", 3, "aab"),
    ],
)
def test_the_fullest_zone_gives_its_node(zones: str, least: int, left: str) -> None:
    """By name alone, the first nodes would leave, whatever their zones. Between full zones, names decide."""
    found = _left({"g": zones}, node_group("g", min=least, max=30))["g"]
    assert (found, len(found)) == (left, least)


def test_nodes_in_use_count_in_their_zone() -> None:
    """Two of zone a are in use: its third one leaves before the two of zone b."""
    assert _left({"g": "bbaaa"}, node_group("g", min=4, max=30), used=frozenset({"g-2", "g-3"})) == {"g": "aabb"}


@pytest.mark.parametrize(
    ("balance", "left"), [("pool", {"x": "aa", "y": "aa"}), ("Off", {"x": "", "y": "aaaa"}), ("Auto", {"x": "aa", "y": "aa"})]
)
def test_groups_that_balance_shrink_evenly(balance: str, left: dict[str, str]) -> None:
    """Four of two and six may leave at once. Groups that balance keep two each; of others, the first names leave."""
    rules = [node_group(name, max=30, balance_with=balance) for name in ("x", "y")]
    budget = Budget(nodes=4)
    assert _left({"x": "aa", "y": "aaaaaa"}, *rules, budgets=(budget,)) == left
