"""A window is idle when it narrows the bounds of no group that takes it."""

import pytest

from reconciler.policy.tree import read_tree

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  {discovery}
  defaults:
    windows: [{{schedule: "0 7 * * *", duration: 1h, size: {{min: 3}}}}]
"""
GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: r, name: {name}}}}}
  size: {{min: {low}, max: 10}}
"""
OWN = '  windows: [{schedule: "0 9 * * *", duration: 1h, size: {min: 5}}]\n'


@pytest.mark.parametrize(
    ("groups", "discovery", "warned"),
    [
        ([("a", 3, ""), ("b", 4, "")], "", ["spec.defaults"]),  # both are at 3 nodes or more anyway
        ([("a", 3, ""), ("b", 2, "")], "", []),  # it raises the minimum of b
        ([("a", 3, ""), ("b", 2, OWN)], "", ["spec.defaults"]),  # b takes its own window
        ([("a", 3, "")], "discovery: [{name: x, clusterAPI: {namespaces: [r]}}]", []),  # what is found may take it
        ([("a", 6, OWN), ("b", 2, OWN)], "", ["a"]),  # two documents of one file, the same path in both
    ],
)
def test_a_window_that_changes_nothing(groups: list[tuple[str, int, str]], discovery: str, warned: list[str]) -> None:
    text = POLICY.format(discovery=discovery) + "".join(GROUP.format(name=name, low=low) + own for name, low, own in groups)
    tree = read_tree({"p.yaml": text.encode()}, now_seconds=0)
    idle = [problem for problem in tree.problems if problem.code == "IdleWindow"]
    assert not [problem for problem in tree.problems if problem not in idle]
    lines = text.splitlines()
    places = []
    for problem in idle:
        above = lines[: problem.place.line]
        name = next(line for line in reversed(above) if line.startswith("metadata")).split("name: ")[1].strip("}").split(",")[0]
        places.append("spec.defaults" if name == "prod" else name)
    assert places == warned
