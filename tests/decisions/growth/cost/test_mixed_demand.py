"""Random clusters in which pods under spread and anti-affinity wait beside plain ones, under limits, paces, tiers, balancing."""

import random

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.world import World
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Limit, PolicySet, Tier
from reconciler.policy.pace import Pace
from tests.builders import ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import plan_of
from tests.decisions.growth.cost.worlds import LEAST_COST

SERVED = {PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING}
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def case(seed: int) -> tuple[World, PolicySet]:
    """A few groups of nodes of several sizes, a few workloads, and often a limit or a pace."""
    rng = random.Random(seed)
    cluster, documents = ClusterBuilder(), []
    for number in range(rng.randint(2, 6)):
        name, cores = f"g{number}", rng.choice((4, 8, 16, 32))
        gib = cores * rng.choice((2, 4, 8))
        cluster.group(name, nodes=rng.choice((0, 0, 1)), cpu=str(cores), memory=f"{gib}Gi", labels={ZONE: rng.choice("abc")})
        price = f"{cores * 0.05 * rng.uniform(0.8, 1.25):.3f}"
        fields = {"tier": rng.choice("xxy"), "balance_with": rng.choice(("Off", "Off", "Auto", "siblings"))}
        documents.append(node_group(name, max=rng.choice((2, 5, 30)), price_per_hour=price, **fields))
    for number in range(rng.randint(2, 6)):
        own = selector(app=f"s{number}")
        apart = AffinityTerm(topology_key=HOST, selector=rng.choice((own, selector(app="s0"))), namespaces=("shop",))
        rule = rng.choice(
            (
                *([{}] * 5),
                {"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=own),)},
                {"anti_affinity": (apart,)},
            )
        )
        cpu, memory = rng.choice(("500m", "1", "1500m", "2", "3")), rng.choice(("1Gi", "2Gi", "4Gi", "6Gi"))
        cluster.pods(f"s{number}", rng.randint(1, 25), cpu=cpu, memory=memory, shape=rule, priority=rng.choice((0, 0, 5)))
    cluster.daemonset("agent", cpu="200m")
    most = (("cpu", rng.choice((40_000, 100_000))), ("nodes", 12))
    limits = (Limit(name="all", max=most),) if rng.random() < 0.4 else ()
    pace = Pace(max_added_nodes=rng.choice((3, 8))) if rng.random() < 0.3 else Pace()
    tiers = (Tier(name="x"), Tier(name="y"))
    return cluster.world(), policy(*documents, tiers=tiers, limits=limits, pace=pace, expanders=LEAST_COST)


def served(plan: Plan) -> set[str]:
    """Pods that have a place."""
    return {line.pod for line in plan.pods if line.outcome in SERVED}


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_a_mix_serves_what_one_choice_after_the_other_serves_for_at_most_the_same(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pod loses its place, nothing becomes dearer, bounds hold, and the reasons add up to the nodes."""
    mixes = 0
    for seed in range(first, first + 15):
        world, rules = case(seed)
        mixed = plan_of(world, rules)
        with monkeypatch.context() as patched:
            patched.setattr("reconciler.decisions.growth.scale_up.rearrange", lambda *_: None)
            greedy = plan_of(world, rules)
        assert served(greedy) <= served(mixed), seed
        if served(greedy) == served(mixed):
            assert float(mixed.cost.desired_per_hour or 0) <= float(greedy.cost.desired_per_hour or 0), seed
        added = 0
        for line in mixed.groups:
            told = sum(reason.data["nodes"] for reason in line.reasons if reason.code == "PendingPods")  # type: ignore[misc]
            assert line.desired - line.current == told, seed
            assert line.desired <= line.max, seed
            added += told
            mixes += any(reason.code == "LeastCostMix" for reason in line.reasons)
        assert added <= rules.policy.pace.max_added_nodes, seed
    assert mixes
