"""Seeded random clusters with their policies: small, and mixed enough to meet most rules at once."""

import random
from collections.abc import Mapping

import msgspec

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.world import World
from reconciler.policy.documents import Budget, Expander, Headroom, Hold, Limit, PolicySet, ScaleDown, Tier
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy

SIZES = (("2", "8Gi"), ("4", "16Gi"), ("8", "16Gi"), ("8", "64Gi"), ("16", "64Gi"))
MANY = 1_000


class RandomCluster(msgspec.Struct, frozen=True):
    """A World, a policy for it, and the names of what somebody else owns."""

    world: World
    policy: PolicySet
    held: frozenset[str]


def random_cluster(seed: int, *, headroom: bool = False, expendable: bool = False, protected: bool = True) -> RandomCluster:
    """One cluster; the same for the same seed, on any machine. `headroom` gives some groups one, `expendable` makes some
    pods cheaper than the cut-off, `protected` puts disruption budgets over some."""
    rng = random.Random(seed)
    cluster = ClusterBuilder()
    groups, nodes, taints, held = [], [], {}, set()
    tiers = ("first", "second")[: rng.randint(1, 2)]
    for number in range(rng.randint(1, 5)):
        name = f"group-{'abcdef'[number]}"
        cpu, memory = rng.choice(SIZES)
        count = rng.choice((0, 1, 2, 3, 5, 8))
        zone = rng.choice("abc")
        own_taints = ("dedicated=batch:NoSchedule",) if rng.random() < 0.2 else ()
        fate = rng.random()
        evidence, hold = None, None
        if fate < 0.1:
            evidence = OwnerEvidence(
                owners=(FieldOwner(manager="capi-topology", operation="Apply", time_seconds=NOW - 9_000),),
                topology_owned=True,
                topology_deployment=name,
                topology_replicas=count,
            )
        elif fate < 0.2:
            evidence = OwnerEvidence(
                owners=(FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=NOW - 9_000),)
            )
        elif fate < 0.25:
            hold = Hold(reason="repair")
        elif fate < 0.35:
            evidence = OwnerEvidence(owners=(FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 90_000),))
        if fate < 0.25:
            held.add(name)
        made = cluster.group(
            name,
            nodes=count,
            cpu=cpu,
            memory=memory,
            labels={"topology.kubernetes.io/zone": zone, "size": cpu},
            taints=own_taints,
            evidence=evidence,
        )
        nodes.extend(made)
        taints.update(dict.fromkeys(made, own_taints))
        low = rng.choice((0, 0, 0, 1, 3))
        groups.append(
            node_group(
                name,
                min=low,
                max=max(low, rng.choice((2, 6, 10, 20))),
                tier=rng.choice(tiers),
                price_per_hour=rng.choice((None, "0.10", "0.25", "1.00")),
                headroom=Headroom(nodes=1) if rng.random() < 0.3 and headroom else Headroom(),
                scale_down=ScaleDown(unneeded_time_seconds=rng.choice((0, 300, 600))),
                hold=hold,
            )
        )
    if rng.random() < 0.7:
        cluster.daemonset("agent", cpu="100m", memory="128Mi")
    room = {node: _capacity(cluster, node) for node in nodes}
    for number in range(rng.randint(2, 12)):
        _workload(rng, cluster, f"app-{number:02d}", room, taints, -20 if expendable else 0, protected=protected)
    limits = (Limit(name="cluster", max=(("nodes", len(nodes) + rng.randint(0, 6)),)),) if rng.random() < 0.3 else ()
    rules = policy(
        *groups,
        tiers=tuple(Tier(name=name) for name in tiers),
        expanders=tuple(rng.sample(list(Expander), k=rng.randint(1, 2))),
        limits=limits,
        budgets=(Budget(nodes=MANY),),
        pace=Pace(delay_after_add_seconds=rng.choice((0, 600))),
    )
    return RandomCluster(cluster.world(), rules, frozenset(held))


def _capacity(cluster: ClusterBuilder, node: str) -> list[int]:
    """Free cpu (milli) and memory (MiB), less what a DaemonSet takes."""
    shape = cluster.shape_of(node)
    return [shape.allocatable.cpu_milli - 100, (shape.allocatable.memory_bytes >> 20) - 128]


def _workload(
    rng: random.Random,
    cluster: ClusterBuilder,
    name: str,
    room: dict[str, list[int]],
    taints: Mapping[str, tuple[str, ...]],
    lowest: int,
    *,
    protected: bool,
) -> None:
    cpu, memory = rng.choice((100, 250, 500, 1_000, 1_900, 3_000)), rng.choice((64, 256, 1_024, 4_096))
    count = rng.randint(1, 10)
    tolerant = rng.random() < 0.2
    placed: list[str | None] = []
    for _ in range(count):
        fitting = [
            node
            for node, (free_cpu, free_memory) in room.items()
            if free_cpu >= cpu and free_memory >= memory and (tolerant or not taints[node])
        ]
        node = rng.choice(fitting) if fitting and rng.random() < 0.75 else None
        if node is not None:
            room[node][0] -= cpu
            room[node][1] -= memory
        placed.append(node)
    running = sum(node is not None for node in placed)
    traits: dict[str, object] = {}
    luck = rng.random()
    if luck < 0.05:
        traits["safe_to_evict"] = "false"
    elif luck < 0.1:
        traits["local_volumes"] = ("scratch",)
    cluster.pods(
        name,
        count,
        cpu=f"{cpu}m",
        memory=f"{memory}Mi",
        on=placed,
        tolerations=("dedicated",) if tolerant else (),
        priority=rng.choice((0, 0, 0, 100, lowest)),
        owner=rng.choice(("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", None)),
        traits=traits,
    )
    if rng.random() < 0.3 and protected:
        desired = -(-count * rng.choice((50, 80, 100)) // 100)
        cluster.budget(
            name,
            min_available=str(desired),
            allowed=max(0, running - desired),
            healthy=running,
            desired=desired,
            expected=count,
        )
