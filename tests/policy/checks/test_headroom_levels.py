"""Headroom counts as a whole from the nearest level that says any: the check of it reads the level that the decision reads."""

import pytest

from reconciler.policy.tree import read_tree

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  defaults: {{headroom: {{nodes: 50}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: a, namespace: r}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: r, name: a}}}}
  size: {{min: 1, max: 10}}
{own}
"""


@pytest.mark.parametrize(
    ("own", "warned"),
    [
        ("", True),
        ("  headroom: {nodes: 11}", True),
        ("  headroom: {nodes: 1}", False),
        ("  headroom: {nodes: 0}", False),
        ("  headroom: {nodesPerZone: 1}", False),
        ("  headroom: {pods: [{name: p, count: 1, requests: {cpu: 1}}]}", False),
    ],
)
def test_headroom_above_the_maximum(own: str, warned: bool) -> None:
    tree = read_tree({"p.yaml": POLICY.format(own=own).encode()}, now_seconds=0)
    assert ("HeadroomAboveMax" in {problem.code for problem in tree.problems}) == warned, tree.problems
