"""MachineSets in manifests beside the policies. What the server makes of them: `test_live_handover.py`."""

import json

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.ownership.dropped_replicas import drop_warnings
from reconciler.policy.manifests.declared_sizes import manifest_problems
from reconciler.policy.manifests.dropped_sizes import dropped_sizes
from reconciler.policy.tree import read_tree
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine_set, owners, world

NAMED = f"""\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  discovery: [{{name: rest, openshift: {{namespaces: [{NAMESPACE}]}}}}]
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: a, namespace: reconciler}}
spec:
  policyRef: {{name: prod}}
  target: {{openshift: {{namespace: {NAMESPACE}, machineSet: a}}}}
  size: {{min: 1, max: 9}}
"""
SIZES = {f"{GROUP}/cluster-api-autoscaler-node-group-{end}-size": size for end, size in (("min", "1"), ("max", "6"))}


def manifest(name: str = "a", replicas: int | None = 3, **parts: object) -> bytes:
    return json.dumps(machine_set(name, replicas, **parts)).encode()


def found(*files: bytes) -> list[tuple[str, str, str]]:
    sets = read_tree({"p.yaml": NAMED.encode()}, now_seconds=1_800_000_000).sets
    problems = manifest_problems({f"{number}.yaml": text for number, text in enumerate(files)}, sets)
    return [(one.code, one.message.rpartition(", and ")[2].partition(" decides")[0], one.hint) for one in problems]


def test_a_declared_size_that_a_group_decides() -> None:
    """Named, or discovered by its annotations; the advice is to own the field before the line goes, as nothing keeps the size."""
    for text, who in ((manifest(), "NodeGroup a"), (manifest("b", annotations=SIZES), "discovery rest of NodeGroupPolicy prod")):
        ((code, by, hint),) = found(text)
        assert (code, by) == ("ReplicasInManifest", who)
        assert hint.startswith("first let the loop own replicas")
        assert "annotation" not in hint
        assert f"{{group: {GROUP}, kind: MachineSet" in hint


def test_what_is_nobodys_and_what_declares_nothing() -> None:
    """A set that the policy does not size, one of Cluster API with the same name, and one without replicas, which is as it should
    be: no annotation has to stand there."""
    capi = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": "a", "namespace": NAMESPACE},
        "spec": {"replicas": 2},
    }
    assert found(manifest("b"), json.dumps(capi).encode(), manifest("a", None)) == []


@pytest.mark.parametrize(
    ("there", "said", "hinted"),
    [
        (world(), "they become 1, the default of its definition", True),
        (world(machine_set("a", 3, managed=[owners("argocd-controller", "Apply")])), "they become 1", True),
        (
            world(machine_set("a", 3, managed=[owners("argocd-controller", "Apply"), owners("nodegroup-reconciler", "Apply")])),
            "they stay 3, since nodegroup-reconciler owns them as well",
            False,
        ),
    ],
)
def test_a_change_that_drops_replicas(there: World, said: str, hinted: bool) -> None:
    """Said with what is there; size annotations do not keep them."""
    base, head = {"m.yaml": manifest(annotations=SIZES)}, {"m.yaml": manifest(replicas=None, annotations=SIZES)}
    (warning,) = drop_warnings(dropped_sizes(base, head), there)
    assert f"takes replicas 3 out of MachineSet {NAMESPACE}/a" in warning.message
    assert said in warning.message
    assert bool(warning.hint) is hinted


def test_a_set_of_the_other_api_is_another_one() -> None:
    """Two APIs have MachineSets: what owns the one keeps nothing of the other."""
    capi: Object = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": "a", "namespace": NAMESPACE, "managedFields": [owners("nodegroup-reconciler", "Apply")]},
        "spec": {"clusterName": "c", "replicas": 3},
    }
    (warning,) = drop_warnings(dropped_sizes({"m.yaml": manifest()}, {"m.yaml": manifest(replicas=None)}), world(capi))
    assert "they become 1" in warning.message
