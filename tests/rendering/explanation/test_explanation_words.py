"""What `explain` says of a pod, a node and a group in words: every finding has its line."""

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget, Limit
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.answer import explained_lines
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _said(what: str, name: str, unneeded_seconds: int = 60) -> list[str]:
    """Three nodes: `bare` without a controller on the first, the second idle for that long, the third full. `giant` fits
    nowhere, `lost` runs on a node of which nothing is known."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.pods("bare", 1, cpu="1", on="general-1", owner=None)
    cluster.pods("web", 1, cpu="500m", on="general-1")
    cluster.pods("full", 1, cpu="4", on="general-3")
    cluster.pods("giant", 1, cpu="64", node_selector={"disk": "ssd"})
    cluster.pods("lost", 1, on="elsewhere")
    rules = policy(node_group("general", max=5), budgets=(Budget(nodes=5),), limits=(Limit(name="few", max=(("nodes", 4),)),))
    world = cluster.world()
    plan, memory = decide(world, rules, Memory(unneeded_since={"general-2": NOW - unneeded_seconds}), NOW)
    return explained_lines(Case.of(world, rules, plan, NOW, memory), what, name, 0)


def test_a_pending_pod_is_told_every_reason() -> None:
    """What keeps it waiting, by code, for the nodes and for the group, whose word is told once."""
    said = "\n".join(_said("pod", "shop/giant-1"))
    assert "[NoGroupFits]" in said
    assert said.count("- general: ") == 1
    assert "wants disk=ssd, but the node has no disk [NodeAffinity]" in said


def test_nodes_are_counted_once_with_every_plugin_that_rejects_the_pod() -> None:
    """Too large for all three, and none has the label."""
    said = _said("pod", "shop/giant-1")
    told = "- 3 nodes: other labels than the pod wants and too little free capacity [NodeAffinity, NodeResourcesFit]"
    assert [line.strip() for line in said if "3 nodes: " in line] == [told]


def test_a_pod_on_a_node_out_of_view_says_so() -> None:
    """Its name is all that is known of that node."""
    assert "it is bound to node elsewhere, which the snapshot does not hold" in _said("pod", "shop/lost-1")


def test_a_running_pod_is_told_its_own_blockers_only() -> None:
    """The pod beside it keeps the node, it does not."""
    assert "nothing about it keeps the node" in _said("pod", "shop/web-1")
    assert any("Unreplicated" in line for line in _said("pod", "shop/bare-1"))


def test_a_node_is_told_what_keeps_it_and_which_pod_that_is() -> None:
    """One reason, with the pod and its code."""
    said = _said("node", "general-1")
    assert "it stays, for 1 reason:" in said
    assert any("pod shop/bare-1: " in line and line.endswith("[Unreplicated]") for line in said)
    assert any("the larger counts" in line for line in said)


def test_a_node_that_waits_is_told_since_when_and_until_when() -> None:
    """Unneeded for a minute, ten are asked for. NOW is 2027-01-15 08:00 UTC."""
    said = _said("node", "general-2")
    assert "it may go, but not now, for 1 reason:" in said
    assert "unneeded since 2027-01-15T07:59:00Z" in said
    assert any(line.startswith("may go at 2027-01-15T08:09:00Z, 10m after it was first unneeded") for line in said)


def test_a_node_that_leaves_is_told_so() -> None:
    """The action of this plan and its reason."""
    said = _said("node", "general-2", unneeded_seconds=600)
    assert any(line.startswith("this plan: ") for line in said)
    assert any(line.endswith("[Empty]") for line in said)


def test_a_group_is_told_its_owner_limits_pods_and_nodes() -> None:
    """Evidence of ownership, the limit with its figures, the pod that it cannot run, and the nodes that could go."""
    said = _said("group", "general")
    assert any("owns spec.replicas" in line for line in said)
    assert any("few: 3 of 4 nodes in use or requested. One more node adds 1" in line for line in said)
    assert any("giant" in line and "(1 pod)" in line for line in said)
    assert "Nodes: 3, of which 2 could go if nothing kept them" in said


def test_a_pod_that_waits_is_told_by_when_a_node_comes() -> None:
    """One group would run it: 15 m for its turn, a minute for the iteration, 30 m for a back-off. No group, no bound."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 1, cpu="1")
    world, rules = cluster.world(), policy(node_group("general"))
    plan, memory = decide(world, rules, Memory(), NOW)
    said = explained_lines(Case.of(world, rules, plan, NOW, memory), "pod", "shop/web-1", 0)
    assert (
        "if one of them has capacity, its node comes within 46m: "
        "1 group may have one turn each (15m), and a back-off lasts 30m at most"
    ) in said
    assert not [line for line in _said("pod", "shop/giant-1") if "if one of them" in line]
