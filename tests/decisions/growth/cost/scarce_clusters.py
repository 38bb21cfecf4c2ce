"""Random clusters of four kinds for whole plans, small enough to prove which growth is the cheapest."""

import random
from collections.abc import Iterator

import msgspec

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.cluster.world import World
from reconciler.policy.documents import Expander, PolicySet
from tests.builders import ClusterBuilder, node_group, policy, selector

ZONE, GPU = "topology.kubernetes.io/zone", "nvidia.com/gpu"
_CORE_MICROS = {2: 42_500, 4: 48_000, 8: 63_000}
"""By the GiB that come with a core: a core of c5, m5 and r5 in us-east-1."""
KINDS = ("zones", "daemons", "gpus", "sizes")
Amounts = tuple[int, int, int]
"""Millicores, MiB, GPUs."""


class Machines(msgspec.Struct, frozen=True):
    """A group without nodes: what its node costs, what pods can have of it, how many it may have."""

    name: str
    price_micros: int
    free: Amounts
    most: int
    zone: str = ""
    tainted: bool = False


class Pods(msgspec.Struct, frozen=True):
    """Equal pods that wait: in one zone, or spread over the zones with a skew of 1."""

    count: int
    need: Amounts
    zone: str = ""
    spread: bool = False
    tolerates: bool = False

    def runs_on(self, machines: Machines) -> bool:
        """Do zone and taint let one of them in, and does it fit?"""
        lets_in = (not self.zone or self.zone == machines.zone) and (self.tolerates or not machines.tainted)
        return lets_in and all(map(int.__le__, self.need, machines.free))


class Scarce(msgspec.Struct, frozen=True):
    """One cluster. `agent` are the millicores of a DaemonSet's pod on each node, which `free` lacks."""

    groups: tuple[Machines, ...]
    pods: tuple[Pods, ...]
    agent: int = 0

    def world(self, *expanders: Expander, priced: bool = True) -> tuple[World, PolicySet]:
        """As a plan reads it. Each zone has a full node, so that it counts for the spread."""
        cluster, documents = ClusterBuilder(), []
        for zone in sorted({group.zone for group in self.groups if group.zone}):
            cluster.node(f"full-{zone}", cpu="1", labels={ZONE: zone})
            cluster.pods(f"full-{zone}", 1, cpu="1", on=f"full-{zone}")
        for group in self.groups:
            milli, mebi, gpus = group.free
            labels = {ZONE: group.zone} if group.zone else {}
            taints = (f"{GPU}:NoSchedule",) if group.tainted else ()
            size = {"cpu": f"{milli + self.agent}m", "memory": f"{mebi}Mi", "gpu": gpus}
            cluster.group(group.name, nodes=0, labels=labels, taints=taints, **size)
            price = f"{group.price_micros / 1e6:.6f}" if priced else None
            documents.append(node_group(group.name, max=group.most, price_per_hour=price))
        for number, pods in enumerate(self.pods):
            milli, mebi, gpus = pods.need
            spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app=f"s{number}"))
            cluster.pods(
                f"s{number}",
                pods.count,
                cpu=f"{milli}m",
                memory=f"{mebi}Mi",
                node_selector={ZONE: pods.zone} if pods.zone else {},
                tolerations=(GPU,) if pods.tolerates else (),
                shape={"spread": (spread,)} if pods.spread else {},
                **({"gpu": gpus} if gpus else {}),
            )
        if self.agent:
            cluster.daemonset("agent", cpu=f"{self.agent}m")
        return cluster.world(), policy(*documents, expanders=expanders)


def scarce(kind: str, seed: int) -> Scarce:
    """The cluster of a kind with this number."""
    rng = random.Random(f"{kind} {seed}")
    agent = rng.choice((100, 300, 700)) if kind == "daemons" else 0
    groups = tuple(_groups(kind, rng, agent))
    return Scarce(groups=groups, pods=tuple(_pods(kind, rng, groups)), agent=agent)


def _groups(kind: str, rng: random.Random, agent: int) -> Iterator[Machines]:
    if kind == "gpus":
        yield from _with_gpus(rng)
        return
    zones, sizes = ("abc", 3) if kind == "zones" else ("", 60 if kind == "sizes" else 6)
    for number in range(sizes):
        cores, per_core = rng.choice((2, 4, 8, 8, 16, 32)), rng.choice((2, 4, 8))
        gib, micros = cores * per_core, cores * _CORE_MICROS[per_core]
        for zone in zones or ("",):
            most = rng.choice((1, 2, 5, 30)) if kind != "sizes" else 30
            free = (cores * 940 - agent, gib * 980, 0)
            yield Machines(f"g{number}{zone}", micros, free, most, zone)


def _with_gpus(rng: random.Random) -> Iterator[Machines]:
    for cores in (4, 8, 16):
        yield Machines(f"m-{cores}", cores * 48_000, (cores * 940, cores * 3900, 0), rng.choice((1, 2, 30)))
    for gpus, cores in ((1, 4), (1, 8), (2, 16), (4, 32)):
        micros, most = cores * 48_000 + gpus * 450_000, rng.choice((2, 2, 5, 20))
        yield Machines(f"gpu{gpus}-{cores}", micros, (cores * 940, cores * 3900, gpus), most, tainted=rng.random() < 0.75)


def _pods(kind: str, rng: random.Random, groups: tuple[Machines, ...]) -> Iterator[Pods]:
    for number in range(rng.randint(2, 4)):
        milli = rng.choice((250, 500, 1000, 1500, 2000, 3000))
        mebi = milli * rng.choice((1, 2, 4))
        count = rng.randint(1, 3) if kind == "sizes" else rng.randint(1, 9)
        rule = rng.choice(("", "", "spread", "a", "b")) if kind == "zones" else ""
        gpus = rng.choice((0, 1, 1, 2)) if kind == "gpus" and number else 0
        pods = Pods(count, (milli, mebi, gpus), zone=rule if rule in "ab" else "", spread=rule == "spread", tolerates=gpus > 0)
        if any(pods.runs_on(group) for group in groups):
            yield pods
