"""How far settled clusters are from the cheapest that holds all pods: `python -m tests.benchmarks.decisions.repack_gap`.

Random clusters whose pods left, so that nodes are underused. Everything may move. The bound is that of the linear program over
all fillings of new nodes (`columns.generate`), so no cluster that holds the pods costs less. `--policy` says how nodes are
consolidated.
"""

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.growth.cost.columns import generate
from reconciler.decisions.growth.cost.master import Master, solver
from reconciler.decisions.growth.cost.problem import Item, Offer, Problem
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.policy.pace import Pace
from reconciler.simulation.settled import come_to_rest
from reconciler.values.money import parse_money
from tests.benchmarks.decisions.karpenter_rule import Came, Machine, Stands, consolidated
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.growth.cost.instances import one_choice

SIZES = {"large": (2, 8, "0.10"), "xlarge": (4, 16, "0.20"), "2xlarge": (8, 32, "0.40"), "4xlarge": (16, 64, "0.80"),
         "cpu-xlarge": (4, 8, "0.17"), "cpu-4xlarge": (16, 32, "0.68"), "memory-xlarge": (4, 32, "0.26")}  # fmt: skip
PODS = ((100, 256), (250, 512), (500, 1_024), (500, 4_096), (1_000, 2_048), (1_500, 6_144), (2_000, 3_072), (3_000, 12_288))
SYSTEM_CPU_MILLI, SYSTEM_MEMORY_MIB = 100, 128
POLICIES = {
    "off": ScaleDown(unneeded_time_seconds=0),
    "on": ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED)),
    "repack": ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_percent=1)),
    "all": ScaleDown(
        unneeded_time_seconds=0,
        utilization_threshold_percent=100,
        consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_percent=1),
    ),
}


class Underused(msgspec.Struct, frozen=True):
    """A cluster, and what its cheapest form costs at least, in millionths per hour."""

    world: World
    policy: PolicySet
    bound_micros: int
    nodes: int
    machines: Mapping[str, Machine]

    def by_karpenter(self) -> Came:
        """What Karpenter's rule comes to, all pods but those of the DaemonSet being movable."""
        world, pods = self.world, self.world.pods
        stands = [Stands(self.machines[node.name.rpartition("-")[0]], []) for node in world.nodes]
        for row in range(len(pods)):
            if not pods.key(row).startswith("kube-system/"):
                requests = world.pod_shapes[pods.shape[row]].requests
                stands[pods.node[row]].pods.append((requests.cpu_milli, requests.memory_bytes >> 20, 1))
        return consolidated(stands, tuple(self.machines.values()))


def underused(seed: int, scale_down: ScaleDown, least: int = 20, most: int = 700) -> Underused:
    """One cluster of `least` to `most` nodes; the same for the same seed."""
    rng = random.Random(seed)
    cluster = ClusterBuilder()
    wanted = round(least * (most / least) ** rng.random())
    names = rng.sample(sorted(SIZES), k=rng.randint(2, 5))
    shapes = [(f"app-{number}", *rng.choice(PODS)) for number in range(rng.randint(4, 16))]
    kept = rng.uniform(0.3, 0.75)
    places: dict[str, list[str]] = {}
    shares = [rng.random() + 0.1 for _ in names]
    for name, share in zip(names, shares, strict=True):
        cpu, memory, _ = SIZES[name]
        for node in cluster.group(name, nodes=max(1, round(wanted * share / sum(shares))), cpu=str(cpu), memory=f"{memory}Gi"):
            free = [1_000 * cpu - SYSTEM_CPU_MILLI, 1_024 * memory - SYSTEM_MEMORY_MIB]
            for _ in range(200):
                app, pod_cpu, pod_memory = rng.choice(shapes)
                if pod_cpu > free[0] or pod_memory > free[1]:
                    break
                free = [free[0] - pod_cpu, free[1] - pod_memory]
                if rng.random() < kept:
                    places.setdefault(app, []).append(node)
    cluster.daemonset("agent", cpu=f"{SYSTEM_CPU_MILLI}m", memory=f"{SYSTEM_MEMORY_MIB}Mi")
    for app, cpu, memory in shapes:
        cluster.pods(app, len(places.get(app, ())), cpu=f"{cpu}m", memory=f"{memory}Mi", on=places.get(app, ()))
    groups = [node_group(name, min=0, max=2_000, price_per_hour=SIZES[name][2], scale_down=scale_down) for name in names]
    rules = policy(*groups, budgets=(Budget(nodes=1_000),), pace=Pace(delay_after_add_seconds=0))
    world = cluster.world()
    offers = [
        Offer(
            parse_money(SIZES[name][2]),
            (1_000 * SIZES[name][0] - SYSTEM_CPU_MILLI, 1_024 * SIZES[name][1] - SYSTEM_MEMORY_MIB, 109),
            10_000,
        )
        for name in names
    ]
    items = [
        Item(len(places[app]), (cpu, memory, 1), tuple(all(map(int.__ge__, o.free, (cpu, memory, 1))) for o in offers))
        for app, cpu, memory in shapes
        if app in places
    ]
    problem = Problem(tuple(items), tuple(offers))
    machines = {name: Machine(offer.price_micros, offer.free) for name, offer in zip(names, offers, strict=True)}
    return Underused(world, rules, _bound(problem), len(world.nodes), machines)


def _bound(problem: Problem) -> int:
    """The value of the linear program over all fillings: no nodes that hold all pods cost less."""
    highs = solver()
    assert highs is not None
    master = Master(highs, problem)
    master.add(filling for filling, _ in one_choice(problem))
    prices = generate(problem, master)
    assert prices is not None
    return round(prices.bound)


def main(arguments: Sequence[str] | None = None) -> int:
    """Always 0."""
    parser = argparse.ArgumentParser(prog="repack_gap", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--policy", choices=sorted(POLICIES), default="on")
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--most", type=int, default=700, metavar="NODES")
    options = parser.parse_args(arguments)
    ratios, befores, moved, saved = [], [], Counter[str](), Counter[str]()
    by_rule = []
    for seed in range(options.first, options.first + options.clusters):
        one = underused(seed, POLICIES[options.policy], most=options.most)
        start = time.process_time()
        plan, memory = decide(one.world, one.policy, Memory(), NOW)
        rest = come_to_rest(one.world, one.policy, memory, NOW, plan)
        took = time.process_time() - start
        before, after = parse_money(plan.cost.current_per_hour or "0"), parse_money(rest.plan.cost.settled_per_hour or "0")
        befores.append(before / one.bound_micros)
        ratios.append(after / one.bound_micros)
        came = one.by_karpenter()
        by_rule.append(came.cost_micros / one.bound_micros)
        evictions = len(rest.impact.evicted_settled)
        moved.update({"here": evictions, "rule": came.evictions})
        saved.update({"here": before - after, "rule": before - came.cost_micros})
        print(
            f"{seed:4} {one.nodes:4} nodes {len(one.world.pods):5} pods: {befores[-1]:.3f} -> {ratios[-1]:.3f} of the bound, "
            f"{evictions} evictions, {rest.plan.settled_loops} plans, {took:.1f} s; Karpenter's rule {by_rule[-1]:.3f}, "
            f"{came.evictions} evictions",
            flush=True,
        )
    rates = {name: moved[name] / max(1, saved[name]) * 1_000_000 for name in moved}
    print(
        f"{options.policy}: mean {statistics.mean(ratios):.4f} (before {statistics.mean(befores):.3f}), worst {max(ratios):.3f}, "
        f"{rates['here']:.1f} evictions per dollar and hour; Karpenter's rule: mean {statistics.mean(by_rule):.4f}, "
        f"worst {max(by_rule):.3f}, {rates['rule']:.1f} evictions"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
