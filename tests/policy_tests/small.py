"""A cluster and a policy that are small enough to count by hand."""

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, full_decision
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.policy_tests import CaseResult
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import PolicyTestText, read_policy_tests
from reconciler.policy.tree import read_tree
from reconciler.simulation.policy_tests.given import given_world
from reconciler.simulation.policy_tests.judgement import judge, seen_at_rest
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.simulation.scenarios.start_world import START_SECONDS, start_world
from reconciler.simulation.settled import come_to_rest

START = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  start:
    groups:
      - {name: general, nodes: 1, cpu: "4", memory: 16Gi}
      - {name: spare, nodes: 0, cpu: "8", memory: 32Gi}
  until: 1h
"""
"""One empty node of 4 cores, and a group of 8-core nodes without one."""

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: small}
spec:
  mode: Enforce
  limits:
    - {name: far, max: {nodes: 1000}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: reconciler}
spec:
  policyRef: {name: small}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: general}}
  size: {min: 1, max: 5}
  pricePerHour: "0.20"
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: spare, namespace: reconciler}
spec:
  policyRef: {name: small}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: spare}}
  size: {min: 0, max: 0}
  pricePerHour: "0.50"
"""

HEAD = """\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {name: small}
spec:
  tests:
"""


def world() -> World:
    """The small cluster."""
    return start_world(read_scenario("small.yaml", START.encode()).scenario.spec.start)


def policy(text: str = POLICY) -> PolicySet:
    """The small policy."""
    tree = read_tree({"small.yaml": text.encode()}, now_seconds=START_SECONDS)
    assert not [problem for problem in tree.problems if problem.severity == "error"]
    return tree.sets[0]


def one_test(body: str) -> PolicyTestText:
    """A document with one test; `body` are its lines without indentation."""
    lines = "".join(f"      {line}\n" for line in body.splitlines())
    return read_policy_tests("tests/small.yaml", f"{HEAD}    - name: it\n{lines}".encode())[0]


def result(body: str, policy_text: str = POLICY, consequences: tuple[tuple[str, str], ...] | None = None) -> CaseResult:
    """What becomes of the test in the small cluster."""
    text, rules = one_test(body), policy(policy_text)
    given = given_world(text, 0, world(), rules, START_SECONDS)
    made = full_decision(given, rules, Memory(), START_SECONDS, Work(DEFAULT_WORK_BUDGET))
    rest = come_to_rest(given, rules, made.memory, START_SECONDS, made.plan, DEFAULT_WORK_BUDGET, made)
    return judge(text, 0, seen_at_rest(given, rest, consequences))
