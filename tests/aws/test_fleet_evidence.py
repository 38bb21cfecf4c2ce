"""Whose an Auto Scaling group is where loops of several clusters see the same account: by its tags, its mark and its nodes."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World, as_in_fleet
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import KnownTarget, Memory
from reconciler.plan.plan import GroupLine, Plan
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace
from tests.aws.documents import REGION, SIZERS, TEMPLATE, Object, group
from tests.aws.policies import policy_set
from tests.cluster.objects import container, node, pod

EU, US = ClusterIdentity(namespace="infra", name="eu"), ClusterIdentity(namespace="infra", name="us")
HERE = FleetPlace(cluster=EU, others=(US,))
ENABLED = {"k8s.io/cluster-autoscaler/enabled": "true"}
NAMED = "kubernetes.io/cluster/"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: fleet}}
spec:
  mode: Enforce
  discovery:
    - {{name: all, aws: {{region: {REGION}, tags: {{k8s.io/cluster-autoscaler/enabled: ""}}}}}}
"""
EXPLICIT = (
    POLICY
    + f"""
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: g, namespace: r}}
spec: {{policyRef: {{name: fleet}}, target: {{aws: {{autoScalingGroup: g, region: {REGION}}}}}}}
"""
)


def asg(name: str, tags: dict[str, str] | None = None, *instances: str) -> Object:
    members = [
        {"InstanceId": one, "LifecycleState": "InService", "HealthStatus": "Healthy", "AvailabilityZone": f"{REGION}a"}
        for one in instances
    ]
    capacity = {f"{TEMPLATE}resources/{name}": amount for name, amount in {"cpu": "4", "memory": "8Gi", "pods": "58"}.items()}
    return group(
        name, tags={**ENABLED, **capacity, **(tags or {})}, Instances=members, DesiredCapacity=len(members), MinSize=0, MaxSize=9
    )


def world(*groups: Object, nodes: Sequence[str] = (), place: FleetPlace | None = HERE) -> World:
    """`nodes` are the instances that are nodes of this cluster; one pod waits for any node."""
    files = dict.fromkeys(SIZERS, ()) | {"AutoScalingGroups": groups}
    documents = {f"{key}.json": json.dumps({key: content}).encode() for key, content in files.items()}
    items = [node(f"n-{one}", spec={"providerID": f"aws:///{REGION}a/{one}"}, cpu="1") for one in nodes]
    items += [pod("web", containers=[container("1500m", "1Gi")])]
    documents["all.json"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    return msgspec.structs.replace(read_snapshot(documents), fleet=place)


def decided(seen: World, policy: str = POLICY, memory: Memory | None = None) -> Plan:
    return decide(seen, policy_set(policy), memory or Memory(), seen.captured_seconds or 1_800_000_000)[0]


def line(plan: Plan, name: str) -> GroupLine:
    return next(one for one in plan.groups if one.name == name)


def held(plan: Plan, name: str) -> str:
    """The code and sentence of what holds the group; empty: nothing does."""
    codes = {"OtherCluster", "ClusterUnknown", "OtherClusterMark"}
    return next((f"{one.code}: {one.message}" for one in line(plan, name).reasons if one.code in codes), "")


@pytest.mark.parametrize(("tags", "why"), [
    ({f"{NAMED}eu": "owned"}, ""), ({f"{NAMED}eu": "shared"}, ""), ({"eks:cluster-name": "eu"}, ""),
    ({"k8s.io/cluster-autoscaler/eu": "owned"}, ""), ({f"{NAMED}infra_eu": "owned"}, ""),
    ({}, f"ClusterUnknown: nothing shows that AutoScalingGroup {REGION}/g belongs to cluster infra/eu: nothing is written until "
         "it has the tag kubernetes.io/cluster/eu: owned, or one of its machines is a node there"),
    ({f"{NAMED}us": "owned"}, f"OtherCluster: AutoScalingGroup {REGION}/g names cluster us, but this is eu or infra_eu: "
                              "nothing is written. Remove it from the policy, or correct its tags"),
    ({f"{NAMED}eu": "shared", f"{NAMED}us": "shared"}, "OtherCluster"), ({f"{NAMED}elsewhere": "owned"}, "OtherCluster"),
    ({f"{NAMED}eu": "owned", "reconciler.dev/cluster": "infra/us"}, "OtherClusterMark"),
    ({f"{NAMED}eu": "owned", "reconciler.dev/cluster": "infra/eu"}, ""),
])  # fmt: skip
def test_an_empty_group_by_its_tags(tags: dict[str, str], why: str) -> None:
    plan = decided(world(asg("g", tags)), EXPLICIT)
    assert held(plan, "g").startswith(why) if why else not held(plan, "g")
    assert line(plan, "g").held == bool(why)
    assert bool(plan.actions) != bool(why)


def test_nodes_of_this_cluster_are_evidence_and_labels_are_none() -> None:
    """An instance that is a node here; a node that only has the labels that the policy asks for is none of its machines."""
    assert held(decided(world(asg("g", {}, "i-1"), nodes=["i-1"])), "g") == ""
    assert held(decided(world(asg("g", {}, "i-1"), nodes=["i-7"])), "g").startswith("ClusterUnknown")
    selected = EXPLICIT.replace("spec: {policyRef", "spec: {nodes: {matchLabels: {kubernetes.io/hostname: n-i-7}}, policyRef")
    assert held(decided(world(asg("g", {}, "i-1"), nodes=["i-7"]), selected), "g").startswith("ClusterUnknown")


def test_a_group_whose_nodes_were_here() -> None:
    """It is empty now: what was seen is remembered. Another group by that name is another one."""
    seen = world(asg("g"))
    (facts,) = seen.targets

    def memory(uid: str) -> Memory:
        return Memory(known_targets={str(facts.ref): KnownTarget(uid=uid, joined=True)})

    assert held(decided(seen, memory=memory(facts.uid)), "g") == ""
    assert held(decided(seen, memory=memory("another")), "g").startswith("ClusterUnknown")


def test_what_a_cloud_calls_the_cluster_is_learned_from_nodes() -> None:
    """One name on a group with nodes here, unless another cluster of the fleet has it. Of two names nobody knows which it is."""
    named = {f"{NAMED}prod-7": "owned"}
    plan = decided(world(asg("a", named, "i-1"), asg("g", named), nodes=["i-1"]))
    assert (held(plan, "a"), held(plan, "g")) == ("", "")
    both = {**named, f"{NAMED}prod-8": "shared"}
    plan = decided(world(asg("a", both, "i-1"), asg("g", named), nodes=["i-1"]))
    assert held(plan, "a").startswith("OtherCluster")
    assert held(plan, "g").startswith("OtherCluster")
    labelled = FleetPlace(cluster=EU, others=(msgspec.structs.replace(US, labels=(("reconciler.dev/cloud-name", "prod-7"),)),))
    plan = decided(world(asg("a", named, "i-1"), asg("g", named), nodes=["i-1"], place=labelled), EXPLICIT)
    assert held(plan, "g").startswith("OtherCluster")


def test_two_clusters_of_one_name() -> None:
    """In two namespaces: their common name shows nothing. The label of the Cluster object does."""
    other = ClusterIdentity(namespace="edge", name="eu")
    place = FleetPlace(cluster=EU, others=(other,))
    tags = {f"{NAMED}eu": "owned"}
    plan = decided(world(asg("g", tags), place=place))
    assert "as several clusters of the fleet are called" in held(plan, "g")
    assert held(decided(world(asg("g", {f"{NAMED}infra_eu": "owned"}), place=place)), "g") == ""
    assert held(decided(world(asg("g", tags, "i-1"), nodes=["i-1"], place=place)), "g") == ""
    named = msgspec.structs.replace(EU, labels=(("reconciler.dev/cloud-name", "prod-7"),))
    place = FleetPlace(cluster=named, others=(other,))
    assert held(decided(world(asg("g", {f"{NAMED}prod-7": "owned"}), place=place)), "g") == ""


def test_discovery_leaves_the_groups_of_other_clusters_to_them() -> None:
    """A hundred clusters in one account would otherwise have a hundred times as many groups in their plans."""
    groups = [asg("mine", {f"{NAMED}eu": "owned"}), asg("theirs", {f"{NAMED}us": "owned"}), asg("nobodys")]
    assert [one.name for one in decided(world(*groups)).groups] == ["mine", "nobodys"]


def test_outside_a_fleet_the_plan_is_the_same() -> None:
    """Tags of any cluster, and none. Only the mark of a fleet's cluster holds a group, since its loop has it."""
    tagged = [asg("a", {f"{NAMED}us": "owned"}), asg("b", {f"{NAMED}us": "owned"}), asg("g")]
    plan = decided(world(*tagged, place=None))
    assert [held(plan, name) for name in "abg"] == ["", "", ""]
    plan = decided(world(asg("g", {"reconciler.dev/cluster": "infra/us"}), place=None))
    assert held(plan, "g").startswith("OtherClusterMark: ")


def test_what_another_cluster_has_is_never_released() -> None:
    """All clusters of a fleet may have one policy, so its mark alone does not show whose group it is."""
    marks = {"reconciler.dev/policy": "fleet"}
    left = POLICY.replace("cluster-autoscaler/enabled", "cluster-autoscaler/other")

    def released(tags: dict[str, str]) -> list[str]:
        plan = decided(world(asg("a", {"k8s.io/cluster-autoscaler/other": ""}), asg("g", tags)), left)
        return [one.group for one in plan.actions if one.kind == "Release"]

    assert released({**marks, "reconciler.dev/cluster": "infra/us"}) == []
    assert released(marks) == []
    assert released({**marks, "reconciler.dev/cluster": "infra/eu"}) == ["g"]


def test_plans_and_previews_of_a_fleet_judge_like_its_loops() -> None:
    """Where a Cluster object describes the cluster. The others of the fleet are those next to it."""
    seen = world(asg("g"), place=None)
    clusters = tuple(msgspec.structs.replace(one, labels=()) for one in (EU, US))
    known = msgspec.structs.replace(seen, name="infra/eu", clusters=clusters)
    assert as_in_fleet(known).fleet == FleetPlace(cluster=clusters[0], others=(clusters[1],))
    assert held(decided(as_in_fleet(known)), "g").startswith("ClusterUnknown")
    assert as_in_fleet(msgspec.structs.replace(seen, name="eu")).fleet is None
    assert as_in_fleet(seen).fleet is None


def test_a_plan_of_one_cluster_of_a_fleet() -> None:
    """What its own loop has marked is its own; any other mark holds."""
    seen = world(asg("g", {"reconciler.dev/cluster": "infra/eu"}), place=None)
    labelled = msgspec.structs.replace(EU, labels=())
    assert held(decided(msgspec.structs.replace(seen, clusters=(labelled,))), "g") == ""
    assert held(decided(seen), "g").startswith("OtherClusterMark")
