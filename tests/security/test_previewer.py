"""The previewer, which decides on what a pull request wrote: nothing in it takes the time of the others."""

import pytest

from reconciler.policy.field import Field, Kind
from reconciler.policy.field_tables.bounds import MOST_NODES
from reconciler.policy.field_tables.node_group import NODE_GROUP
from reconciler.policy.field_tables.node_group_policy import NODE_GROUP_POLICY
from reconciler.policy.tree import read_tree

NOW = 1795262400
GROUP = """apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: g, namespace: n}
spec:
  policyRef: {name: p}
  target: {clusterAPI: {kind: MachineDeployment, namespace: n, name: g}}
"""


def fields(field: Field) -> list[Field]:
    """A field with all below it."""
    below = [*field.children, *([field.item] if field.item is not None else [])]
    return [field, *(found for part in below for found in fields(part))]


@pytest.mark.parametrize("size", ["size: {min: 3000000, max: 3000000}", "headroom: {nodes: 3000000}"])
def test_a_size_that_nobody_has_is_refused(size: str) -> None:
    """Before anything is decided on it, with the most that is taken."""
    found = read_tree({"g.yaml": f"{GROUP}  {size}\n".encode()}, now_seconds=NOW)
    assert [problem.code for problem in found.problems if str(MOST_NODES) in problem.message]


@pytest.mark.parametrize("kind", [NODE_GROUP, NODE_GROUP_POLICY], ids=["NodeGroup", "NodeGroupPolicy"])
def test_every_number_has_a_bound(kind: Field) -> None:
    """Whatever field is added: an integer without a largest value is a way to stall the previewer."""
    assert [field.yaml_key for field in fields(kind) if field.kind is Kind.INTEGER and field.maximum is None] == []
