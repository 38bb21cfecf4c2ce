"""LeastCost in whole decisions: what is bought, what is left alone, and what the plan says."""

import subprocess
import sys

import pytest

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.decisions.decide import decide
from reconciler.decisions.growth.cost import rearrange
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Expander, Limit, PolicySet, Tier
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import codes, group, plan_of, pod
from tests.decisions.growth.cost.worlds import LEAST_COST, random_demand


def cluster_of(pods: int, *, cpu: str = "1") -> ClusterBuilder:
    """Groups of 4 and of 10 cores without nodes, and pods of one core that wait."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4", memory="64Gi")
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.pods("web", pods, cpu=cpu, memory="1Gi")
    return cluster


def rules(*, small: int = 10, large: int = 10, **fields: object) -> PolicySet:
    """A core costs less on the large node: 0.40 for 4 cores, 0.90 for 10."""
    return policy(
        node_group("small", max=small, price_per_hour="0.40"),
        node_group("large", max=large, price_per_hour="0.90"),
        expanders=LEAST_COST,
        **fields,
    )


def sizes(plan: Plan) -> dict[str, int]:
    """Desired sizes of the groups that have any."""
    return {line.name: line.desired for line in plan.groups if line.desired}


def test_a_mix_is_bought_where_it_costs_less_than_one_group() -> None:
    """Fourteen cores: 1 large + 1 small cost 1.30, two large 1.80, four small 1.60."""
    plan = plan_of(cluster_of(14).world(), rules())
    assert sizes(plan) == {"large": 1, "small": 1}
    assert plan.cost.desired_per_hour == "1.30"
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    assert sorted(line.group or "" for line in plan.pods) == ["large"] * 10 + ["small"] * 4


def test_the_plan_tells_the_mix_and_what_it_was_compared_with() -> None:
    """The cost of the mix, the cost of one choice after the other, and the pods and nodes of each group."""
    line = group(plan_of(cluster_of(14).world(), rules()), "small")
    assert codes(line) == ["PendingPods", "LeastCostMix"]
    assert line.reasons[0].message.startswith(
        "4 pending pods on 1 new node, chosen by LeastCost: 1 x large + 1 x small for 1.30/h rather than "
    )
    assert line.reasons[1].message == "LeastCost: 1 x large + 1 x small for 1.30/h, and a single group would cost 1.60/h"


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        (rules(large=0), {"small": 4}),
        (rules(small=0), {"large": 2}),
        (rules(limits=(Limit(name="cores", max=(("cpu", 13_999),)),)), {"large": 1}),
        (rules(limits=(Limit(name="cores", max=(("cpu", 14_000),)),)), {"large": 1, "small": 1}),
        (rules(pace=Pace(max_added_nodes=4)), {"large": 1, "small": 1}),
    ],
)
def test_bounds_hold_for_mixes(documents: PolicySet, expected: dict[str, int]) -> None:
    """Fourteen cores: a maximum of no node leaves the other group alone, a core less than 14 leaves room for the large node
    and nothing beside it, and a pace of the four small nodes that one choice takes is no bound for the mix of two."""
    assert sizes(plan_of(cluster_of(14).world(), documents)) == expected


def test_a_mix_stays_within_one_tier() -> None:
    """The first tier serves all pods, so the second is not asked, however cheap the two were together."""
    cluster = cluster_of(14)
    documents = policy(
        node_group("small", price_per_hour="0.40", tier="second"),
        node_group("large", price_per_hour="0.90", tier="first"),
        tiers=(Tier(name="first"), Tier(name="second")),
        expanders=LEAST_COST,
    )
    assert sizes(plan_of(cluster.world(), documents)) == {"large": 2}


def test_without_a_price_the_choice_is_by_waste_and_says_so() -> None:
    """One group that could grow has no price: LeastWaste decides, and its name is in the reason. Two small nodes have 64 GiB
    more than the large one."""
    documents = policy(node_group("small"), node_group("large", price_per_hour="0.90"), expanders=LEAST_COST, near_tie_percent=0)
    plan = plan_of(cluster_of(8).world(), documents)
    assert sizes(plan) == {"large": 1}
    assert "LeastWaste (a price is unknown, so not LeastCost)" in group(plan, "large").reasons[0].message


def test_a_group_that_may_not_grow_needs_no_price() -> None:
    """It is backed off; the mix of the others is bought."""
    cluster = cluster_of(14)
    cluster.group("other", nodes=0)
    documents = rules()
    documents = policy(*documents.groups, node_group("other"), expanders=LEAST_COST)
    memory = Memory(backoffs={"other": BackoffState(failures=1, failed_seconds=NOW - 60, until_seconds=NOW + 240)})
    assert sizes(plan_of(cluster.world(), documents, memory)) == {"large": 1, "small": 1}


def test_daemonset_pods_take_room_on_the_nodes_of_a_mix() -> None:
    """Half a core on every node: 9 pods on a large node and 3 on a small one, so twelve pods make that mix."""
    cluster = cluster_of(12)
    cluster.daemonset("agent", cpu="500m")
    plan = plan_of(cluster.world(), rules())
    assert sizes(plan) == {"large": 1, "small": 1}
    cluster = cluster_of(14)
    cluster.daemonset("agent", cpu="500m")
    assert plan_of(cluster.world(), rules()).cost.desired_per_hour == "1.70"


def test_pods_under_anti_affinity_keep_their_nodes() -> None:
    """Three pods that must not meet get a node each as they would anyway; the others are bought as a mix beside them."""
    cluster = cluster_of(14)
    apart = AffinityTerm(topology_key="kubernetes.io/hostname", selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("db", 3, cpu="4", memory="1Gi", shape={"anti_affinity": (apart,)})
    plan = plan_of(cluster.world(), rules())
    assert all(line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods)
    greedy = plan_of(cluster.world(), policy(*rules().groups, expanders=(Expander.LEAST_WASTE,)))
    assert sum(sizes(plan).values()) >= 3
    assert float(plan.cost.desired_per_hour or 0) <= float(greedy.cost.desired_per_hour or 0)


def test_siblings_share_the_nodes_of_a_mix() -> None:
    """Two groups of the same name for balancing and of the same price get the same number of nodes."""
    cluster = ClusterBuilder()
    for name in ("a", "b"):
        cluster.group(name, nodes=0, cpu="4", memory="64Gi")
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.pods("web", 28, cpu="1", memory="1Gi")
    documents = policy(
        node_group("a", price_per_hour="0.40", balance_with="pair"),
        node_group("b", price_per_hour="0.40", balance_with="pair"),
        node_group("large", price_per_hour="0.90"),
        expanders=LEAST_COST,
    )
    assert sizes(plan_of(cluster.world(), documents)) == {"a": 1, "b": 1, "large": 2}


def test_a_mix_that_balancing_makes_dearer_is_not_bought() -> None:
    """Two large and two small nodes would cost 2.60, but the dear sibling gets one of the small: 3.00; three large cost 2.70."""
    cluster = ClusterBuilder()
    for name in ("a", "b"):
        cluster.group(name, nodes=0, cpu="4", memory="64Gi")
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.pods("web", 28, cpu="1", memory="1Gi")
    documents = policy(
        node_group("a", price_per_hour="0.40", balance_with="pair"),
        node_group("b", price_per_hour="0.80", balance_with="pair"),
        node_group("large", price_per_hour="0.90"),
        expanders=LEAST_COST,
    )
    assert sizes(plan_of(cluster.world(), documents)) == {"large": 3}


def test_without_the_solver_the_plan_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """highspy cannot be imported: all pods are served, and every group that grew tells that no solver was asked."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    world, documents = random_demand(1, pods=60, shapes=6)
    plan = plan_of(world, documents)
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    grown = [line for line in plan.groups if line.desired]
    assert grown
    assert all("highspy is not installed" in line.reasons[1].message for line in grown)


@pytest.mark.parametrize("seed", range(4))
def test_never_dearer_than_one_choice_after_the_other(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pods are served, for less or the same."""
    world, documents = random_demand(seed, pods=80, shapes=8)
    mixed = plan_of(world, documents)
    monkeypatch.setattr("reconciler.decisions.growth.scale_up.rearrange", lambda *_: None)
    greedy = plan_of(world, documents)
    assert [line.outcome for line in mixed.pods] == [line.outcome for line in greedy.pods]
    assert float(mixed.cost.desired_per_hour or 0) <= float(greedy.cost.desired_per_hour or 0)


def test_what_was_grown_is_restored_when_nothing_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mix that a bound refuses in the end leaves the plan as it was, node for node."""
    world, documents = random_demand(3, pods=80, shapes=8)
    monkeypatch.setattr(rearrange, "_buy", lambda *_: None)
    refused = plan_of(world, documents)
    monkeypatch.setattr("reconciler.decisions.growth.scale_up.rearrange", lambda *_: None)
    assert refused == plan_of(world, documents)


def test_a_small_work_budget_asks_for_no_mix() -> None:
    """Two groups, one shape: 200 steps that a budget of 100 does not reach for; the greedy answer is complete."""
    plan, _ = decide(cluster_of(14).world(), rules(), Memory(), NOW, work_budget=100)
    assert sizes(plan) == {"small": 4}
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_pods_on_new_nodes_run_there() -> None:
    """Decided on again with the mix's nodes on their way, the same pods have room and nothing more is bought."""
    plan = plan_of(cluster_of(14).world(), rules())
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4", memory="64Gi", replicas=group(plan, "small").desired)
    cluster.group("large", nodes=0, cpu="10", memory="64Gi", replicas=group(plan, "large").desired)
    cluster.pods("web", 14, cpu="1", memory="1Gi")
    again = plan_of(cluster.world(), rules())
    assert not again.actions
    assert pod(again, "shop/web-1").outcome is PodOutcome.FITS_UPCOMING


def test_equal_plans_in_processes_with_other_hash_seeds() -> None:
    """The whole plan, to the last byte."""
    program = (
        "import msgspec; from tests.decisions.growth.cost.worlds import random_demand;"
        "from tests.decisions.deciding import plan_of;"
        "print(msgspec.json.encode(plan_of(*random_demand(2, pods=80, shapes=8))).decode())"
    )
    texts = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_deciding_imports_no_solver() -> None:
    """Neither the import nor a decision without a mix to look for brings it in."""
    program = (
        "import sys; from reconciler.decisions.decide import decide; assert 'highspy' not in sys.modules;"
        "from tests.decisions.growth.cost.test_least_cost import *; plan_of(cluster_of(1).world(), rules());"
        "assert 'highspy' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
