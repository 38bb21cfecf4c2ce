"""Nodes that are added one at a time to learn a label in which the nodes of a group differ."""

from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory, Refuted
from reconciler.decisions.situation.evidence import made_of, of_zone
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import Limit, PolicySet, ScaleDown, Template
from reconciler.simulation.settled import settled
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector
from tests.decisions.deciding import codes, group, of_kind, pod

ZONE = "topology.kubernetes.io/zone"
SPREAD = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web"))
IN_B: Mapping[str, object] = {"node_selector": ((ZONE, "b"),)}
EVEN: Mapping[str, object] = {"spread": (SPREAD,)}


def _cluster(*new: str, web: int = 1, shape: Mapping[str, object] = IN_B, on: str | None = None, upcoming: int = 0) -> World:
    """A MachineDeployment with a full node in each of three zones, and `new` nodes, by zone, that came a minute ago. `web` pods
    of 3 cpu wait, and one more runs `on` a node."""
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=0)
    (ref,) = cluster._targets
    zones = ["a", "b", "c", *new]
    cluster.target("gen", len(zones) + upcoming, template=cluster._targets[ref].template)
    for number, zone in enumerate(zones):
        created = NOW - 60 if number >= 3 else None
        cluster.node(f"gen-{number}", labels={ZONE: zone, "pool": "gen"}, created=created)
        cluster.machine(f"gen-{number}", ref, node=f"gen-{number}", created=created)
        if number < 3:
            cluster.pods(f"full-{number}", 1, cpu="4", on=f"gen-{number}", priority=9)
    for number in range(upcoming):
        cluster.machine(f"gen-next-{number}", ref, created=NOW - 60)
    cluster.pods("web", web + (on is not None), cpu="3", on=[on] * (on is not None) + [None] * web, shape=shape)
    return cluster.world()


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("gen", max=9, scale_down=ScaleDown(unneeded_time_seconds=0)), **fields)


def _decide(world: World, memory: Memory, at: int = NOW) -> tuple[Plan, Memory]:
    return decide(world, _rules(), memory, at)


def _asked() -> Memory:
    """After the first probe, a minute before the new nodes came."""
    return _decide(_cluster(), Memory(), NOW - 120)[1]


def _with_probes(memory: Memory, **changes: object) -> Memory:
    return Memory(probes={key: msgspec.structs.replace(entry, **changes) for key, entry in memory.probes.items()})


@pytest.mark.parametrize(("shape", "web"), [(IN_B, 1), (IN_B, 3), (EVEN, 3)])
def test_one_node_is_added_and_promises_nothing(shape: Mapping[str, object], web: int) -> None:
    plan, _ = _decide(_cluster(shape=shape, web=web), Memory())
    (action,) = of_kind(plan, ActionKind.RESIZE)
    assert (action.to, action.reason.code) == (4, "Probing")
    assert {line.outcome for line in plan.pods} == {PodOutcome.UNPLACEABLE}
    line = pod(plan, "shop/web-1")
    assert codes(line) == ["NoGroupFits", "LabelUnknown"]
    assert line.reasons[1].data["values"] == ("a", "b", "c")
    assert "template.labels" in line.reasons[1].message


def test_no_second_node_while_one_is_on_its_way() -> None:
    plan, memory = _decide(_cluster(upcoming=1), _asked())
    assert plan.actions == ()
    assert pod(plan, "shop/web-1").reasons[1].data["step"] == "Await"
    assert memory.probes == _asked().probes


def test_a_node_that_helped_is_followed_by_another() -> None:
    """It came in zone b and runs one of the pods; the next one is tried for the second."""
    plan, memory = _decide(_cluster("b", on="gen-3"), _asked())
    assert group(plan, "gen").desired == 5
    assert [entry.in_vain for entry in memory.probes.values()] == [0]


def test_after_two_in_vain_the_group_waits_for_a_day() -> None:
    """Nodes come in zone a, and in c. They leave, since they help nobody. A day later one more is tried."""
    plan, memory = _decide(_cluster("a"), _asked())
    assert [entry.in_vain for entry in memory.probes.values()] == [1]
    assert group(plan, "gen").desired >= 4
    later = NOW + 60
    world, memory = _cluster("a", "c"), _with_probes(memory, asked_seconds=NOW - 90)
    plan, memory = _decide(world, memory, later)
    assert not of_kind(plan, ActionKind.RESIZE)
    reason = pod(plan, "shop/web-1").reasons[1]
    assert (reason.data["step"], [entry.in_vain for entry in memory.probes.values()]) == ("InVain", [2])
    plan, memory = _decide(world, memory, later + 86_399)
    assert not of_kind(plan, ActionKind.RESIZE)
    plan, memory = _decide(world, memory, later + 86_401)
    assert group(plan, "gen").desired == 6


def test_a_change_of_the_policy_allows_a_new_probe() -> None:
    memory = _with_probes(_asked(), asked_seconds=NOW - 90, in_vain=2)
    assert not of_kind(_decide(_cluster(), memory)[0], ActionKind.RESIZE)
    memory = _with_probes(memory, template="another")
    assert group(_decide(_cluster(), memory)[0], "gen").desired == 4


def test_no_node_where_no_value_would_help() -> None:
    """No node of the group was ever in zone d."""
    plan, memory = _decide(_cluster(shape={"node_selector": ((ZONE, "d"),)}), Memory())
    assert plan.actions == ()
    assert codes(pod(plan, "shop/web-1")) == ["NoGroupFits", "GroupRejects"]
    assert memory.probes == {}


def test_a_limit_keeps_the_group_from_probing() -> None:
    limit = Limit(name="three", max=(("nodes", 3),))
    plan, _ = decide(_cluster(), _rules(limits=(limit,)), Memory(), NOW)
    assert plan.actions == ()
    line = pod(plan, "shop/web-1")
    assert line.reasons[1].data["step"] == "None"
    assert line.reasons[2].data["limit"] == "three"


def test_a_stated_zone_needs_no_probe() -> None:
    """What the reason says to write."""
    cluster = ClusterBuilder()
    cluster.group("gen", nodes=1, labels={ZONE: "b"})
    cluster.pods("full", 1, cpu="4", on="gen-1")
    cluster.pods("web", 2, cpu="3", shape=IN_B)
    plan, memory = _decide(cluster.world(), Memory())
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    assert memory.probes == {}


@pytest.mark.parametrize(
    ("zones", "shape", "web", "added"), [(("a", "b", "c"), EVEN, 3, 3), (("b",), IN_B, 1, 1), (("a",), IN_B, 1, 0)]
)
def test_stated_zones_need_no_probe(zones: tuple[str, ...], shape: Mapping[str, object], web: int, added: int) -> None:
    """The platform keeps three zones even, so each of three new nodes takes one of three pods. Nodes of one zone all come
    there."""
    document = node_group("gen", max=9, template=Template(zones=zones))
    plan, memory = decide(_cluster(shape=shape, web=web), policy(document), Memory(), NOW)
    assert group(plan, "gen").desired == 3 + added
    placed = PodOutcome.TRIGGERS_SCALE_UP if added else PodOutcome.UNPLACEABLE
    assert {line.outcome for line in plan.pods} == {placed}
    assert memory.probes == {}


def test_a_zone_in_which_nodes_did_not_come_is_left_out() -> None:
    """Twice they were expected in zone b."""
    rules = policy(node_group("gen", max=9, template=Template(zones=("a", "b", "c"))))
    (facts,) = _cluster().targets
    digest = made_of(rules.digest, facts)
    entry = Refuted(node="", why="a", template=digest, seen_seconds=NOW - 60, times=2, asked_seconds=NOW - 90)
    plan, _ = decide(_cluster(), rules, Memory(refuted={of_zone(str(facts.ref), "b"): entry}), NOW)
    assert group(plan, "gen").desired == 3
    assert "CameElsewhere" in codes(pod(plan, "shop/web-1"))


def _even(zones: str, new: str = "", *, zone: str = "b", web: int = 1) -> World:
    """A group that its platform keeps even over zones, with full nodes, and free ones in the zones `new`; pods need one zone."""
    cluster, size = ClusterBuilder(), amounts("4", "16Gi", 110)
    template = TargetTemplate(capacity=size, allocatable=size, zones=tuple("abcd"), fills_zones=True, origins=("tags",))
    ref = cluster.target("gen", len(zones + new), template=template)
    for number, there in enumerate(zones + new):
        old = number < len(zones)
        name = f"gen-{number}"
        cluster.node(name, labels={ZONE: there, "pool": "gen"}, created=None if old else NOW - 60 + number)
        cluster.machine(name, ref, node=name, created=None if old else NOW - 60 + number)
        if old:
            cluster.pods(f"full-{number}", 1, cpu="4", on=name, priority=9)
    cluster.pods("web", web, cpu="3", shape={"node_selector": ((ZONE, zone),)})
    return cluster.world()


def test_a_pod_of_one_of_the_zones_that_the_platform_keeps_even_gets_a_probe() -> None:
    """With a node in each zone, the next one comes in any."""
    plan, memory = _decide(_even("abcd"), Memory(), NOW - 120)
    (action,) = of_kind(plan, ActionKind.RESIZE)
    assert (action.to, action.reason.code) == (5, "Probing")
    line = pod(plan, "shop/web-1")
    assert (line.outcome, codes(line)) == (PodOutcome.UNPLACEABLE, ["NoGroupFits", "ZoneNotCertain"])
    assert line.reasons[1].data["step"] == "Probe"
    assert [entry.in_vain for entry in memory.probes.values()] == [0]


def test_probes_in_all_other_zones_make_the_right_one_certain() -> None:
    """Nodes come in a, c and d: only b is left, which is a promise."""
    _, memory = _decide(_even("abcd"), Memory(), NOW - 120)
    for number, came in enumerate(("a", "ac"), start=1):
        plan, memory = _decide(_even("abcd", came), _with_probes(memory, asked_seconds=NOW - 61 + 3 + number), NOW - 40 + number)
        assert (of_kind(plan, ActionKind.RESIZE)[0].to, group(plan, "gen").desired) == (5 + number, 5 + number)
        assert [entry.in_vain for entry in memory.probes.values()] == [number]
    plan, memory = _decide(_even("abcd", "acd"), memory, NOW)
    assert pod(plan, "shop/web-1").outcome is PodOutcome.TRIGGERS_SCALE_UP


def test_a_zone_that_comes_after_another_is_tried_too() -> None:
    """The next node comes in a, and the one after it may come in b."""
    plan, _ = _decide(_even("bcd"), Memory())
    assert group(plan, "gen").desired == 4
    assert pod(plan, "shop/web-1").outcome is PodOutcome.UNPLACEABLE


def test_a_zone_that_many_others_come_before_is_not_tried() -> None:
    """Nine nodes would come elsewhere."""
    plan, memory = _decide(_even("abbbb"), Memory())
    assert plan.actions == ()
    assert memory.probes == {}
    assert pod(plan, "shop/web-1").reasons[1].data["step"] == ""


@pytest.mark.parametrize(("zones", "zone", "nodes"), [("abcd", "d", 6), ("abcd", "a", 6), ("", "b", 2), ("abbb", "b", 4)])
def test_pods_of_one_zone_run_in_the_end_and_what_was_tried_has_left(zones: str, zone: str, nodes: int) -> None:
    """Two pods, each with a node of its own. In the last case nine nodes would come elsewhere first."""
    world = _even(zones, zone=zone, web=2)
    rules = policy(node_group("gen", max=20, scale_down=ScaleDown(unneeded_time_seconds=0)))
    first, memory = decide(world, rules, Memory(), NOW)
    plan = settled(world, rules, memory, NOW, first)
    assert group(plan, "gen").settled == nodes
