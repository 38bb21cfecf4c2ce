"""Tenants of a cluster: who may create pods, or NodeGroups in a namespace of their own, and means to take from the others."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, decide_counted
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.custom_policy import Judged, judge
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.policy.pace import Pace
from reconciler.policy.tree import read_tree
from tests.builders import NOW, ClusterBuilder, node_group, selector
from tests.kube.custom_resources import group, policy
from tests.policies import policy as rules

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
FLOOD = 150
RULES = rules(*(node_group(name, max=1000) for name in ("a", "b")), pace=Pace(max_added_nodes=1000, delay_after_add_seconds=0))


def _term(key: str, number: int) -> AffinityTerm:
    return AffinityTerm(topology_key=key, selector=selector(app=f"flood-{number}"), namespaces=("evil",))


FLOODS: dict[str, Callable[[int], Mapping[str, Any]]] = {
    "each a kind of its own": lambda _: {},
    "each keeps away from itself": lambda number: {"anti_affinity": (_term(HOST, number),)},
    "each keeps away from itself in a zone": lambda number: {"anti_affinity": (_term(ZONE, number),)},
    "each spread over zones": lambda number: {
        "spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app=f"flood-{number}")),)
    },
    "each too large": lambda number: {"node_selector": (("nowhere", str(number)),)},
}


def flooded(flood: Callable[[int], Mapping[str, Any]], pods: int) -> World:
    """Two groups of nodes that are full; `pods` of one namespace that are served first, and three of another one."""
    cluster = ClusterBuilder()
    for name, zone in (("a", "a"), ("b", "b")):
        nodes = cluster.group(name, nodes=20, cpu="4", memory="16Gi", labels={ZONE: zone})
        cluster.pods(f"full-{name}", len(nodes), cpu="4", on=nodes)
    for number in range(pods):
        shape = {"priority": 1000, **flood(number)}
        cluster.pods(f"flood-{number}", 1, namespace="evil", cpu=f"{1001 + number}m", memory="1Gi", shape=shape)
    cluster.pods("web", 3, namespace="shop", cpu="500m", memory="1Gi")
    return cluster.world()


def outcomes(plan: Plan, namespace: str) -> set[PodOutcome]:
    return {line.outcome for line in plan.pods if line.pod.startswith(f"{namespace}/")}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_delays_only_its_own_pods(flood: str) -> None:
    """The others get their nodes in the same plan, and the plan says whose pods wait and why."""
    world, plenty = flooded(FLOODS[flood], FLOOD), Work(10**12)
    decide_counted(world, RULES, Memory(), NOW, plenty)
    plan, _ = decide(world, RULES, Memory(), NOW, plenty.spent // 3)
    assert outcomes(plan, "shop") == {PodOutcome.TRIGGERS_SCALE_UP}
    delayed = [line for line in plan.pods if any(reason.code == "ShareUsed" for reason in line.reasons)]
    assert delayed
    assert all(line.pod.startswith("evil/") for line in delayed)
    (told,) = [problem for problem in plan.problems if problem.code == "NamespaceDelayed"]
    assert told.object == "Namespace evil"
    assert f"{len(delayed)} pods" in told.message
    assert not any(problem.code == "WorkBudgetExhausted" for problem in plan.problems)


@pytest.mark.parametrize("flood", [name for name in FLOODS if name != "each too large"])
def test_who_floods_gets_on_too(flood: str) -> None:
    """Plan by plan, as far as its share goes: looking for room that is there does not eat up what buying takes."""
    world, plenty = flooded(FLOODS[flood], FLOOD), Work(10**12)
    decide_counted(world, RULES, Memory(), NOW, plenty)
    plan, _ = decide(world, RULES, Memory(), NOW, plenty.spent // 3)
    assert PodOutcome.TRIGGERS_SCALE_UP in outcomes(plan, "evil")


def test_a_namespace_alone_has_all_the_work() -> None:
    """Nothing is kept for others where there are none."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=0, cpu="4", memory="16Gi")
    for number in range(FLOOD):
        cluster.pods(f"job-{number}", 1, cpu=f"{1001 + number}m", memory="1Gi")
    world, plenty = cluster.world(), Work(10**12)
    decide_counted(world, RULES, Memory(), NOW, plenty)
    plan, _ = decide(world, RULES, Memory(), NOW, plenty.spent)
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


OURS, TEAM = "infra", "team-a"


def judged(*items: CustomObject, before: Judged | None = None) -> Judged:
    texts = tuple(CustomText.of(item) for item in items)
    return judge(texts, "prod", NOW, before.in_force if before is not None else None, CustomReader(), OURS)


def in_force(found: Judged) -> dict[str, str]:
    """Title of each group that counts, held or not, and its target."""
    assert found.in_force is not None
    made = found.in_force.policy_set(CustomReader())
    assert made is not None
    return {group.place.path: group.target.name for group in made.groups}


def codes(found: Judged) -> dict[str, str]:
    return {title: problems[0].code for title, problems in found.problems.items()}


def allowing(**targets: object) -> CustomObject:
    return policy(groupNamespaces=[{"name": TEAM, **({"targets": targets} if targets else {})}])


def aimed(item: CustomObject, namespace: str, name: str) -> CustomObject:
    target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": namespace, "name": name}}
    return replace(item, spec={**item.spec, "target": target})


def test_a_group_of_another_namespace_does_not_count() -> None:
    """Nobody allowed it: it is told on the object itself and in the plan, and it claims neither its target nor its name."""
    found = judged(policy(), group("a", namespace=OURS), group("a", namespace=TEAM), group("b", namespace=TEAM))
    assert in_force(found) == {f"NodeGroup {OURS}/a": "a"}
    assert codes(found) == dict.fromkeys((f"NodeGroup {TEAM}/a", f"NodeGroup {TEAM}/b"), "NamespaceNotAllowed")
    assert [entry.title for entry in found.refused] == [f"NodeGroup {TEAM}/a", f"NodeGroup {TEAM}/b"]


def test_a_refused_group_stops_nobody() -> None:
    """An older one on the target of ours, broken besides, and of a name that ours has: it changes nothing."""
    hostile = replace(group("a", namespace=TEAM, created="2020-01-01T00:00:00Z"), spec={
        **group("a").spec, "size": {"min": 9, "max": 1}
    })  # fmt: skip
    alone, found = judged(policy(), group("a", namespace=OURS)), judged(policy(), hostile, group("a", namespace=OURS))
    assert found.in_force == alone.in_force
    changed = judged(policy(), hostile, group("a", namespace=OURS, high=7, generation=2), before=alone)
    assert in_force(changed) == {f"NodeGroup {OURS}/a": "a"}
    assert f"NodeGroup {OURS}/a" not in changed.problems


@pytest.mark.parametrize(("scope", "at", "code"), [
    ({}, (TEAM, "x"), None),
    ({}, ("prod", "x"), "TargetNotAllowed"),
    ({"namespaces": ["prod"]}, ("prod", "x"), None),
    ({"namespaces": ["prod"]}, (TEAM, "x"), "TargetNotAllowed"),
    ({"namespaces": ["prod"], "names": ["team-a-.*"]}, ("prod", "team-a-x"), None),
    ({"namespaces": ["prod"], "names": ["team-a-.*"]}, ("prod", "not-team-a-x"), "TargetNotAllowed"),
    ({"names": ["x"]}, (TEAM, "xy"), "TargetNotAllowed"),
])  # fmt: skip
def test_a_namespace_has_the_targets_that_the_policy_gives_it(
    scope: Mapping[str, object], at: tuple[str, str], code: str | None
) -> None:
    """Its own namespace when nothing is said; patterns match the whole name, since `a-` would match `prod-a-1`."""
    title = f"NodeGroup {TEAM}/g"
    found = judged(allowing(**scope), aimed(group("g", namespace=TEAM), *at))
    assert codes(found) == ({title: code} if code else {})
    assert in_force(found) == ({} if code else {title: at[1]})


def test_a_target_without_a_namespace_is_given_by_name() -> None:
    """An Auto Scaling group belongs to no namespace, so that allowing a namespace gives none of them away."""
    spec = {**group("g").spec, "target": {"aws": {"autoScalingGroup": "team-a-1", "region": "eu-central-1"}}}
    item = replace(group("g", namespace=TEAM), spec=spec)
    assert codes(judged(allowing(), item)) == {f"NodeGroup {TEAM}/g": "TargetNotAllowed"}
    assert codes(judged(allowing(names=["team-a-.*"]), item)) == {}


def test_ours_is_named_too_once_others_are() -> None:
    """The list is the whole truth: nothing is allowed beside it."""
    found = judged(allowing(), group("a", namespace=OURS))
    assert codes(found) == {f"NodeGroup {OURS}/a": "NamespaceNotAllowed"}


def test_a_group_that_is_allowed_no_more_leaves() -> None:
    """Also one of which only an older version was good."""
    before = judged(allowing(namespaces=["prod"]), group("a", namespace=TEAM), group("b", namespace=TEAM))
    assert set(in_force(before)) == {f"NodeGroup {TEAM}/a", f"NodeGroup {TEAM}/b"}
    broken = replace(group("b", namespace=TEAM), generation=2, spec={**group("b").spec, "size": {"min": 9, "max": 1}})
    assert in_force(judged(policy(), group("a", namespace=TEAM), broken, before=before)) == {}


def test_refused_groups_are_problems_of_the_plan() -> None:
    """With their code; the digest of the policy, and with it every approval, does not hang on them."""
    refused = RefusedGroup(title="NodeGroup team-a/g", code="NamespaceNotAllowed", message="it is in namespace team-a")
    world = flooded(FLOODS["each a kind of its own"], 1)
    plan, _ = decide(world, replace(RULES, refused=(refused,)), Memory(), NOW)
    found = [problem for problem in plan.problems if problem.code == "NamespaceNotAllowed"]
    assert [(problem.object, problem.message) for problem in found] == [("NodeGroup team-a/g", "it is in namespace team-a")]


def test_a_tree_is_checked_by_what_its_policy_says() -> None:
    """Who stores custom resources in git sees it there, at its place."""
    text = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  groupNamespaces: [{name: team-a, targets: {namespaces: [prod]}}]
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: g, namespace: NAMESPACE}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: g}}
  size: {min: 0, max: 1}
"""
    good = read_tree({"p.yaml": text.replace("NAMESPACE", TEAM).encode()}, now_seconds=NOW)
    bad = read_tree({"p.yaml": text.replace("NAMESPACE", "team-b").encode()}, now_seconds=NOW)
    assert good.problems == ()
    assert [(problem.code, str(problem.place)) for problem in bad.problems] == [("NamespaceNotAllowed", "p.yaml:9:21")]
