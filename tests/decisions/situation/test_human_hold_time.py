"""How long a person's write holds one group: the NodeGroup says it, else its tier, the policy's defaults, the policy, 1 hour."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import OwnerState
from reconciler.policy.tree import read_tree
from tests.builders import NOW, ClusterBuilder

EDITED = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 600)
_POLICY = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec: {{mode: Enforce{policy}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: general, namespace: reconciler}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: general}}}}
  size: {{min: 0, max: 9}}
{group}
"""


@pytest.mark.parametrize(("policy", "group", "state", "source"), [
    ("", "", OwnerState.HELD, "built-in"),
    (", humanHoldTime: 9m", "", OwnerState.ADOPTABLE, "p.yaml:5:23 (policy)"),
    (", humanHoldTime: 9m", "  humanHoldTime: 11m", OwnerState.HELD, "p.yaml:14:3"),
    ("", "  humanHoldTime: 0s", OwnerState.ADOPTABLE, "p.yaml:14:3"),
    (", defaults: {humanHoldTime: 9m}", "", OwnerState.ADOPTABLE, "p.yaml:5:34 (policy defaults)"),
], ids=["built in", "policy", "longer for the group", "ended for the group", "defaults"])  # fmt: skip
def test_ten_minutes_after_an_edit(policy: str, group: str, state: OwnerState, source: str) -> None:
    """The nearest level decides, and the chain says which."""
    tree = read_tree({"p.yaml": _POLICY.format(policy=policy, group=group).encode()}, now_seconds=NOW)
    assert [problem for problem in tree.problems if problem.severity == "error"] == []
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    (facts,) = world.targets
    edited = msgspec.structs.replace(facts, owner=OwnerEvidence(owners=(EDITED,)))
    world = msgspec.structs.replace(world, targets=(edited,))
    view = View.of(world, tree.sets[0], Memory(), NOW, Work(1_000_000))
    assert view.judgements[0].ownership.state is state
    assert view.groups[0].chains["humanHoldTime"][0].source == source
