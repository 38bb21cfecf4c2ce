"""One policy over a MachineDeployment and a MachineSet of OpenShift: one order of tiers, one limit over both."""

import json

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.control.needed_rights import RunMode, needed
from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import claimed_targets
from reconciler.decisions.memory import Memory
from reconciler.kube.watching.collection import Served, cluster_api, nowhere
from reconciler.policy.documents import Discovery, Limit, Tier
from reconciler.rendering.manifests.first_policy import first_policy
from tests.openshift.objects import GROUP, Object, machine_set
from tests.policies import policy

NOW = 1_800_000_000
CAPACITY = {"capacity.cluster-autoscaler.kubernetes.io/cpu": "4", "capacity.cluster-autoscaler.kubernetes.io/memory": "16Gi"}


def size(group: str) -> dict[str, str]:
    return {f"{group}/cluster-api-autoscaler-node-group-{end}-size": text for end, text in (("min", "0"), ("max", "9"))}


def deployment() -> Object:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {
            "name": "general",
            "namespace": "prod",
            "annotations": CAPACITY | size("cluster.x-k8s.io"),
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {}}],
        },
        "spec": {"clusterName": "prod", "replicas": 0},
    }


def pod(number: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
    }


def decided(pods: int, nodes: int) -> dict[str, tuple[str, int]]:
    """Group -> target and desired size, for so many pods that each want a node, with at most `nodes`."""
    items = [deployment(), machine_set("worker", 0, annotations=CAPACITY | size(GROUP)), *map(pod, range(pods))]
    captured = b"formatVersion: '1.0'\nkinds: [MachineAutoscaler]\n"
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    world = read_snapshot({"all.json": json.dumps(listed).encode(), "snapshot.yaml": captured})
    discovery = (
        Discovery(name="sets", provider="openshift", tier="first"),
        Discovery(name="capi", provider="clusterAPI", tier="second"),
    )
    written = policy(
        discovery=discovery,
        tiers=(Tier(name="first"), Tier(name="second")),
        limits=(Limit(name="all", max=(("nodes", nodes),)),),
    )
    plan, _ = decide(world, written, Memory(), NOW, 1_000_000)
    return {line.name: (line.target, line.desired) for line in plan.groups}


def test_tiers_and_limits_hold_over_both_platforms() -> None:
    """The first tier is filled to its maximum of 9, the rest goes to the other platform, and 10 nodes are all."""
    assert decided(pods=12, nodes=10) == {
        "worker": ("MachineSet.machine.openshift.io openshift-machine-api/worker", 9),
        "general": ("MachineDeployment prod/general", 1),
    }
    assert {name: found[1] for name, found in decided(pods=2, nodes=10).items()} == {"worker": 2, "general": 0}


def test_rights_are_asked_for_what_is_served_alone() -> None:
    """Of each group its own kinds; no `scale`."""
    openshift = tuple(
        Served(platform="openshift", group=group, version="v1beta1") for group in (GROUP, "autoscaling.openshift.io")
    )
    both = needed(RunMode.ENFORCE, (cluster_api(version="v1beta2"), *openshift), "reconciler")
    alone = needed(RunMode.ENFORCE, openshift, "reconciler")
    assert {right.group for right in both} - {right.group for right in alone} == {"cluster.x-k8s.io"}
    written = {(right.resource, verb) for right in alone if right.group == GROUP for verb in right.verbs}
    assert {("machinesets", "patch"), ("machines", "patch"), ("machines", "delete")} <= written
    assert not {resource for resource, _ in written} - {"machinesets", "machines"}


@pytest.mark.parametrize(
    ("decides", "discovered"),
    [
        ("MachineAPI", "MachineSet.machine.openshift.io openshift-machine-api/w"),
        ("ClusterAPI", "MachineSet openshift-cluster-api/w"),
    ],
)
def test_a_pair_in_two_apis_is_one_group(decides: str, discovered: str) -> None:
    """The one that decides; a set of Cluster API elsewhere is nobody's twin."""
    there = {"authoritativeAPI": decides}
    pair = machine_set("w", 2, annotations=size(GROUP), spec=there, status={**there, "synchronizedGeneration": 3})
    twins = [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineSet",
            "metadata": {"name": "w", "namespace": namespace, "annotations": size("cluster.x-k8s.io")},
            "spec": {"clusterName": "c", "replicas": 2},
        }
        for namespace in ("openshift-cluster-api", "elsewhere")
    ]
    world = read_snapshot({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [pair, *twins]}).encode()})
    discovery = (Discovery(name="sets", provider="openshift"), Discovery(name="capi", provider="clusterAPI"))
    found = [str(ref) for ref, _, _ in claimed_targets(policy(discovery=discovery), world)]
    assert sorted(found) == sorted([discovered, "MachineSet elsewhere/w"])
    assert "elsewhere" in first_policy(world, "p")["groups.yaml"]
    assert first_policy(world, "p")["groups.yaml"].count("kind: NodeGroup") == 2


def test_a_server_without_autoscalers_has_none() -> None:
    """Where the API group is not served there is nothing to capture; of a platform that is not there nothing is known."""
    machines, autoscaling = (
        Served(platform="openshift", group=group, version="v1beta1") for group in (GROUP, "autoscaling.openshift.io")
    )
    assert nowhere((machines,)) == {"MachineAutoscaler"}
    assert nowhere((machines, autoscaling)) == nowhere((cluster_api(version="v1beta2"),)) == set()
