"""Pods that would rather be spread: where they go, and how the score is made."""

import msgspec

from reconciler.cluster.world import World
from reconciler.policy.documents import PolicySet, Template
from reconciler.simulation.replays.curve import read_curve
from reconciler.simulation.replays.replay import replay
from tests.builders import NOW, ClusterBuilder
from tests.policies import node_group, policy

ZONE = "topology.kubernetes.io/zone"
DAY = 86_400


def three_zones(room: dict[str, int]) -> World:
    """A node of four cores in each of the zones a, b and c, of which so many cores are free."""
    cluster = ClusterBuilder()
    for zone in "abc":
        cluster.group(f"g{zone}", nodes=1, cpu="4", memory="16Gi", labels={ZONE: zone})
        if room[zone] < 4:
            cluster.pods(f"rest-{zone}", 1, cpu=str(4 - room[zone]), on=[f"g{zone}-1"])
    return cluster.world()


def fixed() -> PolicySet:
    """One node in each zone, for good."""
    return policy(*(node_group(f"g{zone}", min=1, max=1, template=Template(labels=((ZONE, zone),))) for zone in "abc"))


def score(room: dict[str, int], pods: int, spread: str = " spread=zone") -> int | None:
    world = three_zones(room)
    trace = read_curve("n", f"# pod: cpu=1 memory=1Gi{spread}\ntime,pods\n{NOW + DAY},{pods}\n")
    return replay([("a", fixed())], trace, world).sides[0].zone_spread_permille


def test_with_room_everywhere_pods_are_even():
    """Six pods, two a zone: four lie outside the fullest zone, and four is the most that is possible."""
    assert score({"a": 4, "b": 4, "c": 4}, 6) == 1000


def test_without_room_they_go_where_there_is_some():
    """Room for two in a and for four in b: of six pods two lie outside b, of four possible."""
    assert score({"a": 2, "b": 4, "c": 0}, 6) == 500


def test_pods_that_do_not_ask_have_no_score():
    """Neither do they move anything."""
    assert score({"a": 4, "b": 4, "c": 4}, 6, spread="") is None


def test_the_preference_is_the_scheduler_s_alone():
    """Six pods that ask for nothing fill the first node and half of the second, as the simulated scheduler packs."""
    world = three_zones({"a": 4, "b": 4, "c": 4})
    trace = read_curve("n", f"# pod: cpu=1 memory=1Gi\ntime,pods\n{NOW + DAY},6\n")
    packed = msgspec.structs.replace(trace, sources=tuple(msgspec.structs.replace(s, zone_spread=False) for s in trace.sources))
    assert replay([("a", fixed())], trace, world) == replay([("a", fixed())], packed, world)
