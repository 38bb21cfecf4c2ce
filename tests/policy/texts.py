"""Policy texts for tests, and the instant at which they are read."""

from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.tree import read_tree

NOW = 1_795_262_400
"""2026-11-21T12:00:00Z."""

POLICY = """apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec: {}
"""


def group(name: str = "a", spec: str = "", *, target: str | None = None) -> str:
    """A NodeGroup on the MachineDeployment of the same name; `spec` are further lines, each indented by two."""
    return f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: {target or name}}}}}
{spec}"""


def read(text: str | bytes, path: str = "a.yaml", *, now_seconds: int = NOW) -> PolicyTree:
    """One file as a tree."""
    return read_tree({path: text.encode() if isinstance(text, str) else text}, now_seconds=now_seconds)


def codes(tree: PolicyTree) -> list[str]:
    """The codes of all problems, in order."""
    return [problem.code for problem in tree.problems]


def errors(tree: PolicyTree) -> list[Problem]:
    """The problems that are errors."""
    return [problem for problem in tree.problems if problem.severity is Severity.ERROR]
