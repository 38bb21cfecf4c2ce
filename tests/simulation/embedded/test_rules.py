"""The rule book notices each kind of breach; every test breaks one rule on purpose."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Action, ActionKind, Bound, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Limit, PolicySet
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour
from reconciler.simulation.embedded.field_owner import OUR_MANAGER
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.simulation.embedded.writes import SimulatedWrites
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")


class _Bench:
    def __init__(self, cluster: ClusterBuilder, rules: PolicySet, join_seconds: int = 30) -> None:
        self.policy = rules
        self.cluster = SimulatedCluster(cluster.world(), rules, NOW, otherwise=MachineBehaviour(join_seconds=join_seconds))
        self.cluster.advance_to(NOW)
        self.writes = SimulatedWrites(self.cluster)
        self.book = RuleBook(self.cluster)

    def bound(self) -> Bound:
        facts = self.cluster.objects.targets[GENERAL]
        return Bound(resource_version=facts.resource_version, replicas=facts.replicas or 0, owner_digest="", policy_digest="")

    def drains(self, node: str) -> None:
        """We began to remove a node."""
        self.cluster.journal.add(self.cluster.now_seconds, Happened.REMOVAL_BEGAN, node, by=OUR_MANAGER, target=str(GENERAL))

    def plan(self) -> Plan:
        return decide(self.cluster.world(), self.policy, Memory(), self.cluster.now_seconds)[0]

    def check(self, plan: Plan | None = None) -> list[str]:
        return [violation.rule for violation in self.book.check(self.policy, plan or self.plan())]


def _general(nodes: int = 2) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, cpu="4")
    return cluster


def test_nothing_happened_nothing_is_broken():
    """A cluster at rest."""
    assert _Bench(_general(), policy(node_group("general"))).check() == []


def test_write_above_the_maximum():
    """Six replicas where five are the maximum."""
    bench = _Bench(_general(), policy(node_group("general", max=5)))
    bench.writes.resize(GENERAL, 6, bench.bound())
    assert bench.check() == ["OutOfRange"]


def test_write_below_the_minimum():
    """One replica where two are the minimum."""
    bench = _Bench(_general(), policy(node_group("general", min=2)))
    bench.writes.resize(GENERAL, 1, bench.bound())
    assert bench.check() == ["OutOfRange"]


def test_write_from_outside_towards_the_range_is_fine():
    """Ten to nine with a maximum of five is healing, not a breach."""
    bench = _Bench(_general(10), policy(node_group("general", max=5)))
    bench.writes.resize(GENERAL, 9, bench.bound())
    assert bench.check() == []


def test_growth_past_a_limit():
    """Three nodes where two are allowed, counted from what was asked for."""
    bench = _Bench(_general(), policy(node_group("general"), limits=(Limit(name="two", max=(("nodes", 2),)),)))
    assert bench.check() == []
    bench.writes.resize(GENERAL, 3, bench.bound())
    bench.cluster.advance_to(NOW + 1)
    assert bench.check() == ["LimitPassed"]


@pytest.mark.parametrize(("bound", "broken"), [(("pricePerHour", 1_499_999), True), (("pricePerMonth", 1_095_000_000), False)])
def test_growth_past_a_limit_on_money(bound, broken):
    """Three nodes at 0.50: 1.50 an hour, 1095 in 730 hours."""
    rules = policy(node_group("general", price_per_hour="0.50"), limits=(Limit(name="money", max=(bound,)),))
    bench = _Bench(_general(), rules)
    assert bench.check() == []
    bench.writes.resize(GENERAL, 3, bench.bound())
    bench.cluster.advance_to(NOW + 1)
    assert bench.check() == (["LimitPassed"] if broken else [])


def test_write_to_a_held_group():
    """A hold was there before the write."""
    bench = _Bench(_general(), policy(node_group("general")))
    bench.cluster.hold(GENERAL, "repair")
    plan = bench.plan()
    bench.writes.resize(GENERAL, 3, bench.bound())
    assert bench.check(plan) == ["HeldTouched"]


def test_write_against_another_owner_counts_even_when_refused():
    """The API server prevented it; it should not have been tried."""
    cluster = ClusterBuilder()
    from reconciler.cluster.target import FieldOwner

    cluster.group("general", nodes=2, owners=(FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=1),))
    bench = _Bench(cluster, policy(node_group("general")))
    bench.writes.resize(GENERAL, 3, bench.bound())
    assert bench.check() == ["HeldTouched"]


def test_budget_that_lacks_pods_after_an_eviction():
    """A pod is evicted past the budget that protects it."""
    cluster = _general()
    cluster.pods("db", 2, on="general-1")
    cluster.budget("db", max_unavailable="0", allowed=1, healthy=2, desired=2, expected=2)
    bench = _Bench(cluster, policy(node_group("general")))
    bench.drains("general-1")
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "db-1"])
    assert bench.check() == ["BudgetBroken"]


def test_evicted_pod_that_finds_no_place():
    """A quarter of an hour after its eviction it still waits."""
    cluster = _general(1)
    cluster.pods("big", 1, cpu="3", on="general-1")
    cluster.pods("rest", 1, cpu="2")
    bench = _Bench(cluster, policy(node_group("general", max=1)))
    bench.drains("general-1")
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "big-1"])
    bench.cluster.advance_to(NOW + 600)
    assert bench.check() == []
    bench.cluster.advance_to(NOW + 1_600)
    assert bench.check() == ["EvictedHomeless"]


def test_node_bought_and_removed_for_one_demand():
    """Bought, joined, and taken away again although nothing changed in between."""
    bench = _Bench(_general(1), policy(node_group("general")))
    bench.writes.resize(GENERAL, 2, bench.bound())
    bench.cluster.advance_to(NOW + 60)
    assert bench.check() == []
    bench.writes.remove_node(GENERAL, "general-2", bench.bound())
    assert bench.check() == ["BoughtAndRemoved"]


def test_node_that_joined_too_late_may_leave():
    """Others were bought in its place after fifteen minutes."""
    bench = _Bench(_general(1), policy(node_group("general")), join_seconds=1_000)
    bench.writes.resize(GENERAL, 2, bench.bound())
    bench.cluster.advance_to(NOW + 1_100)
    assert bench.check() == []
    bench.writes.remove_node(GENERAL, "general-2", bench.bound())
    assert bench.check() == []


def test_group_that_grows_and_shrinks_in_one_plan():
    """An up and a down of one group at once."""
    bench = _Bench(_general(), policy(node_group("general")))
    plan = bench.plan()
    template = Action(
        kind=ActionKind.RESIZE, group="general", target=str(GENERAL), from_=2, to=3, bound=bench.bound(), reason=Reason("X", "x")
    )
    down = msgspec.structs.replace(template, kind=ActionKind.REMOVE_NODE, from_=2, to=1, nodes=("general-1",))
    assert bench.check(msgspec.structs.replace(plan, actions=(template, down))) == ["UpAndDown"]


def test_evicted_pod_that_buys_a_node():
    """The pod that takes an evicted one's place triggers a purchase."""
    cluster = _general()
    cluster.pods("web", 1, on="general-1")
    bench = _Bench(cluster, policy(node_group("general")))
    bench.drains("general-1")
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "web-1"])
    bench.cluster.advance_to(NOW)
    new = next(pod.key for pod in bench.cluster.objects.pods.values() if pod.replaces)
    plan = msgspec.structs.replace(bench.plan(), pods=(PodLine(pod=new, outcome=PodOutcome.TRIGGERS_SCALE_UP),))
    assert bench.check(plan) == ["EvictionBought"]


def test_pod_that_another_controller_evicted_may_buy_a_node():
    """Somebody lowered replicas, and the machine controller drained the node: not our doing."""
    cluster = _general()
    cluster.pods("web", 1, on="general-1")
    bench = _Bench(cluster, policy(node_group("general")))
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "web-1"])
    bench.cluster.advance_to(NOW)
    new = next(pod.key for pod in bench.cluster.objects.pods.values() if pod.replaces)
    plan = msgspec.structs.replace(bench.plan(), pods=(PodLine(pod=new, outcome=PodOutcome.TRIGGERS_SCALE_UP),))
    assert bench.check(plan) == []


@pytest.mark.parametrize(("seconds", "broken"), [(29, []), (30, ["EvictionBought"])])
def test_evicted_pod_may_buy_a_node_while_a_pod_that_others_evicted_ends(seconds, broken):
    """It takes a second place until its grace period of 30 s is over: nobody could reckon with that."""
    cluster = _general()
    cluster.pods("web", 1, on="general-1")
    cluster.pods("api", 1, on="general-2")
    bench = _Bench(cluster, policy(node_group("general")))
    bench.drains("general-1")
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "api-1"])
    bench.cluster.pods.evict(bench.cluster.objects.pods["shop", "web-1"])
    bench.cluster.advance_to(NOW + seconds)
    new = next(pod.key for pod in bench.cluster.objects.pods.values() if pod.replaces == "shop/web-1")
    plan = msgspec.structs.replace(bench.plan(), pods=(PodLine(pod=new, outcome=PodOutcome.TRIGGERS_SCALE_UP),))
    assert bench.check(plan) == broken


def _grew_for_pods() -> tuple[_Bench, Plan]:
    """The group has grown by one for pods that are still there."""
    bench = _Bench(_general(), policy(node_group("general")))
    line = PodLine(pod="shop/web-1", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="general")
    plan = msgspec.structs.replace(bench.plan(), pods=(line,))
    bench.writes.resize(GENERAL, 3, bench.bound())
    assert bench.check(plan) == []
    bench.cluster.advance_to(NOW + 60)
    return bench, plan


def test_group_that_grew_for_pods_loses_an_older_node():
    """Nothing changed in between: what was bought has made a node of the same group unneeded."""
    bench, _ = _grew_for_pods()
    bench.writes.remove_node(GENERAL, "general-1", bench.bound())
    assert bench.check() == ["GrewAndShrank"]


def test_group_that_grew_may_shrink_for_another_demand():
    """The demand changed in between."""
    bench, _ = _grew_for_pods()
    bench.cluster.journal.add(NOW + 60, Happened.DEMAND_CHANGED, "shop/web", before=3, after=1)
    bench.writes.remove_node(GENERAL, "general-1", bench.bound())
    assert bench.check() == []


def _replacing(bench: _Bench, plan: Plan) -> Plan:
    """The plan with a replacement of general-1 by a node of its own group."""
    action = Action(
        kind=ActionKind.REPLACE, group="general", target=str(GENERAL), from_=3, to=4, nodes=("general-1",), bound=bench.bound(),
        reason=Reason("Replacement", "x"),
    )  # fmt: skip
    return msgspec.structs.replace(plan, actions=(action,))


def test_node_that_a_replacement_named_may_leave():
    """The one up and down that names both sides; here it is noticed only that it saves nothing."""
    bench, plan = _grew_for_pods()
    assert bench.check(_replacing(bench, msgspec.structs.replace(plan, pods=()))) == ["ReplacedForMore"]
    bench.writes.remove_node(GENERAL, "general-1", bench.bound())
    assert bench.check() == []
