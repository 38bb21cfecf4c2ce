"""A steady state is reached however many nodes are replaced one by one; if it is not, the plan says so."""

import random

import msgspec
import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.policy.pace import Pace
from reconciler.simulation import settled as settled_module
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.settled import Rest, come_to_rest, unpaced
from tests.builders import NOW, ClusterBuilder, node_group, policy

CONSOLIDATING = ScaleDown(
    utilization_threshold_percent=60, unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED)
)


def _rest(world: World, rules: PolicySet) -> Rest:
    plan, memory = decide(world, rules, Memory(), NOW)
    return come_to_rest(world, rules, memory, NOW, plan)


def _large_for_small(nodes: int, most: int = 1000) -> tuple[World, PolicySet]:
    """Each of `nodes` nodes of 8 cores runs 4.5. A node of 6 cores has room for that and costs a quarter."""
    cluster = ClusterBuilder()
    for number, node in enumerate(cluster.group("big", nodes=nodes, cpu="8")):
        cluster.pods(f"w{number}", 1, cpu="4500m", on=node)
    cluster.group("small", nodes=0, cpu="6")
    groups = [
        node_group("big", max=1000, price_per_hour="2.00", scale_down=CONSOLIDATING),
        node_group("small", max=most, price_per_hour="0.50", scale_down=CONSOLIDATING),
    ]
    return cluster.world(), policy(*groups, budgets=(Budget(nodes=100),))


def _sizes(plan: Plan) -> dict[str, int | None]:
    return {line.name: line.settled for line in plan.groups}


@pytest.mark.parametrize("nodes", [3, 40, 80])
def test_every_node_is_replaced(nodes: int):
    """One at a time takes two plans per node. Nothing is cut short, and no node is left out."""
    plan = _rest(*_large_for_small(nodes)).plan
    assert _sizes(plan) == {"big": 0, "small": nodes}
    assert plan.problems == ()


def test_many_replacements_keep_the_maximum():
    """Of forty nodes, 25 are replaced: the cheap group has no more."""
    assert _sizes(_rest(*_large_for_small(40, most=25)).plan) == {"big": 15, "small": 25}


def test_a_cut_is_a_problem(monkeypatch: pytest.MonkeyPatch):
    """Ten times the work budget of a plan is for one further plan, which replaces 39 of forty nodes. The plan says that these
    numbers are not those of a steady state."""
    monkeypatch.setattr(settled_module, "STEPS_OF_A_PLAN", 3_000_000)
    world, rules = _large_for_small(40)
    plan, memory = decide(world, rules, Memory(), NOW)
    plan = come_to_rest(world, rules, memory, NOW, plan, 500_000).plan
    assert _sizes(plan) == {"big": 1, "small": 39}
    assert [one.message for one in plan.problems] == [
        "steady state not reached after 2 plans: 5000000 steps ran out. The settled columns show how far it came"
    ]


def test_only_bounds_on_numbers_are_lifted():
    """A new field of the pace has to be put here, lifted or kept."""
    lifted = {"max_added_nodes": 5, "max_removed_percent": 5, "require_approval_above": 5}
    kept = {"delay_after_add_seconds": 61, "delay_after_delete_seconds": 62, "delay_after_failure_seconds": 63}
    assert {*lifted, *kept} == set(Pace.__struct_fields__)
    pace = Pace(**lifted, **kept)
    after = unpaced(msgspec.structs.replace(policy().policy, pace=pace)).pace
    assert {name: getattr(after, name) for name in kept} == kept
    assert all(getattr(after, name) != value for name, value in lifted.items())


def test_a_drained_node_that_is_opened_again_is_as_before():
    """A drain changes nothing of a node but its taints and whether pods may come."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    (shape,) = world.node_shapes
    shape = msgspec.structs.replace(shape, declared_features=("X",), without_hostname=True)
    simulated = SimulatedCluster(msgspec.structs.replace(world, node_shapes=(shape,)), policy(node_group("general")), NOW)
    (node,) = simulated.objects.nodes.values()
    drain = simulated.drains.begin(node, Taint("reconciler.dev/deleting", "", "NoSchedule"), lambda: None, lambda _: None)
    assert simulated.objects.shape_of(node) != shape
    simulated.drains.reopen(drain.node)
    assert simulated.objects.shape_of(node) == shape


def _random(seed: int) -> tuple[World, PolicySet]:
    """Up to sixty large nodes with a pod each, and one to three groups of smaller and cheaper ones without a node."""
    rng = random.Random(seed)
    cluster, groups, loads = ClusterBuilder(), [], rng.sample(range(40, 76), 6)
    for node in cluster.group("large", nodes=rng.randint(20, 60), cpu="16"):
        cluster.pods(f"on-{node}", 1, cpu=f"{rng.choice(loads)}00m", on=node)
    groups.append(node_group("large", max=100, price_per_hour="1.60", scale_down=CONSOLIDATING))
    for name in ("a", "b", "c")[: rng.randint(1, 3)]:
        cpu = rng.randint(8, 24)
        cluster.group(name, nodes=0, cpu=str(cpu))
        price = f"{cpu * rng.randint(3, 9) / 100:.2f}"
        groups.append(node_group(name, max=rng.choice((8, 30, 100)), price_per_hour=price, scale_down=CONSOLIDATING))
    return cluster.world(), policy(*groups, budgets=(Budget(nodes=100),))


@pytest.mark.seeds(5)
def test_what_is_called_a_steady_state_is_one(seed: int):
    """Nothing is cut short. From the end on, nothing more is replaced or added, however often that is asked; a node that was
    added for the demand may leave when that is forgotten."""
    world, rules = _random(seed)
    rest = _rest(world, rules)
    again = _rest(rest.world, rules)
    assert rest.plan.problems == again.plan.problems == ()
    assert again.impact.nodes_joined == {}
