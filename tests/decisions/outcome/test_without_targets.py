"""What a policy names and nobody has read has its sentence."""

import msgspec

from reconciler.cluster.target import FieldOwner
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.plan import PlanProblem
from reconciler.policy.documents import Discovery, PolicySet, TargetSpec
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.markdown.plan import plan_markdown
from reconciler.rendering.printers.text.plan import plan_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

AWS = TargetSpec(provider="aws", region="eu-central-1", name="workers")


def problems(rules: PolicySet, cluster: ClusterBuilder) -> list[PlanProblem]:
    plan, _ = decide(cluster.world(), rules, Memory(), NOW)
    return [problem for problem in plan.problems if problem.code in ("DiscoveryMatchesNothing", "TargetsNotRead")]


def cluster() -> ClusterBuilder:
    """One target with a range of its own, one without."""
    made = ClusterBuilder()
    made.target("general", 2, min_size=1, max_size=4)
    made.target("bare", 1)
    return made


def test_discovery_that_matches_nothing():
    """What was asked for, and what there is: a namespace that nobody has is a slip of the pen."""
    rules = policy(discovery=(Discovery(name="capi", provider="clusterAPI", namespaces=("pord",)),))
    (found,) = problems(rules, cluster())
    assert found.object == "discovery capi"
    assert found.message == (
        "it takes no target of clusterAPI (namespaces pord): 2 targets were read, 2 in prod. 1 of them without their own "
        "range, which no discovery takes"
    )


def test_the_first_three_places_are_told():
    """Of five namespaces, in the order of their names."""
    made = ClusterBuilder()
    for place in "edcba":
        made.target("general", 1, namespace=place, min_size=1, max_size=4)
    rules = policy(discovery=(Discovery(name="capi", provider="clusterAPI", namespaces=("pord",)),))
    (found,) = problems(rules, made)
    assert found.message.endswith(": 5 targets were read, 1 in a, 1 in b, 1 in c")


def test_discovery_that_matches_is_no_news():
    """Also where every target that it takes has a document of its own."""
    rules = policy(node_group("general"), discovery=(Discovery(name="capi", provider="clusterAPI"),))
    assert problems(rules, cluster()) == []


def test_groups_whose_targets_nobody_reads():
    """Of a platform of which nothing was read; one missing target among others is told at its group."""
    rules = policy(node_group("w", target=AWS), node_group("general"), node_group("gone"))
    (found,) = problems(rules, cluster())
    assert (found.code, found.object) == ("TargetsNotRead", "aws")
    assert found.message.startswith("1 group (w) names targets of which none was read")


def test_a_group_that_waits_for_adopt_from():
    """Who declares its replicas, what the policy takes over, and in which order: left out first, the size would become 1."""
    made = ClusterBuilder()
    made.group("general", nodes=1, owners=(FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=NOW - 9999),))
    plan, _ = decide(made.world(), policy(node_group("general")), Memory(), NOW)
    told = " ".join(plan_text(plan, width=200).split())
    assert "the policy takes it over first (spec.adoptFrom: [argocd-controller]). Then argocd-controller leaves" in told
    assert "left out by its only owner it becomes 1" in told


def test_a_policy_without_groups():
    """Neither a document nor discovery: the text, the comment and the page say so, and what to do."""
    plan, _ = decide(cluster().world(), policy(), Memory(), NOW)
    told = "no NodeGroup names one and discovery finds none. `reconciler init` writes a first policy"
    page = plan_html(plan, Pictures(now=Picture(nodes=(), waiting=0)))
    assert all(told in said for said in (plan_text(plan, width=200), plan_markdown(plan).replace("\n", " "), page))


def test_targets_without_a_namespace_are_told_by_region():
    """Auto Scaling groups are in none."""
    world = cluster().world()
    refs = (
        msgspec.structs.replace(one.ref, kind="AutoScalingGroup", namespace="", region="eu-central-1") for one in world.targets
    )
    targets = tuple(msgspec.structs.replace(one, ref=ref, max_size=9) for one, ref in zip(world.targets, refs, strict=True))
    rules = policy(discovery=(Discovery(name="eks", provider="aws", region="eu-west-1"),))
    plan, _ = decide(msgspec.structs.replace(world, targets=targets), rules, Memory(), NOW)
    (found,) = [problem for problem in plan.problems if problem.code == "DiscoveryMatchesNothing"]
    assert found.message == "it takes no target of aws (region eu-west-1): 2 targets were read, 2 in eu-central-1"
