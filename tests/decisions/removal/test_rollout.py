"""The predicted rollout of a group: waves, what keeps nodes, what paces it, how long it takes and what it costs, all by hand."""

from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, RolloutPace, TargetRef, TargetTemplate
from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.world import World
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.removal.rollouts.rollout import predict_rollout
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.reason import Scalar
from reconciler.plan.rollout import Rollout
from reconciler.policy.documents import BlockRule, Budget, DrainRules, PolicySet, RemovalReason
from tests.builders import CAPTURED, NOW, ClusterBuilder, amounts, node_group, policy

ZONE = "topology.kubernetes.io/zone"
MANY = (Budget(name="many", nodes=100),)
ONE_AT_A_TIME = RolloutPace(surge=1, unavailable=0, origin="maxSurge 1, maxUnavailable 0")


def _predict(world: World, rules: PolicySet, name: str = "general", work: int = 1_000_000) -> Rollout:
    return predict_rollout(View.of(world, rules, Memory(), NOW, Work(work)), name)


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general", **{"max": 20, **fields}), budgets=MANY)


def _paced(cluster: ClusterBuilder, surge: int, unavailable: int = 0, *, ready_after: int = 0) -> World:
    """The World, its targets with this pace, its nodes ready so many seconds after their Machines were made."""
    world = cluster.world()
    pace = RolloutPace(surge=surge, unavailable=unavailable, origin=f"maxSurge {surge}, maxUnavailable {unavailable}")
    targets = tuple(msgspec.structs.replace(facts, rollout=pace) for facts in world.targets)
    nodes = tuple(msgspec.structs.replace(node, ready_seconds=node.ready_seconds + ready_after) for node in world.nodes)
    return msgspec.structs.replace(world, targets=targets, nodes=nodes)


def _group(nodes: int, cpu: str = "1", *, apart: bool = False) -> ClusterBuilder:
    """Nodes of 4 cores with one pod each, of one Deployment or (`apart`) each of its own."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=nodes)
    if apart:
        for name in names:
            cluster.pods(f"app-{name}", 1, cpu=cpu, on=name)
    else:
        cluster.pods("web", nodes, cpu=cpu, on=list(names))
    return cluster


def test_nodes_that_are_updated_in_place() -> None:
    """One of three keeps its node: the prediction says that it is not replaced, and that only the other two are."""
    world = _paced(_group(3), 1)
    machines = tuple(msgspec.structs.replace(one, updating=one.node == "general-2") for one in world.machines)
    rollout = _predict(msgspec.structs.replace(world, machines=machines), _rules())
    assert [(one.code, one.message) for one in rollout.obstacles] == [
        (
            "UpdatedInPlace",
            "1 node of general is updated in place, not replaced. The prediction is for nodes that the platform replaces",
        )
    ]
    assert (rollout.replaced, [(one.node, one.blockers[0].code) for one in rollout.kept]) == (
        2,
        [("general-2", "MachineUpdating")],
    )
    assert not _predict(world, _rules()).obstacles


def _gang(least: int, *, indivisible: bool = False) -> World:
    """Four nodes with a pod of a gang each, of which two may be replaced at a time."""
    cluster = ClusterBuilder()
    for name in cluster.group("general", nodes=4):
        cluster.pods(f"train-{name}", 1, cpu="1", on=name, shape={"pod_group": "train"})
    train = PodGroup(namespace="shop", name="train", min_count=least, indivisible=indivisible)
    return msgspec.structs.replace(_paced(cluster, 2), pod_groups=(train,), captured=(*CAPTURED, "PodGroup"))


@pytest.mark.parametrize(
    ("least", "nodes", "waits_for"),
    [(1, [2, 2], ()), (2, [2, 2], ()), (3, [1, 1, 1, 1], ("PodGroup shop/train",))],
)
def test_a_wave_leaves_a_gang_its_minimum(least: int, nodes: list[int], waits_for: tuple[str, ...]) -> None:
    """Of four pods, so many as are beyond the minimum move at once. They run again before the next wave."""
    found = _predict(_gang(least), _rules())
    assert [len(wave.nodes) for wave in found.waves] == nodes
    assert found.waves[0].waits_for == waits_for
    assert not found.kept


def test_nodes_that_a_gang_keeps() -> None:
    """All four are needed, or may only move together. With `drain.podGroups: Allow`, they move two by two."""
    for world, code in ((_gang(4), "GangMinimum"), (_gang(1, indivisible=True), "GangIndivisible")):
        found = _predict(world, _rules())
        assert (found.waves, [one.blockers[0].code for one in found.kept]) == ((), [code] * 4)
        allowed = policy(node_group("general", max=20), budgets=MANY, drain=DrainRules(pod_groups=BlockRule.ALLOW))
        assert [len(wave.nodes) for wave in _predict(world, allowed).waves] == [2, 2]


def test_machines_that_may_be_updated_in_place() -> None:
    """Cluster API asks update extensions during the rollout. For a MachineSet it never does."""
    assert _predict(_paced(_group(2), 1), _rules()).in_place_if == "an update extension of Cluster API accepts the change"
    rules = rules_of("MachineSet")
    assert rules is not None
    assert not rules.updates_in_place(TargetRef(kind="MachineSet", namespace="prod", name="general"))


def many_waves(nodes: int) -> Rollout:
    """One node a wave."""
    return _predict(_paced(_group(nodes), 1), _rules(max=nodes + 1))


def many_kept(nodes: int) -> Rollout:
    """Nodes that a disruption budget keeps."""
    cluster = _group(nodes)
    cluster.budget("web", allowed=0)
    return _predict(_paced(cluster, 1), _rules(max=nodes + 1))


def _waves(found: Rollout) -> list[tuple[int, tuple[str, ...]]]:
    return [(wave.adds, wave.nodes) for wave in found.waves]


def _obstacles(found: Rollout) -> list[str]:
    return [reason.code for reason in found.obstacles]


def _kept(found: Rollout) -> dict[str, list[tuple[str, str]]]:
    return {kept.node: [(blocker.code, blocker.pod) for blocker in kept.blockers] for kept in found.kept}


def _bounds(found: Rollout) -> list[tuple[int, str]]:
    return [(bound.nodes, bound.reason.code) for bound in found.bounds]


def test_five_nodes_with_a_surge_of_two_take_three_waves() -> None:
    """2 + 2 + 1. Every pod goes to a new node. The bound for a new node is 15m + 15m, and a pod ends within 30 s: 1830 s a wave.
    Beyond the five nodes there are 2, 2 and 1: 5 nodes for 1830 s at 0.40 an hour are 1.0167."""
    found = _predict(_paced(_group(5, "3"), 2), _rules(price_per_hour="0.40"))
    assert _waves(found) == [(2, ("general-1", "general-2")), (2, ("general-3", "general-4")), (1, ("general-5",))]
    assert (found.nodes, found.at_once, found.surge, found.last_adds, found.kept) == (5, 2, 2, 0, ())
    assert [(wave.pods, wave.to_new, wave.turns, wave.seconds) for wave in found.waves] == [
        (2, 2, 1, 1830), (2, 2, 1, 1830), (1, 1, 1, 1830),
    ]  # fmt: skip
    assert (found.time.new_node_seconds, found.time.observed, found.time.seconds) == (1800, 0, 5490)
    assert (found.cost.surge_per_hour, found.cost.in_all, found.cost.currency) == ("0.80", "1.016667", "USD")
    assert _bounds(found) == [(2, "TargetPace"), (15, "RoomToGrow")]
    assert found.summary == "Rollout of general: 5 nodes in 3 waves, 2 at a time, at most 1h31m30s."


def test_the_pace_is_the_one_that_the_nodes_of_the_group_show() -> None:
    """Each was ready 120 s after its Machine was made: 3 waves of 150 s. 5 nodes for 150 s at 0.40 an hour are 0.0833."""
    found = _predict(_paced(_group(5, "3"), 2, ready_after=120), _rules(price_per_hour="0.40"))
    assert (found.time.new_node_seconds, found.time.observed, found.time.seconds) == (120, 5, 450)
    assert found.cost.in_all == "0.083333"
    assert found.summary == "Rollout of general: 5 nodes in 3 waves, 2 at a time, about 7m30s."


@pytest.mark.parametrize(("ready", "took"), [([60, 90, 300], 90), ([60, 90], 90), ([60, 1801], 60), ([-5, 0], 1800)])
def test_the_median_of_plausible_times_counts(ready: list[int], took: int) -> None:
    """Of two the longer. Longer than both timeouts: ready for a second time. Not after its Machine: that one was moved."""
    world = _group(len(ready)).world()
    nodes = tuple(
        msgspec.structs.replace(node, ready_seconds=node.ready_seconds + after)
        for node, after in zip(world.nodes, ready, strict=True)
    )
    found = _predict(msgspec.structs.replace(world, nodes=nodes), _rules())
    assert (found.time.new_node_seconds, found.time.learned) == (took, took != 1800)


def test_a_disruption_budget_of_one_over_two_nodes_makes_two_waves() -> None:
    """Both nodes could be replaced together, but only one pod may be evicted until it runs again."""
    cluster = _group(2, "3")
    cluster.budget("web", allowed=1)
    found = _predict(_paced(cluster, 2), _rules())
    assert [(wave.nodes, wave.waits_for) for wave in found.waves] == [(("general-1",), ("shop/web",)), (("general-2",), ())]
    assert _waves(found)[0][0] == 2
    assert [(one.budget, one.allowed, one.pods, one.nodes) for one in found.budgets] == [("shop/web", 1, 2, 2)]


def test_pods_of_one_budget_leave_their_node_in_turns() -> None:
    """Five pods of which two may be evicted at a time: 3 turns of 30 s each."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 5, cpu="500m", on="general-1")
    cluster.budget("web", allowed=2)
    (wave,) = _predict(_paced(cluster, 1, ready_after=100), _rules()).waves
    assert (wave.turns, wave.seconds) == (3, 190)


def test_a_budget_that_allows_nothing_keeps_its_nodes() -> None:
    cluster = _group(2)
    cluster.budget("web", allowed=0)
    found = _predict(_paced(cluster, 1), _rules())
    assert _kept(found) == {
        "general-1": [("NotEnoughPdb", "shop/web-1")],
        "general-2": [("NotEnoughPdb", "shop/web-2")],
    }
    assert found.summary == "Rollout of general: none of its 2 nodes can be drained."


@pytest.mark.parametrize("named", ["NotSafeToEvict", "Unreplicated"])
def test_a_node_with_a_pod_that_may_not_be_evicted_stays(named: str) -> None:
    """`do-not-disrupt` (safe-to-evict: "false") or no controller: the others go on without it."""
    cluster = _group(3, "1")
    how: dict[str, object] = {"traits": {"safe_to_evict": "false"}} if named == "NotSafeToEvict" else {"owner": None}
    cluster.pods("alone", 1, cpu="100m", on="general-2", **how)  # type: ignore[arg-type]
    found = _predict(_paced(cluster, 1), _rules())
    assert _kept(found) == {"general-2": [(named, "shop/alone-1")]}
    assert _waves(found) == [(1, ("general-1",)), (1, ("general-3",))]
    assert found.summary.endswith("2 nodes in 2 waves, 1 at a time, at most 1h1m. 1 node cannot be drained.")


@pytest.mark.parametrize(("pace", "forbidden"), [(None, False), (ONE_AT_A_TIME, True)])
def test_without_room_for_a_surge_each_node_leaves_first(pace: RolloutPace | None, *, forbidden: bool) -> None:
    """The group is at its maximum of 3. The pods of a node (1 of 4 cores) fit on the others until its replacement comes, which
    is counted in the next wave; the last one comes after the last wave."""
    world = _group(3).world()
    targets = tuple(msgspec.structs.replace(facts, rollout=pace) for facts in world.targets)
    found = _predict(msgspec.structs.replace(world, targets=targets), _rules(max=3, price_per_hour="1"))
    assert _waves(found) == [(0, ("general-1",)), (1, ("general-2",)), (1, ("general-3",))]
    assert (found.at_once, found.surge, found.last_adds) == (1, 0, 1)
    (obstacle,) = found.obstacles
    assert (obstacle.code, obstacle.data["forbidden"]) == ("NoSurgeRoom", forbidden)
    assert obstacle.message.startswith("general has no room for another node, so each one leaves before its replacement comes: ")
    assert found.time.seconds == 3 * 30 + 3 * 1800
    assert (found.cost.surge_per_hour, found.cost.in_all) == ("0.00", "0.00")


def test_without_room_for_a_surge_full_nodes_stay() -> None:
    """3 of 4 cores in use everywhere."""
    found = _predict(_group(3, "3").world(), _rules(max=3))
    assert _kept(found) == {f"general-{n}": [("NoPlaceToMove", f"shop/web-{n}")] for n in (1, 2, 3)}
    message = found.kept[0].blockers[0].message
    assert message.startswith(
        "1 pod like it (3000m cpu, 0Mi memory each) does not fit on the other 2 nodes: too little free capacity on 2"
    )


def test_room_for_one_more_bounds_a_larger_surge() -> None:
    found = _predict(_paced(_group(3, "3"), 3), _rules(max=4))
    assert [len(wave.nodes) for wave in found.waves] == [1, 1, 1]
    assert _bounds(found) == [(1, "RoomToGrow"), (3, "TargetPace")]


def test_nodes_that_may_be_missing_leave_with_the_surge() -> None:
    """Surge 1 and 1 unavailable: two leave for each new one that is there before. Of 4 cores each pod takes 1."""
    found = _predict(_paced(_group(4), 1, 1), _rules())
    assert _waves(found) == [(1, ("general-1", "general-2")), (2, ("general-3", "general-4"))]
    assert found.last_adds == 1


def test_the_policy_without_budgets_lets_a_tenth_leave_at_a_time() -> None:
    """A tenth of 5, rounded up, is 1; of 11 it is 2."""
    for nodes, allowed in ((5, 1), (11, 2)):
        found = _predict(_paced(_group(nodes), 5), policy(node_group("general", max=30)))
        assert found.at_once == found.surge == allowed
        assert _bounds(found)[0] == (allowed, "AllowedAtOnce")


def test_a_budget_of_one_zone_never_lets_a_wave_disrupt_two() -> None:
    """Nodes in a, b, a, b and room for all at once: those of a leave together, then those of b."""
    world = _paced(_over_zones("abab", bound=False), 4)
    rules = policy(node_group("general", max=20), budgets=(Budget(name="zone", nodes=9, zones=1), *MANY))
    found = _predict(world, rules)
    assert [wave.nodes for wave in found.waves] == [("general-1", "general-3"), ("general-2", "general-4")]


def test_budgets_for_other_reasons_do_not_count() -> None:
    budgets = (Budget(name="empty", nodes=0, reasons=(RemovalReason.EMPTY,)), Budget(name="rest", nodes=3))
    found = _predict(_paced(_group(6), 6), policy(node_group("general", max=30), budgets=budgets))
    assert [len(wave.nodes) for wave in found.waves] == [3, 3]


def test_a_budget_of_zero_puts_the_start_off() -> None:
    """NOW is 2027-01-15T08:00:00Z, a Friday; the budget is open from 7 for three hours."""
    budgets = (Budget(name="day", nodes=0, schedule="0 7 * * *", time_zone="UTC", duration_seconds=3 * 3600),)
    found = _predict(_paced(_group(2), 1), policy(node_group("general"), budgets=(*budgets, *MANY)))
    assert found.time.starts_at == "2027-01-15T10:00:00Z"
    assert len(found.waves) == 2


def test_a_budget_of_zero_without_an_end_keeps_every_node() -> None:
    found = _predict(_paced(_group(2), 1), policy(node_group("general"), budgets=(Budget(name="never", nodes=0),)))
    assert (found.waves, found.at_once) == ((), 0)
    assert {tuple(codes) for codes in _kept(found).values()} == {(("Budget", ""),)}


def test_a_pod_of_a_zone_that_new_nodes_are_not_in_keeps_its_node() -> None:
    """New nodes come in zone a; the pod on the only node in b asks for b."""
    cluster = ClusterBuilder()
    size = amounts("4", "16Gi", 110)
    template = TargetTemplate(capacity=size, allocatable=size, labels=((ZONE, "a"),), zone="a", origins=("annotations",))
    ref = cluster.target("general", 3, template=template)
    for name, zone in (("general-1", "a"), ("general-2", "b"), ("general-3", "a")):
        cluster.node(name, labels={ZONE: zone})
        cluster.machine(name, ref, node=name)
        cluster.pods(f"db-{zone}-{name[-1]}", 1, cpu="3", on=name, node_selector={ZONE: zone})
    found = _predict(_paced(cluster, 1), _rules())
    assert _kept(found) == {"general-2": [("NoPlaceToMove", "shop/db-b-2-1")]}
    assert "other labels than the pod wants" in found.kept[0].blockers[0].message
    assert _waves(found) == [(1, ("general-1",)), (1, ("general-3",))]


def _over_zones(zones: str, *, bound: bool) -> ClusterBuilder:
    size = amounts("4", "16Gi", 110)
    abc = TargetTemplate(capacity=size, allocatable=size, zones=("a", "b"), fills_zones=True, origins=("tags",))
    cluster = ClusterBuilder()
    ref = cluster.target("general", len(zones), template=abc)
    for number, zone in enumerate(zones, 1):
        name = cluster.node(f"general-{number}", labels={ZONE: zone})
        cluster.machine(name, ref, node=name)
        cluster.pods(f"db-{number}", 1, cpu="3", on=name, node_selector={ZONE: zone} if bound else None)
    return cluster


def test_a_zone_that_the_platform_chooses_is_promised_to_nobody() -> None:
    """One node in a, one in b: the new one comes anywhere, and a pod that needs its zone has no certain place."""
    found = _predict(_paced(_over_zones("ab", bound=True), 1), _rules())
    assert {codes[0][0] for codes in _kept(found).values()} == {"NoPlaceToMove"}
    assert (len(found.kept), _obstacles(found)) == (2, ["ZoneNotKnown"])
    free = _predict(_paced(_over_zones("ab", bound=False), 1), _rules())
    assert (len(free.waves), free.kept, _obstacles(free)) == (2, (), [])


def test_each_zone_gets_one_of_as_many_new_nodes() -> None:
    """Two new nodes for one in a and one in b: whichever comes first, each zone has one."""
    found = _predict(_paced(_over_zones("ab", bound=True), 2), _rules())
    assert ([sorted(wave.nodes) for wave in found.waves], found.kept, _obstacles(found)) == (
        [["general-1", "general-2"]], (), [],
    )  # fmt: skip


def test_a_zone_with_fewer_nodes_gets_the_next_one() -> None:
    """Two in a, one in b: the new one comes in b, so that the pod of b has a place, and those of a have none until then. Once the
    node of b is gone, b has one again and a has two, so that each later one comes in b, too."""
    found = _predict(_paced(_over_zones("aab", bound=True), 1), _rules())
    assert found.waves[0].nodes == ("general-3",)
    assert sorted(_kept(found)) == ["general-1", "general-2"]


def test_a_held_group_is_predicted_all_the_same() -> None:
    """Somebody else declares its replicas."""
    ours = _predict(_paced(_group(4), 2), _rules())
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=4, owners=[FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=1)])
    cluster.pods("web", 4, cpu="1", on=list(names))
    held = _predict(_paced(cluster, 2), _rules())
    assert held.held == "argocd-controller decides its replicas"
    assert (held.owner.state.value, held.owner.by) == ("Held", "argocd-controller")
    assert ours.held is None
    assert (held.waves, held.time, held.kept) == (ours.waves, ours.time, ours.kept)


def test_what_is_not_captured_keeps_every_node() -> None:
    """Without pods nobody knows what a drain would move."""
    world = _paced(_group(2), 1)
    found = _predict(msgspec.structs.replace(world, not_captured=("Pod",)), _rules())
    assert {tuple(codes) for codes in _kept(found).values()} == {(("RemovalsHalted", ""),)}


def test_nodes_that_the_work_budget_did_not_reach_are_said_to_be_so() -> None:
    found = _predict(_paced(_group(3), 1), _rules(), work=1)
    assert {codes[0][0] for codes in _kept(found).values()} == {"NotExamined"}


def test_nodes_that_are_leaving_are_not_replaced() -> None:
    cluster = _group(2)
    cluster.node("general-2", labels={"pool": "general"}, taints=("reconciler.dev/deleting=test.1:NoSchedule",))
    found = _predict(_paced(cluster, 1), _rules())
    assert (found.nodes, _waves(found)) == (1, [(1, ("general-1",))])


def test_an_unknown_template_counts_on_the_nodes_that_are_there() -> None:
    """The new nodes come, but nobody knows what would fit on them."""
    world = _paced(_group(2), 1)
    empty = tuple(msgspec.structs.replace(facts, template=TargetTemplate()) for facts in world.targets)
    nodes = tuple(msgspec.structs.replace(node, ready=False, ready_seconds=NOW - 90_000) for node in world.nodes)
    found = _predict(msgspec.structs.replace(world, targets=empty, nodes=nodes), _rules())
    assert "TemplateUnknown" in _obstacles(found)
    assert all(wave.to_new == 0 for wave in found.waves)


def test_a_group_without_nodes_needs_nothing() -> None:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    found = _predict(cluster.world(), _rules())
    assert (found.summary, found.waves, found.time.seconds) == ("Rollout of general: it has no nodes.", (), 0)


def test_a_target_that_waits_for_deletions_never_surges() -> None:
    """OnDelete: somebody deletes a node, and its replacement comes."""
    pace = RolloutPace(surge=0, unavailable=1, on_delete=True, origin="strategy OnDelete")
    world = _group(2).world()
    targets = tuple(msgspec.structs.replace(facts, rollout=pace) for facts in world.targets)
    found = _predict(msgspec.structs.replace(world, targets=targets), _rules())
    assert (_waves(found), found.last_adds, _obstacles(found)) == ([(0, ("general-1",)), (1, ("general-2",))], 1, [])
    data: Mapping[str, Scalar] = found.bounds[0].reason.data
    assert data["onDelete"] is True


def test_moved_pods_move_again_with_the_node_that_took_them() -> None:
    """Without a surge the pod of the first node goes to another old node, and is counted again when that one leaves. The
    names order the drains, and the last one takes what the earlier ones give away as long as it has room."""
    found = _predict(_group(2).world(), _rules(max=2))
    assert [(wave.nodes, wave.pods, wave.to_new) for wave in found.waves] == [(("general-1",), 1, 0), (("general-2",), 2, 2)]


def test_a_node_that_takes_pods_does_not_leave_with_the_one_that_gives_them() -> None:
    """Two may be missing at once. The pod of the first node (2 cores) fits on the second alone, and that of the second on the
    third, so that both could leave together, if the second had not just got a pod. The pod of the third (3 cores) waits for a
    new node of its own."""
    cluster = ClusterBuilder()
    first, second, third = cluster.group("general", nodes=3)
    cluster.pods("a", 1, cpu="2", on=first)
    cluster.pods("b", 1, cpu="1", memory="12Gi", on=second)
    cluster.pods("c", 1, cpu="3", on=third)
    found = _predict(_paced(cluster, 0, 2), _rules())
    assert [(wave.adds, wave.nodes, wave.pods) for wave in found.waves] == [
        (0, (first,), 1), (1, (second,), 2), (1, (third,), 1),
    ]  # fmt: skip


def test_pending_pods_take_their_room_first() -> None:
    """A pod of 3 cores waits. The first new node is its place, so that only the second one takes the pods of an old node."""
    cluster = _group(2, "3")
    cluster.pods("waits", 1, cpu="3")
    found = _predict(_paced(cluster, 1), _rules())
    assert (found.waves, sorted(_kept(found))) == ((), ["general-1", "general-2"])
    assert found.obstacles[-1].message == "1 pod waits for a node and may take other places than this prediction assumes"
    two = _predict(_paced(cluster, 2), _rules())
    assert (_waves(two), sorted(_kept(two))) == ([(2, ("general-1",))], ["general-2"])


def test_a_pending_pod_moves_with_the_old_node_that_it_joins() -> None:
    """It fits on the only node, and its budget lets none of its pods go while it is pending."""
    cluster = _group(1)
    cluster.pods("waits", 1, cpu="1")
    cluster.budget("waits", allowed=0)
    assert _kept(_predict(_paced(cluster, 1), _rules())) == {"general-1": [("NotEnoughPdb", "")]}


def test_the_group_must_exist() -> None:
    with pytest.raises(KeyError):
        _predict(_group(1).world(), _rules(), "nobody")


@pytest.mark.parametrize(("requests", "took", "observed"), [(5, 62, 5), (4, 120, 5)])
def test_what_the_loop_has_learned_comes_before_what_nodes_show(requests: int, took: int, observed: int) -> None:
    """Requests of 60, 61, ... s, from five on; nodes show 120 s."""
    learned = tuple(LeadTime(NOW - 86_400 + number * 3600, 50, 60 + number) for number in range(requests))
    memory = Memory(lead_times={"MachineDeployment prod/general": LeadTimes(requests=learned)})
    world = _paced(_group(5, "3"), 2, ready_after=120)
    found = predict_rollout(View.of(world, _rules(), memory, NOW, Work(1_000_000)), "general")
    assert (found.time.new_node_seconds, found.time.observed) == (took, observed)
