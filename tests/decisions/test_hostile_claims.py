"""One pod whose claim nobody can evaluate: it is `NotModelled`, and the plan for all others is the one without it."""

import msgspec
import pytest

from reconciler.decisions.decide import full_decision
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan, PodOutcome
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import plan_of, pod
from tests.decisions.device_cluster import DeviceCluster, request

RULES = policy(node_group("gpus", max=9))
COSTLY = "||".join([f"'{'a' * 380}'.matches('a*a*a*b')"] * 22)


def _cluster(expression: str | None, kinds: int = 1) -> DeviceCluster:
    """Two nodes with devices; one pod with a claim waits, and more pods than fit. So do pods with a hostile claim."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpus", nodes=2, cpu="8"), count=2)
    cluster.train("honest", 1)
    cluster.pods("web", 3, cpu="6")
    for number in range(kinds if expression is not None else 0):
        cluster.train(f"evil{number}", 1, request(1, f"{expression}" if kinds == 1 else f"{expression}||{number}==-1"))
    return cluster


def _others(plan: Plan) -> Plan:
    pods = tuple(line for line in plan.pods if not line.pod.startswith("shop/evil"))
    return msgspec.structs.replace(plan, pods=pods, summary="", digest="")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("||".join(["false"] * 1400), "an expression of more than 2000 words"),
        (f"1 == {'0' * 4999}1", "a number of more than 20 digits"),
        (f"semver('{'9' * 5000}.0.0') == semver('1.0.0')", "is not a semantic version"),
        (f"quantity('{'9' * 5000}') == quantity('1')", "a quantity of more than 64 characters"),
        ("(" * 900 + "true" + ")" * 900, "nested too deeply"),
        ("!" * 1900 + "true", "nested too deeply"),
    ],
)
def test_what_kubernetes_takes_and_nobody_can_evaluate_here(expression: str, why: str) -> None:
    """The reason names it, and the plan differs in that pod alone."""
    plan = plan_of(_cluster(expression).world(), RULES)
    line = pod(plan, "shop/evil0-1-1")
    assert line.outcome is PodOutcome.NOT_MODELLED
    assert why in line.reasons[0].message
    assert _others(plan) == _others(plan_of(_cluster(None).world(), RULES))
    assert plan.problems == ()


def test_the_cost_of_evaluation_is_charged() -> None:
    """Each of 20 kinds of pods has a selector of 8 KiB. Compiling one takes 5 steps a character, at least."""
    calm, hostile = Work(50_000_000), Work(50_000_000)
    full_decision(_cluster(None).world(), RULES, Memory(), NOW, calm)
    full_decision(_cluster(COSTLY, kinds=20).world(), RULES, Memory(), NOW, hostile)
    assert hostile.spent - calm.spent > 20 * 5 * len(COSTLY)
