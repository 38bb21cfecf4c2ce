"""What discovered groups are called, what an explicit group takes away from discovery, and nodes that two groups claim."""

import msgspec

from reconciler.decisions.groups.effective_groups import effective_groups, platform_chooses
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Discovery, ScaleDown, Tier, TierMatch, WithoutMachines
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import node, plan_of

ALL = (Discovery(name="capi", provider="clusterAPI"),)


def _cluster(*targets: tuple[str, str]) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for namespace, name in targets:
        cluster.target(name, 1, namespace=namespace, min_size=0, max_size=5, labels={"of": name})
    return cluster


def test_a_discovered_group_is_named_after_its_target() -> None:
    """With the namespace in front where two have the same name, or a document has it."""
    world = _cluster(("prod", "general"), ("stage", "general"), ("prod", "other"), ("prod", "third")).world()
    found = effective_groups(world, policy(discovery=ALL), NOW)
    assert [group.name for group in found] == ["other", "prod/general", "stage/general", "third"]
    assert dict(found[0].labels) == {"of": "other"}
    named = policy(node_group("other", namespace="x"), discovery=ALL)
    assert [(group.name, group.target.namespace) for group in effective_groups(world, named, NOW)] == [
        ("other", "x"), ("prod/general", "prod"), ("prod/other", "prod"), ("stage/general", "stage"), ("third", "prod"),
    ]  # fmt: skip


def test_an_explicit_group_wins_over_discovery() -> None:
    """Of the same target there is one group, with the document's name and labels."""
    world = _cluster(("prod", "general")).world()
    document = msgspec.structs.replace(node_group("general", labels=(("own", "1"),)), name="mine")
    (found,) = effective_groups(world, policy(document, discovery=ALL), NOW)
    assert (found.name, found.target, dict(found.labels)) == ("mine", machine_deployment("general"), {"own": "1"})


def test_groups_come_by_tier_then_name() -> None:
    """A tier of a discovery item counts as one that is named."""
    world = _cluster(("prod", "a"), ("prod", "b"), ("prod", "c")).world()
    tiers = (Tier(name="first", match=TierMatch(names=("^c",))), Tier(name="second"))
    found = effective_groups(world, policy(discovery=ALL, tiers=tiers), NOW)
    assert [(group.name, group.tier_rank) for group in found] == [("c", 0), ("a", 2), ("b", 2)]
    item = (msgspec.structs.replace(ALL[0], tier="second"),)
    found = effective_groups(world, policy(node_group("b", tier="first"), discovery=item, tiers=tiers), NOW)
    assert [(group.name, group.tier) for group in found] == [("b", "first"), ("a", "second"), ("c", "second")]


def test_nodes_that_two_groups_claim() -> None:
    """One has it by its machine, the other by labels: the machine tells, and the plan says so. By the host name, too."""
    cluster = ClusterBuilder()
    cluster.group("one", nodes=2)
    cluster.target("two", 0)
    cluster.node("free")
    by_name = Selector(match_labels=(("kubernetes.io/hostname", "free"),))
    by_pool = Selector(match_labels=(("pool", "one"),))
    plan = plan_of(cluster.world(), policy(node_group("one"), node_group("two", nodes=by_pool)))
    assert [problem.object for problem in plan.problems if problem.code == "NodeClaimedTwice"] == ["Node one-1", "Node one-2"]
    assert plan.problems[0].message == "MachineDeployment prod/two and MachineDeployment prod/one both claim it"
    assert [node(plan, name).group for name in ("one-1", "free")] == ["one", None]
    plan = plan_of(cluster.world(), policy(node_group("one", nodes=by_pool), node_group("two", nodes=by_name)))
    assert [problem.code for problem in plan.problems] == []
    assert [node(plan, name).group for name in ("one-1", "free")] == ["one", "two"]


def test_machines_find_their_nodes_by_provider_id_where_they_name_none() -> None:
    """And a machine of no target has a node of nobody."""
    cluster = ClusterBuilder()
    cluster.group("one", nodes=2)
    world = cluster.world()
    first, second = world.machines
    machines = (msgspec.structs.replace(first, node=""), msgspec.structs.replace(second, target=None))
    plan = plan_of(msgspec.structs.replace(world, machines=machines), policy(node_group("one")))
    assert [node(plan, name).group for name in ("one-1", "one-2")] == ["one", None]
    assert node(plan, "one-2").state is NodeState.UNMANAGED


def test_whether_a_target_may_lose_nodes_that_nobody_chose() -> None:
    """By its own group alone."""
    world = _cluster(("prod", "a"), ("prod", "b")).world()
    free = ScaleDown(without_machines=WithoutMachines.PLATFORM_CHOOSES)
    rules = policy(node_group("a", scale_down=free), node_group("b"))
    asked = [platform_chooses(world, rules, machine_deployment(name), NOW) for name in ("a", "b", "c")]
    assert asked == [True, False, False]
    assert platform_chooses(None, rules, machine_deployment("a"), NOW) is False
