"""In steady state, no pod waits that one more node of some group would run. Asked on drawn zones, taints and rules of pods."""

import random
import secrets
from collections.abc import Sequence

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.target import TargetTemplate
from reconciler.decisions.decide import decide
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import Expander
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.settled import come_to_rest
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector

ZONE = "topology.kubernetes.io/zone"
KEYS = (ZONE, "kubernetes.io/hostname")


def _group(cluster: ClusterBuilder, rng: random.Random, name: str) -> Sequence[str]:
    """Of one zone, or of several that the platform keeps even."""
    count, cpu = rng.choice((0, 0, 1, 2)), rng.choice(("2", "4", "8"))
    if rng.random() < 0.5:
        taints = ("dedicated=x:NoSchedule",) if rng.random() < 0.25 else ()
        return cluster.group(name, nodes=count, cpu=cpu, labels={ZONE: rng.choice("abc")}, taints=taints)
    size, zones = amounts(cpu, "16Gi", 110), tuple(rng.choice(("ab", "abc", "abcd")))
    template = TargetTemplate(capacity=size, allocatable=size, zones=zones, fills_zones=True, origins=("tags",))
    ref, names = cluster.target(name, count, template=template), []
    for number in range(count):
        names.append(cluster.node(f"{name}-{number}", cpu, "16Gi", labels={ZONE: zones[number]}))
        cluster.machine(names[-1], ref, node=names[-1])
    return names


def _rules(rng: random.Random, app: str) -> dict[str, object]:
    rules: dict[str, object] = {}
    if rng.random() < 0.6:
        skew, domains, taints = rng.choice((1, 1, 2, 5)), rng.choice((1, 1, 2, 3)), rng.choice(("Ignore", "Honor"))
        rules["spread"] = (
            SpreadConstraint(
                topology_key=rng.choice(KEYS),
                max_skew=skew,
                min_domains=domains,
                selector=selector(app=app),
                node_taints_policy=taints,
            ),
        )
    for field in ("affinity", "anti_affinity"):
        if rng.random() < 0.25:
            near = selector(app=rng.choice((app, "x")))
            rules[field] = (AffinityTerm(topology_key=rng.choice(KEYS), selector=near, namespaces=("shop",)),)
    return rules


@pytest.mark.parametrize("_", range(8))
def test_no_pod_waits_that_one_more_node_would_run(_: int) -> None:
    seed = secrets.randbits(32)
    rng, cluster = random.Random(seed), ClusterBuilder()
    sizes = {f"g{number}": rng.choice((0, 30, 30, 30)) for number in range(rng.randrange(2, 6))}
    for name in sizes:
        for node in _group(cluster, rng, name):
            cluster.pods(f"old-{node}", cpu="1500m", on=node, labels={"app": rng.choice("wxy")})
    for app in "wxy"[: rng.randrange(1, 4)]:
        zone = {ZONE: rng.choice("abc")} if rng.random() < 0.3 else None
        cpu = rng.choice(("500m", "1", "1500m"))
        cluster.pods(app, rng.randrange(1, 6), cpu=cpu, shape=_rules(rng, app), node_selector=zone)
    world = cluster.world()
    rules = policy(*(node_group(name, max=most) for name, most in sizes.items()), expanders=(rng.choice(list(Expander)),))
    plan, memory = decide(world, rules, Memory(), NOW)
    end = come_to_rest(world, rules, memory, NOW, plan).world
    state, groups = SchedulingState(end), View.of(end, rules, Memory(), NOW, Work(10**7)).groups
    for shape in {end.pods.shape[row] for row in end.pods.pending()}:
        if not any(state.fits(shape, node) for node in range(state.node_count)):
            assert not [name for group in groups for name in _running(state, group, shape)], f"seed {seed}"


def _running(state: SchedulingState, group: EffectiveGroup, shape: int) -> list[str]:
    """The group's name once for each of its zones in which a new node would run the pod."""
    if group.facts is None or group.template is None or (group.facts.replicas or 0) >= group.max_size:
        return []
    found = []
    for node in [there for _, there in group.in_zones] or [group.template]:
        mark = state.mark()
        found += [group.name] * state.fits(shape, state.add_node("new", node))
        state.undo(mark)
    return found
