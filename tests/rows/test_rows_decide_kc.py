"""Rows S98 to S113: what a cost tool's account of the Cluster Autoscaler says, and its static report."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.drains.drain_report import DrainReport, drain_report
from reconciler.plan.plan import ActionKind, NodeState, Plan
from reconciler.policy.documents import Budget, DrainRules, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, group, node, of_kind, plan_of
from tests.policy.texts import POLICY, read
from tests.policy.texts import group as group_text

LONG_AGO = Memory(unneeded_since={"general-1": NOW - 3600, "general-2": NOW - 3600})


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general"), budgets=(Budget(nodes=100),), **fields)


def _one_pod(
    cpu: str = "1", *, elsewhere: str = "1", budget: int | None = None, rules: PolicySet | None = None, **fields: object
) -> Plan:
    """A plan for general-1 with one pod; general-2 has a pod of `elsewhere` cores that pins it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("base", 1, cpu=elsewhere, on="general-2", traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu=cpu, on="general-1", **fields)
    if budget is not None:
        cluster.budget("web", allowed=budget, namespace=str(fields.get("namespace", "shop")))
    return plan_of(cluster.world(), rules or _rules(), LONG_AGO)


def _goes(plan: Plan) -> bool:
    return [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-1",)]


def test_s098_requests_count_and_nothing_else() -> None:
    """A pod that requests nothing leaves its node at 0 %, whatever it uses; four requested cores fill it."""
    nothing, all_of_it = _one_pod("0"), _one_pod("4")
    assert (node(nothing, "general-1").utilization_permille, _goes(nothing)) == (0, True)
    assert (node(all_of_it, "general-1").utilization_permille, _goes(all_of_it)) == (1000, False)


@pytest.mark.parametrize(("most", "reached"), [(10, 3), (2, 2)])
def test_s099_the_loop_comes_to_rest(most: int, reached: int) -> None:
    """Three pods of a node each, none there: all that are allowed at once; when they run, nothing more."""
    rules = policy(node_group("general", max=most))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 3, cpu="4")
    assert group(plan_of(cluster.world(), rules), "general").desired == reached
    grown = ClusterBuilder()
    names = grown.group("general", nodes=reached)
    grown.pods("web", 3, cpu="4", on=[*names, *[None] * (3 - reached)])
    assert not plan_of(grown.world(), rules).actions


@pytest.mark.parametrize(("cpu", "goes"), [("1999m", True), ("2001m", False)])
def test_s100_removal_is_looked_at_below_half(cpu: str, goes: bool) -> None:
    """Just below and just above 2 of 4 cores."""
    assert _goes(_one_pod(cpu)) is goes


@pytest.mark.parametrize(("elsewhere", "goes"), [("3", True), ("3001m", False)])
def test_s101_the_scheduling_rules_decide_whether_a_pod_moves(elsewhere: str, goes: bool) -> None:
    """A pod of 1 core needs exactly the core that is free on the other node."""
    assert _goes(_one_pod(elsewhere=elsewhere)) is goes


def test_s102_pods_of_daemonsets_are_safe() -> None:
    """Even with local storage."""
    plan = _one_pod(owner="DaemonSet", traits={"local_volumes": ("cache",), "daemonset": True})
    assert _goes(plan)
    assert node(plan, "general-1").state is NodeState.EMPTY


def test_s103_mirror_pods_are_safe() -> None:
    """Static pods have no controller and no place to move to."""
    assert _goes(_one_pod(owner=None, namespace="kube-system", elsewhere="4", traits={"mirror": True}))


def test_s104_few_replicas_block_when_a_minimum_is_set() -> None:
    """One replica: free with the default of 0, kept with a minimum of 2; two replicas are enough."""
    two = _rules(drain=DrainRules(min_replicas=2))
    assert _goes(_one_pod())
    assert blocker_codes(_one_pod(rules=two), "general-1") == ["MinReplicas"]
    assert _goes(_one_pod(rules=two, replicas=2))


def test_s105_local_storage_blocks() -> None:
    """The blocker names the volume."""
    (blocker,) = node(_one_pod(traits={"local_volumes": ("cache",)}), "general-1").blockers
    assert (blocker.code, "cache" in blocker.message) == ("LocalStorage", True)


def test_s106_system_pods_move_only_with_a_budget_or_after_the_timeout_that_is_asked_for() -> None:
    """A day old: kept for ever, free under a budget with room, free after an hour where the policy says so."""
    assert blocker_codes(_one_pod(namespace="kube-system"), "general-1") == ["SystemPod"]
    assert _goes(_one_pod(namespace="kube-system", budget=1))
    hour = _rules(drain=DrainRules(system_pod_timeout_seconds=3600))
    assert _goes(_one_pod(namespace="kube-system", rules=hour))
    assert blocker_codes(_one_pod(namespace="kube-system", rules=hour, age=3599), "general-1") == ["SystemPod"]


def test_s107_every_failing_check_is_listed() -> None:
    """Four rules of one pod and the use of the node: five."""
    traits = {"safe_to_evict": "false", "local_volumes": ("cache",)}
    plan = _one_pod("3", owner=None, namespace="kube-system", traits=traits)
    expected = ["LocalStorage", "NotSafeToEvict", "NotUnderutilized", "SystemPod", "Unreplicated"]
    assert sorted(blocker_codes(plan, "general-1")) == expected


def test_s110_headroom_is_one_line() -> None:
    """The line `headroom: {nodes: 1}` and nothing else buys a node that is kept free."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    for line, expected in (("", 1), ("  headroom: {nodes: 1}\n", 2)):
        text = POLICY + group_text("general", f"  size: {{min: 0, max: 5}}\n{line}")
        (rules,) = read(text).sets
        assert group(plan_of(cluster.world(), rules), "general").desired == expected


def _report(*thresholds: int) -> DrainReport:
    """A cheap node with a pod without controller, a dear one with local storage, both nearly empty; a dear one half full."""
    cluster = ClusterBuilder()
    cluster.group("cheap", nodes=1)
    cluster.group("dear", nodes=2)
    cluster.pods("shell", 1, cpu="100m", on="cheap-1", owner=None)
    cluster.pods("cache", 1, cpu="100m", on="dear-1", traits={"local_volumes": ("data",)})
    cluster.pods("web", 1, cpu="2", on="dear-2")
    rules = policy(node_group("cheap", price_per_hour="0.10"), node_group("dear", price_per_hour="3.00"))
    return drain_report(cluster.world(), rules, NOW, thresholds or (50,), 1_000_000)


def test_s111_each_stuck_node_has_its_price() -> None:
    """What keeps it beside what it costs an hour."""
    stuck = [(line.node, line.price_per_hour, [b.code for b in line.blockers]) for line in _report().nodes if line.blockers]
    assert stuck == [("cheap-1", "0.10", ["Unreplicated"]), ("dear-1", "3.00", ["LocalStorage"])]


def test_s112_pods_are_ranked_by_the_money_that_they_block_with_advice() -> None:
    """The pod on the dear node comes first; each says what to do."""
    pins = _report().pins
    assert [(pin.pod, pin.price_per_hour) for pin in pins] == [("shop/cache-1", "3.00"), ("shop/shell-1", "0.10")]
    assert pins[1].advice == ("run it under a controller",)


def test_s113_safe_or_not_at_several_thresholds_with_the_checks_that_fail() -> None:
    """Half full: not at 30 nor 49, safe at 50, 70 and 90 %; a pod that sticks makes it no at all of them."""
    report = _report(30, 50, 70, 90)
    assert report.thresholds == (30, 50, 70, 90)
    assert {line.node: line.safe for line in report.nodes} == {
        "cheap-1": (False,) * 4,
        "dear-1": (False,) * 4,
        "dear-2": (False, True, True, True),
    }
    assert [line.safe for line in _report(49, 50).nodes if line.node == "dear-2"] == [(False, True)]
    assert [(blocker.pod, blocker.code) for line in report.nodes for blocker in line.blockers] == [
        ("shop/shell-1", "Unreplicated"),
        ("shop/cache-1", "LocalStorage"),
    ]
