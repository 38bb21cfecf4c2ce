"""What becomes of an expectation, by hand arithmetic on a cluster of one empty node with 4 cores."""

import pytest

from reconciler.cluster.pods.pod_table import Pod
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.policy_tests import Verdict
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.simulation.policy_tests import given as giving
from reconciler.simulation.policy_tests.coverage import rules
from reconciler.simulation.policy_tests.given import given_world
from reconciler.simulation.policy_tests.judgement import Seen, judge
from reconciler.simulation.scenarios.start_world import START_SECONDS
from tests.policy_tests.small import POLICY, one_test, policy, result, world

FIVE = "given: {cluster: x, workloads: [{name: shop/web, replicas: 5, cpu: 3, memory: 1Gi}]}"
"""Five pods of 3 cores: a node of 4 cores has room for one, so five nodes are needed. The first is there: four more."""
SEVEN = FIVE.replace("replicas: 5", "replicas: 7")
"""Two more pods than the five nodes that are allowed."""


def only(body: str, **options: str) -> tuple[Verdict, str, str]:
    """Verdict, code and actual value of the one expectation."""
    (judged,) = result(body, **options).judged
    return judged.verdict, judged.code, judged.actual


@pytest.mark.parametrize(("given", "expect", "expected"), [
    (FIVE, "groups: [{name: general, desired: 5}]", (Verdict.PASSED, "DesiredSize", "5")),
    (FIVE, "groups: [{name: general, desired: 4}]", (Verdict.FAILED, "DesiredSize", "5")),
    (FIVE, "groups: [{name: general, desired: 2..5}]", (Verdict.PASSED, "DesiredSize", "5")),
    (FIVE, "groups: [{name: general, desired: 6..}]", (Verdict.FAILED, "DesiredSize", "5")),
    (FIVE, "groups: [{name: general, settled: 5}]", (Verdict.PASSED, "SettledSize", "5")),
    (SEVEN, "groups: [{name: general, desired: 5}]", (Verdict.PASSED, "DesiredSize", "5")),
    (SEVEN, "pendingPods: 2", (Verdict.PASSED, "PendingPods", "2")),
    (SEVEN, "pendingPods: 0", (Verdict.FAILED, "PendingPods", "2")),
    (FIVE, "pendingPods: 0", (Verdict.PASSED, "PendingPods", "0")),
    # Five nodes at 0.20 an hour.
    (FIVE, 'maxPricePerHour: "1.00"', (Verdict.PASSED, "PricePerHour", "1.00")),
    (FIVE, 'maxPricePerHour: "0.99"', (Verdict.FAILED, "PricePerHour", "1.00")),
    (FIVE, "heldGroups: []", (Verdict.PASSED, "HeldGroups", "no group held")),
    (FIVE, "heldGroups: [general]", (Verdict.FAILED, "HeldGroups", "no group held")),
    (FIVE, 'evictions: [{namespace: "*", max: 0}]', (Verdict.PASSED, "Evictions", "0")),
    (FIVE, "groups: [{name: genral, desired: 1}]", (Verdict.FAILED, "GroupExists", "no such group")),
])  # fmt: skip
def test_expectations_of_a_snapshot(given: str, expect: str, expected: tuple[Verdict, str, str]) -> None:
    """The small cluster with pods on top."""
    assert only(f"{given}\nexpect: {{{expect}}}") == expected


def test_workloads_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their pods are numbered on, each once. Looking for a free number from the first one took minutes for thousands of pods."""
    made: list[str] = []
    whole = giving.pod_row

    def counted(workload: StatedWorkload, suffix: str, *rest: int) -> Pod:
        made.append(suffix)
        return whole(workload, suffix, *rest)

    monkeypatch.setattr(giving, "pod_row", counted)
    body = (
        "given: {cluster: x, workloads: [" + ", ".join(["{name: shop/web, replicas: 3}"] * 100) + "]}\nexpect: {pendingPods: 1}"
    )
    grown = given_world(one_test(body), 0, world(), policy(), START_SECONDS)
    assert made == [str(number) for number in range(1, 301)]
    assert len({pod.name for pod in grown.pods}) == len(world().pods) + 300


def test_nodes_on_top_have_room() -> None:
    """Two empty nodes more take two of five pods: of five nodes that are needed, three are there."""
    more = f"{FIVE[:-1]}, nodes: [{{group: general, count: 2}}]}}"
    assert result(f"{more}\nexpect: {{groups: [{{name: general, desired: 5}}], pendingPods: 0}}").verdict is Verdict.PASSED
    alone = "given: {cluster: x, nodes: [{group: general, count: 2}]}"
    # Without pods all are empty, and those above the minimum of 1 leave in the end.
    assert result(f"{alone}\nexpect: {{groups: [{{name: general, desired: 3, settled: 1}}]}}").verdict is Verdict.PASSED


@pytest.mark.parametrize(("expect", "actual"), [
    ("{namespace: shop, max: 1}", "2"), ("{namespace: batch, max: 0}", "1"), ('{namespace: "*", max: 2}', "3"),
    ("{namespace: sho, max: 0}", "0"),
])  # fmt: skip
def test_evictions_count_by_namespace(expect: str, actual: str) -> None:
    """A pod that moves twice counts twice, and a namespace is a whole name; `explain` is asked about the first pod's node."""
    text = one_test(f"given: {{cluster: x}}\nexpect: {{evictions: [{expect}]}}")
    plan, _ = decide(world(), policy(), Memory(), START_SECONDS)
    seen = Seen(plan=plan, pending=(), evicted=("batch/b", "shop/a", "shop/a"), node_of={"batch/b": "n1", "shop/a": "n2"})
    (judged,) = judge(text, 0, seen).judged
    about = {"2": "node n2", "1": "node n1", "3": "node n1", "0": ""}[actual]
    assert (judged.actual, judged.about, judged.verdict is Verdict.PASSED) == (actual, about, actual == "0")


def test_expectations_of_a_scenario() -> None:
    """Nodes at the end, the longest wait, the cost of the run, and what the scenario itself expects."""
    expect = "{groups: [{name: general, nodes: 2}], maxPendingTime: 5m, maxCost: '1.50'}"
    text = one_test(f"given: {{scenario: x}}\nexpect: {expect}")
    plan, _ = decide(world(), policy(), Memory(), START_SECONDS)
    good = Seen(plan=plan, pending=(), evicted=(), nodes_of={"general": 2}, longest_wait_seconds=300, cost="1.50")
    bad = Seen(
        plan=plan, pending=("shop/a",), evicted=(), nodes_of={}, longest_wait_seconds=None, cost="1.51", unmet=("it rains",)
    )
    assert [one.verdict for one in judge(text, 0, good).judged] == [Verdict.PASSED] * 3
    assert [(one.code, one.actual) for one in judge(text, 0, bad).failures] == [
        ("NodesAtEnd", "0"), ("PendingTime", "never placed"), ("RunCost", "1.51"), ("ScenarioExpectation", "it rains"),
    ]  # fmt: skip


def test_a_group_without_a_price_makes_the_cost_unknown() -> None:
    """What is not known is never counted as nothing."""
    dear = POLICY.replace('  pricePerHour: "0.20"\n', "")
    verdict, code, actual = only(f'{FIVE}\nexpect: {{maxPricePerHour: "100.00"}}', policy_text=dear)
    assert (verdict, code, actual) == (Verdict.FAILED, "PricePerHour", "unknown")


def test_a_hold_is_a_held_group() -> None:
    """The policy holds it; `explain` is asked about that group."""
    held = POLICY.replace("  size: {min: 1, max: 5}\n", "  size: {min: 1, max: 5}\n  hold: {reason: repair}\n")
    (judged,) = result(f"{FIVE}\nexpect: {{heldGroups: []}}", policy_text=held).judged
    assert (judged.verdict, judged.actual, judged.about, judged.writes) == (
        Verdict.FAILED,
        "general",
        "group general",
        "[general]",
    )


@pytest.mark.parametrize(("expect", "found", "verdict"), [
    ("absent: [PodsWithoutNode]", (), Verdict.PASSED),
    ("absent: [PodsWithoutNode]", (("PodsWithoutNode", "2 more pods have nowhere to run"),), Verdict.FAILED),
    ("present: [NodesRemoved]", (("NodesRemoved", "1 node leaves"),), Verdict.PASSED),
    ("present: [NodesRemoved]", (), Verdict.FAILED),
    ("present: [NodesRemoved]", None, Verdict.SKIPPED),
])  # fmt: skip
def test_consequences(expect: str, found: tuple[tuple[str, str], ...] | None, verdict: Verdict) -> None:
    """They must be there, or must not; without a policy to compare with, nothing is judged."""
    body = f"{FIVE}\nexpect: {{consequences: {{{expect}}}}}"
    assert result(body, consequences=found).verdict is verdict


def test_what_update_writes_is_the_actual_value() -> None:
    """Only for what failed."""
    failed, passed = result(f"{SEVEN}\nexpect: {{groups: [{{name: general, desired: 9, settled: 5}}]}}").judged
    assert (failed.writes, passed.writes) == ("5", None)


def test_a_group_that_does_not_exist_cannot_get_nodes() -> None:
    """The place is that of its name."""
    with pytest.raises(DocumentError, match=r"tests/small.yaml:7:43: the policy has no group 'genral'"):
        result("given: {cluster: x, nodes: [{group: genral, count: 2}]}\nexpect: {pendingPods: 0}")


def test_rules_are_the_values_that_the_documents_write() -> None:
    """Every value that is not the built-in one, by its path."""
    assert [rule.name for rule in rules(policy())] == [
        "spec.mode", "spec.limits[0] (far)", "general spec.size.min", "general spec.size.max", "general spec.pricePerHour",
        "spare spec.size.min", "spare spec.size.max", "spare spec.pricePerHour",
    ]  # fmt: skip
