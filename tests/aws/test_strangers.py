"""An account has Auto Scaling groups of all kinds: those of which nothing says that they are of this cluster are not taken."""

import json

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import claimed_targets
from reconciler.policy.documents import Discovery, NodeGroup, PolicySet, TargetSpec
from reconciler.policy.place import Place
from reconciler.policy.tree import policy_digest
from reconciler.rendering.manifests.first_policy import first_policy
from tests.aws.documents import REGION, SIZERS, Object, group
from tests.cluster.objects import node
from tests.policies import policy

DOCK = {"kubernetes.io/cluster/dock": "owned"}


def _inhabited(name: str, instance: str, tags: dict[str, str] | None = None) -> Object:
    member = {"InstanceId": instance, "LifecycleState": "InService", "HealthStatus": "Healthy", "AvailabilityZone": f"{REGION}a"}
    return group(name, tags=tags, Instances=[member], DesiredCapacity=1)


def _world(*groups: Object, nodes: bool = True) -> World:
    listed = [node("n1", spec={"providerID": f"aws:///{REGION}a/i-1"})] if nodes else []
    files = dict.fromkeys(SIZERS, ()) | {"AutoScalingGroups": groups}
    documents = {f"{key}.json": json.dumps({key: content}).encode() for key, content in files.items()}
    if nodes:
        documents["nodes.json"] = json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": listed}).encode()
    return read_snapshot(documents)


def _named(world: World) -> list[str]:
    groups = first_policy(world, "p").get("groups.yaml", "")
    return sorted(line.split("/")[1].split(":")[0] for line in groups.splitlines() if line.startswith("# AutoScalingGroup"))


@pytest.mark.parametrize(("tags", "taken"), [
    ({}, False), ({"team": "web"}, False), (DOCK, True), ({"kubernetes.io/cluster/other": "owned"}, False),
    ({"eks:cluster-name": "other"}, False), ({"eks:cluster-name": "dock"}, True),
    ({"k8s.io/cluster-autoscaler/enabled": "true"}, True),
    ({"k8s.io/cluster-autoscaler/node-template/label/x": "y"}, True),
    ({"k8s.io/cluster-autoscaler/enabled": "true", "kubernetes.io/cluster/other": "shared"}, False),
])  # fmt: skip
def test_a_group_without_nodes_tells_by_its_tags(tags: dict[str, str], *, taken: bool) -> None:
    """Of any cluster, or of this one, which the tags of inhabited groups name."""
    world = _world(_inhabited("here", "i-1", tags=DOCK), group("other", tags=tags))
    assert _named(world) == (["here", "other"] if taken else ["here"])
    assert ("Left out" in first_policy(world, "p")["policy.yaml"]) != taken


def test_a_node_of_the_cluster_is_enough() -> None:
    """Without any tag; another one's instances are no nodes here."""
    assert _named(_world(_inhabited("here", "i-1"), _inhabited("web", "i-9"))) == ["here"]


def test_without_captured_nodes_nothing_is_left_out() -> None:
    """No node in a snapshot without nodes proves nothing."""
    assert _named(_world(_inhabited("here", "i-1"), group("other"), nodes=False)) == ["here", "other"]


def test_discovery_passes_strangers_over() -> None:
    """Unless the policy asks for a tag that they have, or a document names them."""
    world = _world(_inhabited("here", "i-1"), group("web", tags={"team": "web"}), group("named"))

    def found(tags: tuple[tuple[str, str], ...], *groups: NodeGroup) -> list[str]:
        chosen = policy(discovery=(Discovery(name="all", provider="aws", tags=tags),)).policy
        asked = PolicySet(policy=chosen, groups=groups, digest=policy_digest(chosen, groups))
        return [ref.name for ref, _, _ in claimed_targets(asked, world)]

    document = NodeGroup(
        name="n", policy_ref="p", target=TargetSpec(provider="aws", name="named", region=REGION), place=Place("x", 1, 1)
    )
    assert found(()) == ["here"]
    assert found((("team", ""),)) == ["web"]
    assert found((), document) == ["here", "named"]
