"""New nodes of a group over several zones, which the platform chooses: each comes in the zone with the fewest."""

import random
import secrets
from collections import Counter

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint, VolumeUse
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.volume import PersistentVolumeClaim, StorageClass
from reconciler.cluster.world import Storage
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Expander, Tier
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector
from tests.decisions.deciding import codes, group, plan_of, pod

ZONE = "topology.kubernetes.io/zone"
SIZE = amounts("4", "16Gi", 110)
ABC = TargetTemplate(capacity=SIZE, allocatable=SIZE, zones=("a", "b", "c"), fills_zones=True, origins=("tags",))
RULES = policy(node_group("g", max=30))
SPREAD = {"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="w")),)}


def _nodes(zones: str, *, replicas: int | None = None, apps: str | None = None) -> ClusterBuilder:
    """A group with one node in each of these zones, full with a pod of `w` where `apps` has the zone, else of another."""
    cluster = ClusterBuilder()
    ref = cluster.target("g", len(zones) if replicas is None else replicas, template=ABC)
    for number, zone in enumerate(zones):
        name = cluster.node(f"g-{number}", "4", "16Gi", labels={ZONE: zone})
        cluster.machine(name, ref, node=name)
        app = "w" if apps is None or zone in apps else "other"
        cluster.pods(f"{app}-{number}", cpu="3", on=name, labels={"app": app})
    return cluster


def _bound(cluster: ClusterBuilder, zone: str, count: int = 1) -> Plan:
    cluster.pods("bound", count, cpu="3", node_selector={ZONE: zone})
    return plan_of(cluster.world(), RULES)


@pytest.mark.parametrize(("zones", "pods", "size"), [("abc", 3, 6), ("abc", 1, 4), ("", 6, 6), ("ab", 1, 3), ("abcabc", 4, 10)])
def test_a_hard_zone_spread_is_served(zones: str, pods: int, size: int) -> None:
    cluster = _nodes(zones)
    cluster.pods("w", pods, cpu="3", shape=SPREAD)
    assert group(plan_of(cluster.world(), RULES), "g").desired == size


@pytest.mark.parametrize(
    ("zones", "zone", "certain"),
    [("ac", "b", True), ("aabbc", "c", True), ("", "a", False), ("a", "a", False), ("a", "b", False)],
)
def test_a_pod_of_one_zone_is_promised_only_what_is_certain(zones: str, zone: str, certain: bool) -> None:
    """Where it is not, one node is tried."""
    plan = _bound(_nodes(zones), zone)
    assert group(plan, "g").desired == len(zones) + 1
    assert pod(plan, "shop/bound-1").outcome is (PodOutcome.TRIGGERS_SCALE_UP if certain else PodOutcome.UNPLACEABLE)


@pytest.mark.parametrize(
    ("zones", "proven", "added"), [("aaaaa", (), 1), ("aaaaa", ("b",), 4), ("aaaaab", (), 4), ("aaaaa", ("a", "c"), 1)]
)
def test_a_zone_in_which_no_node_ever_came_is_tried_by_one(zones: str, proven: tuple[str, ...], added: int) -> None:
    """Four pods of zone b, in a group of two zones. A node that is there, or that is remembered, proves the zone."""
    cluster = _nodes(zones)
    cluster.target("g", len(zones), template=msgspec.structs.replace(ABC, zones=("a", "b")))
    cluster.pods("bound", 4, cpu="3", node_selector={ZONE: "b"})
    plan, memory = decide(cluster.world(), RULES, Memory(zones={"MachineDeployment prod/g": proven}), NOW)
    assert group(plan, "g").desired == len(zones) + added
    assert memory.zones["MachineDeployment prod/g"] == tuple(sorted({*zones, *proven}))
    tried = [line for line in plan.pods if "ZoneTried" in codes(line)]
    assert bool(tried) == (added == 1)


@pytest.mark.parametrize(("zones", "pods", "size"), [("", 24, 3), ("abc", 24, 6), ("", 25, 4)])
def test_nodes_are_filled_before_the_next_comes(zones: str, pods: int, size: int) -> None:
    """Eight pods of half a core a node, in three zones."""
    cluster = _nodes(zones)
    cluster.pods("w", pods, cpu="500m", shape=SPREAD | {"labels": (("app", "w"),)})
    cluster.pods("fill", len(zones), cpu="1", on=[f"g-{number}" for number in range(len(zones))])
    assert group(plan_of(cluster.world(), RULES), "g").desired == size


def test_why_a_pod_of_one_zone_gets_no_node() -> None:
    line = pod(_bound(_nodes("a"), "b"), "shop/bound-1")
    assert codes(line) == ["NoGroupFits", "ZoneNotCertain"]
    said = line.reasons[1].message
    assert said.startswith("g: the platform puts its next node in any of b, c, and a node in c would not run the pod: wants ")


def test_a_spread_that_only_one_zone_would_meet_is_not_promised_a_chance() -> None:
    """The pods are in a and b, the nodes in all three: the next one comes anywhere."""
    cluster = _nodes("abc", apps="ab")
    cluster.pods("w", 1, cpu="3", shape=SPREAD)
    plan = plan_of(cluster.world(), RULES)
    assert codes(group(plan, "g")) == ["Probing"]
    assert codes(pod(plan, "shop/w-1")) == ["NoGroupFits", "ZoneNotCertain"]


def test_a_node_on_its_way_is_one_of_those_that_are_needed() -> None:
    cluster = _nodes("abc", replicas=4)
    cluster.pods("w", 3, cpu="3", shape=SPREAD)
    assert group(plan_of(cluster.world(), RULES), "g").desired == 6


@pytest.mark.parametrize(("zones", "outcome"), [("a", PodOutcome.UNPLACEABLE), ("ac", PodOutcome.FITS_UPCOMING)])
def test_a_node_on_its_way_is_promised_where_its_zone_is_certain(zones: str, outcome: PodOutcome) -> None:
    plan = _bound(_nodes(zones, replicas=len(zones) + 1), "b")
    assert pod(plan, "shop/bound-1").outcome is outcome
    assert group(plan, "g").desired == len(zones) + 1


def test_a_machine_that_is_made_has_its_zone() -> None:
    """Of two on their way one is known to be in b, so that the other comes in c."""
    cluster = _nodes("a", replicas=3)
    cluster.machine("g-new", cluster.target("g", 3, template=ABC), created=NOW - 60, zone="b")
    for zone in "bc":
        cluster.pods(f"bound-{zone}", cpu="3", node_selector={ZONE: zone})
    plan = plan_of(cluster.world(), RULES)
    assert {line.outcome for line in plan.pods} == {PodOutcome.FITS_UPCOMING}


def test_what_is_bought_is_bought_once() -> None:
    cluster = _nodes("abc")
    cluster.pods("w", 3, cpu="3", shape=SPREAD)
    world = cluster.world()
    plan = settled(world, RULES, Memory(), NOW, plan_of(world, RULES))
    assert group(plan, "g").settled == 6


def test_a_node_that_others_fill_may_be_the_one_in_the_zone() -> None:
    """Two nodes for two zones; one of them is full with a pod that minds no zone, and nobody can say which one that is."""
    cluster = ClusterBuilder()
    cluster.target("g", 0, template=msgspec.structs.replace(ABC, zones=("a", "b")))
    cluster.pods("full", 1, cpu="4")
    cluster.pods("bound", 1, cpu="3", node_selector={ZONE: "b"})
    plan = plan_of(cluster.world(), RULES)
    assert group(plan, "g").desired == 1
    assert codes(pod(plan, "shop/bound-1")) == ["NoGroupFits", "ZoneNotCertain"]


def test_a_node_that_a_new_volume_fills_may_be_the_one_in_the_zone() -> None:
    """The same, where the pod that fills a node has a claim: nothing says in which of the two zones its volume is made."""
    cluster = ClusterBuilder()
    cluster.target("g", 0, template=msgspec.structs.replace(ABC, zones=("a", "b")))
    cluster.pods("full", 1, cpu="4", shape={"volumes": (VolumeUse(kind="PersistentVolumeClaim", claim="data"),)})
    cluster.pods("bound", 1, cpu="3", node_selector={ZONE: "b"})
    claim = PersistentVolumeClaim(
        namespace="shop", name="data", storage_class="disk", access_modes=("ReadWriteOnce",), requested_bytes=1, phase="Pending"
    )
    disk = StorageClass(name="disk", provisioner="disk.example.com", binding_mode="WaitForFirstConsumer")
    plan = plan_of(cluster.world(storage=Storage(claims=(claim,), classes=(disk,))), RULES)
    assert group(plan, "g").desired == 1
    assert codes(pod(plan, "shop/bound-1")) == ["NoGroupFits", "ZoneNotCertain"]


@pytest.mark.parametrize(("pods", "promised"), [(3, 3), (4, 1), (6, 1)])
def test_a_zone_may_have_the_node_with_one_pod_more_of_a_spread(pods: int, promised: int) -> None:
    """Nodes of 4 cpu in three zones, spread pods of 1200m, and three of zone a with 900m: beside one of the spread three of them
    have room, beside two only one has."""
    cluster = _nodes("")
    cluster.pods("w", pods, cpu="1200m", shape=SPREAD)
    cluster.pods("zonal", 3, cpu="900m", node_selector={ZONE: "a"})
    plan = plan_of(cluster.world(), RULES)
    assert (
        sum(line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods if line.pod.startswith("shop/zonal")) == promised
    )


def test_two_open_nodes_may_both_come_elsewhere() -> None:
    """Zone a counts, by a full node, and has no pod; nodes of b and c that take no pods do not count. With two new nodes in b and
    c a third pod would be one too many there, wherever it went: it takes three."""
    cluster = ClusterBuilder()
    ref = cluster.target("g", 3, template=ABC)
    for zone in "abc":
        taints = ("cloud.google.com/impending-node-termination:NoSchedule",) if zone != "a" else ()
        name = cluster.node(f"g-{zone}", "4", "16Gi", labels={ZONE: zone}, taints=taints)
        cluster.machine(name, ref, node=name)
        cluster.pods(f"full-{zone}", 1, cpu="4", on=name)
    honor = {"spread": (msgspec.structs.replace(SPREAD["spread"][0], node_taints_policy="Honor"),)}
    cluster.pods("w", 3, cpu="500m", shape=honor)
    cluster.pods("big", 1, cpu="3")
    plan = plan_of(cluster.world(), RULES)
    assert group(plan, "g").desired == 6
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def _seats(zones: str, rng: random.Random, new: int, pods: int, cpu: str, shape: dict[str, object], selected: str) -> int:
    """How many of the pods run once the platform has put `new` nodes where it likes among the zones with the fewest."""
    for _ in range(new):
        counts = Counter({zone: zones.count(zone) for zone in "abc"})
        zones += rng.choice([zone for zone in "abc" if counts[zone] == min(counts.values())])
    after = ClusterBuilder()
    ref = after.target("g", len(zones), template=ABC)
    for number, zone in enumerate(zones):
        name = after.node(f"g-{number}", "4", "16Gi", labels={ZONE: zone})
        after.machine(name, ref, node=name)
        if number < len(zones) - new:
            after.pods(f"old-{number}", cpu="3", on=name, labels={"app": "w"})
    after.pods("w", pods, cpu=cpu, shape=shape, node_selector={ZONE: selected} if selected else None)
    world = after.world()
    waiting = next(world.pods.shape[index] for index in world.pods.pending())
    state = SchedulingState(world)
    return sum(many for _ in range(pods) for _, many in state.place(waiting, 1))


@pytest.mark.parametrize("_", range(20))
def test_promised_pods_run_wherever_the_platform_puts_the_nodes(_: int) -> None:
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    zones = "".join(rng.choices("abc", k=rng.randrange(1, 7)))
    pods, skew, cpu = rng.randrange(1, 20), rng.choice((1, 2)), rng.choice(("3", "1500m", "500m"))
    spread = SpreadConstraint(topology_key=ZONE, max_skew=skew, selector=selector(app="w"))
    shape, selected = ({"spread": (spread,)}, "") if rng.random() < 0.7 else ({}, rng.choice("abc"))
    cluster = _nodes(zones)
    cluster.pods("w", pods, cpu=cpu, shape=shape, node_selector={ZONE: selected} if selected else None)
    plan = plan_of(cluster.world(), RULES)
    promised = sum(line.outcome is not PodOutcome.UNPLACEABLE for line in plan.pods)
    new = group(plan, "g").desired - len(zones)
    for _turn in range(5):
        assert _seats(zones, rng, new, pods, cpu, shape, selected) >= promised, f"seed {seed}"


def test_a_pod_where_nobody_can_say_is_one_pod_more_in_any_zone() -> None:
    """Two nodes for two zones: one is full, the other has a pod of the spread, in whichever zone it is. A second one beside it
    runs in zone a only if that is not a too."""
    cluster = ClusterBuilder()
    open_to = msgspec.structs.replace(ABC, zones=("a", "b"), labels=(("pool", "open"),))
    cluster.target("g", 0, template=open_to)
    cluster.group("one", nodes=0, labels={ZONE: "a"})
    cluster.pods("full", 1, cpu="4", node_selector={"pool": "open"})
    cluster.pods("half", 1, cpu="2", node_selector={"pool": "open"})
    cluster.pods("w", 2, cpu="1500m", shape=SPREAD)
    cluster.pods("own", 1, cpu="1", node_selector={"pool": "one"})
    rules = policy(node_group("g", max=30), node_group("one", max=30), expanders=(Expander.MOST_PODS,))
    plan = plan_of(cluster.world(), rules)
    assert {line.name: line.desired for line in plan.groups} == {"g": 2, "one": 1}
    assert [pod(plan, f"shop/w-{number}").outcome.value for number in (1, 2)] == ["TriggersScaleUp", "Unplaceable"]


@pytest.mark.parametrize(
    ("upcoming", "other"), [(0, {ZONE: "b"}), (0, {"pool": "open"}), (1, {"pool": "open"})], ids=["probe", "bought", "upcoming"]
)
def test_a_zone_that_another_node_may_open_counts_for_a_spread(upcoming: int, other: dict[str, str]) -> None:
    """A group of zone a could take five pods of a spread while no other zone has a node. The node of the other group is full or
    tried for zone b, and may open that zone. Then only one pod runs in a."""
    cluster = ClusterBuilder()
    cluster.target("g", upcoming, template=msgspec.structs.replace(ABC, zones=("a", "b"), labels=(("pool", "open"),)))
    cluster.group("one", nodes=0, labels={ZONE: "a"})
    cluster.pods("other", 1, cpu="4", node_selector=other)
    cluster.pods("w", 5, cpu="3", shape=SPREAD)
    tiers = (Tier(name="upper"), Tier(name="lower"))
    groups = (node_group("one", max=9, tier="upper"), node_group("g", max=9, tier="lower"))
    plan = plan_of(cluster.world(), policy(*groups, tiers=tiers))
    assert {line.name: line.desired for line in plan.groups} == {"g": 1, "one": 1}
    assert sum(line.outcome is PodOutcome.TRIGGERS_SCALE_UP for line in plan.pods if line.pod.startswith("shop/w")) == 1
