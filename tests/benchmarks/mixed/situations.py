"""The clusters of the figures: each is the mixed twin of a case whose pods and machines are all alike."""

import random

from msgspec.structs import replace

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget, Expander, PolicySet
from reconciler.policy.pace import Pace
from tests.benchmarks.mixed.apps import HOST, PLAIN, Rules, apart, replica_counts
from tests.benchmarks.mixed.clusters import MixedCluster
from tests.benchmarks.mixed.machines import MACHINES
from tests.builders import NOW, policy, selector

Situation = tuple[World, PolicySet, Memory]
# Growth beyond the default step of one plan is what most cases are about; budgets and expanders are the default ones.
_STEP = Pace(max_added_nodes=1_000_000, delay_after_add_seconds=0)


def replica_sets(seed: int, *, apps: int = 50, each: int = 1_000, groups: int = 20) -> Situation:
    """Apps with equally many pods each onto groups without nodes."""
    cluster = MixedCluster(seed)
    cluster.add_groups(_types(groups), [0] * groups)
    for app in cluster.add_apps(apps):
        cluster.wait(app, each)
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory()


def one_a_node(seed: int, *, pods: int = 1_000) -> Situation:
    """An app whose pods keep away from each other, onto twenty machine types."""
    cluster = MixedCluster(seed)
    cluster.add_groups(MACHINES, [0] * len(MACHINES))
    (app,) = cluster.add_apps(1)
    value = cluster.app(app)
    cluster.change(app, anti_affinity=(apart(value.name, value.shape.namespace),))
    cluster.wait(app, pods)
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory()


def spread_over_hosts(seed: int, *, apps: int = 10, each: int = 200) -> Situation:
    """Apps whose pods are spread evenly over the hosts, onto twenty machine types."""
    cluster = MixedCluster(seed)
    cluster.add_groups(MACHINES, [0] * len(MACHINES))
    for app in cluster.add_apps(apps):
        mine = selector(app=cluster.app(app).name)
        cluster.change(app, spread=(SpreadConstraint(topology_key=HOST, max_skew=1, selector=mine),))
        cluster.wait(app, each)
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory()


def many_rules(seed: int, *, apps: int = 100, pods: int = 3_000) -> Situation:
    """Apps with every kind of rule, affinity, anti-affinity, host ports and both spreads among them."""
    rules = Rules(spread_zones=20, apart=15, pinned_pool=10, host_ports=10, near=10, spread_hosts=10)
    cluster = MixedCluster(seed, rules)
    cluster.add_groups(MACHINES, [1, 0] * (len(MACHINES) // 2))
    for app, count in zip(cluster.add_apps(apps), replica_counts(cluster.rng, apps, pods), strict=True):
        cluster.wait(app, count)
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory()


def unique_anti_affinity(seed: int, *, pods: int) -> Situation:
    """Pods that each have an app and an anti-affinity term of their own: as many shapes as pods."""
    cluster = MixedCluster(seed)
    cluster.add_groups(MACHINES, [0] * len(MACHINES))
    for app in cluster.add_apps(pods):
        value = cluster.app(app)
        cluster.change(app, anti_affinity=(apart(value.name, value.shape.namespace),))
        cluster.wait(app, 1)
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory()


def all_apart(seed: int, *, pods: int) -> Situation:
    """Pods of apps of their own that all keep away from each other, more than may be bought for: each has to be explained."""
    cluster = MixedCluster(seed)
    cluster.add_groups(MACHINES, [0] * len(MACHINES))
    apps = cluster.add_apps(pods)
    namespaces = tuple(sorted({cluster.app(app).shape.namespace for app in apps}))
    term = AffinityTerm(topology_key=HOST, selector=selector(crowd="all"), namespaces=namespaces)
    for app in apps:
        cluster.change(app, labels=(*cluster.app(app).shape.labels, ("crowd", "all")), anti_affinity=(term,))
        cluster.wait(app, 1)
    return cluster.world(), policy(*cluster.groups), Memory()


def half_empty(seed: int, *, nodes: int = 2_000, apps: int = 50) -> Situation:
    """Every node is used at about 40 %, by some forty pods of many apps."""
    cluster = MixedCluster(seed)
    types = [kind for kind in MACHINES if kind.cpu_milli == 15890]
    cluster.add_groups(types, _shares(nodes, len(types)))
    numbers = cluster.add_apps(apps, most_milli=1000, scale=0.3)
    for machine in cluster.machines:
        cluster.fill(machine, numbers, cluster.rng.uniform(0.3, 0.48), most=40)
    names = [machine.name for machine in cluster.machines]
    return cluster.world(), policy(*cluster.groups), Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))


def large(
    seed: int, *, nodes: int = 5_000, groups: int = 20, apps: int = 250, pending: int = 5_000, low: int = 0, rules: Rules = PLAIN
) -> Situation:
    """Thirty pods a node; `low` nodes are used by a third; `pending` pods of fifty apps wait."""
    cluster = MixedCluster(seed, rules)
    cluster.add_groups(_types(groups), _shares(nodes, groups))
    numbers = cluster.add_apps(apps, most_milli=2000)
    chosen = frozenset(cluster.rng.sample(range(nodes), low))
    for index, machine in enumerate(cluster.machines):
        cluster.fill(
            machine, numbers, 0.3 if index in chosen else cluster.rng.uniform(0.6, 0.97), most=10 if index in chosen else 32
        )
    fresh = cluster.add_apps(50)
    for app, count in zip(fresh, replica_counts(cluster.rng, 50, pending), strict=True):
        cluster.wait(app, count)
    names = [machine.name for machine in cluster.machines]
    return cluster.world(), policy(*cluster.groups, pace=_STEP), Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))


def small(seed: int) -> Situation:
    """A few dozen nodes with most rules at once, some of them contradicting each other."""
    rng = random.Random(seed)
    rules = Rules(
        spread_zones=rng.choice((0, 20)), apart=rng.choice((0, 15, 40)), disruption_budget=rng.choice((0, 30)),
        pinned_pool=rng.choice((0, 10)), host_ports=rng.choice((0, 10)), spread_hosts=rng.choice((0, 15)),
        near=rng.choice((0, 8)),
    )  # fmt: skip
    cluster = MixedCluster(seed, rules, daemons=rng.random() < 0.7)
    groups = rng.randint(2, 12)
    cluster.add_groups(rng.sample(MACHINES, groups), [rng.choice((0, 1, 3, 6)) for _ in range(groups)])
    numbers = cluster.add_apps(rng.randint(3, 25), most_milli=2000, scale=rng.choice((0.5, 1.0, 2.0)))
    for machine in cluster.machines:
        cluster.fill(machine, numbers, rng.choice((0.0, 0.2, 0.4, 0.45, 0.6, 0.95)), most=30)
    for app in cluster.add_apps(rng.randint(0, 12)) + rng.sample(numbers, rng.randint(0, 3)):
        cluster.wait(app, rng.choice((1, 3, 20, 100)))
    names = [machine.name for machine in cluster.machines]
    # LeastCost asks a solver, which takes longer than all the rest.
    known = [one for one in Expander if one is not Expander.LEAST_COST or rng.random() < 0.1]
    expanders = tuple(rng.sample(known, k=rng.randint(1, 2)))
    groups_of = [replace(group, balance_with="all") if rng.random() < 0.2 else group for group in cluster.groups]
    rules_of = policy(
        *groups_of, expanders=expanders, pace=rng.choice((_STEP, Pace())), budgets=rng.choice(((), (Budget(nodes=100),)))
    )
    return cluster.world(), rules_of, Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))


def _types(groups: int):  # type: ignore[no-untyped-def]
    return [MACHINES[number % len(MACHINES)] for number in range(groups)]


def _shares(nodes: int, groups: int) -> list[int]:
    return [nodes // groups + (number < nodes % groups) for number in range(groups)]
