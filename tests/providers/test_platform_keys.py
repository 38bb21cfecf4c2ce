"""What a policy has to say about targets of each platform, by the problems of one that does not."""

import pytest

from reconciler.policy.fields import document_kinds, walk
from reconciler.policy.platform.policy_keys import platform_keys
from reconciler.policy.tree import read_tree

POLICY = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: p}\nspec: "
GROUP = "\n---\napiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: g, namespace: r}\nspec: "
ROLE = "arn:aws:iam::123456789012:role/reconciler"


def problems(text: str) -> list[tuple[str, str]]:
    found = read_tree({"p.yaml": text.encode()}, now_seconds=0).problems
    return [(one.code, one.message.split(" ")[0]) for one in found if one.code != "ExperimentalTarget"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("clusterAPI: {}", []),
        ("clusterAPI: {namespaces: [a, b], clusterName: c, labels: {team: ml}}", []),
        ("clusterAPI: {namespaces: [a, a]}", [("DuplicateItem", "'a'")]),
        ("openshift: {}", []),
        ("openshift: {namespaces: [a, b], labels: {team: ml}}", []),
        ("openshift: {namespaces: [a, a]}", [("DuplicateItem", "'a'")]),
        ("aws: {region: eu-central-1, tags: {team: ml}}", []),
        ("aws: {region: us-gov-west-1, tags: {a: x, b: ''}}", []),
        ("aws: {tags: {team: ml}}", [("MissingField", "discovery[0].aws.region")]),
        ("aws: {region: eu-central-1}", [("MissingField", "discovery[0].aws.tags")]),
        ("aws: {region: eu-central-1, tags: {}}", [("EmptyValue", "discovery[0].aws.tags")]),
        ("aws: {region: europe, tags: {team: ml}}", [("BadFormat", "discovery[0].aws.region")]),
        ("crusoe: {location: us-east1-a, nodeLabels: {team: ml}}", []),
        ("crusoe: {}", [("MissingField", "discovery[0].crusoe.location")]),
    ],
)
def test_what_is_discovered(item: str, expected: list[tuple[str, str]]) -> None:
    """A list of namespaces names each once; a cloud is asked in a place, and never for everything that is there."""
    assert problems(f"{POLICY}{{discovery: [{{name: a, {item}}}]}}") == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("clusterAPI: {kind: MachinePool, namespace: prod, name: a}", []),
        ("clusterAPI: {namespace: prod, name: a}", [("MissingField", "target.clusterAPI.kind")]),
        ("clusterAPI: {kind: MachineSet, name: a}", [("MissingField", "target.clusterAPI.namespace")]),
        ("clusterAPI: {kind: MachineDeployment, namespace: prod}", [("MissingField", "target.clusterAPI.name")]),
        ("clusterAPI: {kind: Deployment, namespace: prod, name: a}", [("UnknownValue", "target.clusterAPI.kind")]),
        ("openshift: {namespace: prod, machineSet: a}", []),
        ("openshift: {namespace: prod}", [("MissingField", "target.openshift.machineSet")]),
        ("openshift: {machineSet: a}", [("MissingField", "target.openshift.namespace")]),
        ("aws: {autoScalingGroup: a, region: eu-central-1}", []),
        (f"aws: {{autoScalingGroup: a, region: eu-central-1, roleARN: '{ROLE}'}}", []),
        ("aws: {region: eu-central-1}", [("MissingField", "target.aws.autoScalingGroup")]),
        ("aws: {autoScalingGroup: a}", [("MissingField", "target.aws.region")]),
        ("aws: {autoScalingGroup: a, region: eu-central-1, roleARN: other}", [("BadFormat", "target.aws.roleARN")]),
        ("crusoe: {nodePool: h100, location: us-east1-a}", []),
        ("crusoe: {nodePool: h100}", [("MissingField", "target.crusoe.location")]),
        ("crusoe: {location: us-east1-a}", [("MissingField", "target.crusoe.nodePool")]),
    ],
)
def test_what_names_one_target(target: str, expected: list[tuple[str, str]]) -> None:
    """Everything that tells it from all others; the role of another account alone may be left out."""
    assert problems(f"{POLICY}{{}}{GROUP}{{policyRef: {{name: p}}, target: {{{target}}}}}") == expected


def test_each_name_of_a_platform_is_of_a_field() -> None:
    """A field that is renamed or goes takes the names that platforms have for it along, at every level that has it."""
    named: dict[str, set[str]] = {}
    for kind in document_kinds():
        for field in walk(kind.root):
            for provider, name in field.elsewhere.items():
                named.setdefault(provider, set()).add(name)
    assert named == {keys.provider: set(keys.elsewhere.names.values()) for keys in platform_keys() if keys.elsewhere is not None}
    paths = {kind.kind: {field.path: field.elsewhere for field in walk(kind.root)} for kind in document_kinds()}
    least = paths["NodeGroup"]["spec.size.min"]
    # SOURCE: https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling
    assert least["clusterAPI"] == "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
    assert {
        paths["NodeGroupPolicy"][f"spec.{level}size.min"] == least for level in ("defaults.", "tiers[].defaults.windows[].")
    } == {True}
