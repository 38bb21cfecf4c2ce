"""Several nodes for fewer: any number of new nodes, of several groups, and room on nodes that stay."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.demand.purchase import GIVEN_UP_SECONDS
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory, Outcome, Replacement
from reconciler.decisions.remember import settle
from reconciler.decisions.removal.replacements import repack
from reconciler.decisions.removal.replacements.replacing import PATIENCE_SECONDS
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import (
    Budget,
    Consolidation,
    Disruption,
    NodeGroup,
    PodWeight,
    PolicySet,
    ScaleDown,
    Tier,
    Toggle,
)
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

ON = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
OFF = ScaleDown(unneeded_time_seconds=0)
PRICES = {"small": "0.20", "mid": "0.35", "big": "0.80"}
CORES = {"small": "4", "mid": "8", "big": "16"}
MID, SMALL = str(machine_deployment("mid")), str(machine_deployment("small"))


def _cluster(**nodes: int) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for name, cpu in CORES.items():
        cluster.group(name, nodes=nodes.get(name, 0), cpu=cpu)
    return cluster


def _rules(scale_down: ScaleDown = ON, **fields: object) -> PolicySet:
    groups = (_priced(name, scale_down) for name in CORES)
    return policy(*groups, **{"budgets": (Budget(nodes=100),), **fields})


def _priced(name: str, scale_down: ScaleDown, **fields: object) -> NodeGroup:
    return node_group(name, price_per_hour=PRICES[name], scale_down=scale_down, **fields)


def _replaces(plan: Plan) -> list[tuple[str, int, int, tuple[str, ...]]]:
    return [(one.group, one.from_, one.to, one.nodes) for one in of_kind(plan, ActionKind.REPLACE)]


def _named(plan: Plan) -> set[str]:
    return {name for one in _replaces(plan) for name in one[3]}


def _removes(plan: Plan) -> list[str]:
    return [one.nodes[0] for one in of_kind(plan, ActionKind.REMOVE_NODE)]


def _uneven() -> ClusterBuilder:
    """Two nodes of 16 cores (0.80) with four pods of 3 each. One takes a fifth, a node of 8 (0.35) two, and one of 4 (0.20) the
    last."""
    cluster = _cluster(big=2)
    cluster.pods("web", 8, cpu="3", on=["big-1"] * 4 + ["big-2"] * 4)
    return cluster


def test_one_node_for_two_of_one_group() -> None:
    """Two pods of 3 cores on 16: two nodes of 4 cores for half of the price."""
    cluster = _cluster(big=1)
    cluster.pods("web", 2, cpu="3", on="big-1")
    rules = policy(_priced("small", ON), _priced("big", ON), budgets=(Budget(nodes=100),))
    plan = plan_of(cluster.world(), rules)
    assert _replaces(plan) == [("small", 0, 2, ("big-1",))]
    assert (group(plan, "small").desired, group(plan, "big").desired) == (2, 0)
    assert (plan.cost.current_per_hour, plan.cost.desired_per_hour) == ("0.80", "0.40")


def test_new_nodes_of_several_groups_are_one_replacement() -> None:
    """Each group that grows has an action, all with the same nodes and the same saving; the memory has each target."""
    plan, memory = decide(_uneven().world(), _rules(), Memory(), NOW)
    assert _replaces(plan) == [("mid", 0, 1, ("big-1",)), ("small", 0, 1, ("big-1",))]
    assert {one.reason.code for one in plan.actions} == {"Repack"}
    assert {one.reason.data["savingPerHour"] for one in plan.actions} == {"0.25"}
    begun = {"nodes": ("big-1",), "to": 1, "started_seconds": NOW, "saving_micros": 250_000, "elsewhere": True}
    assert memory.replacements == (Replacement(target=MID, **begun), Replacement(target=SMALL, **begun))
    assert "1 replacement" in plan.summary


def test_the_sentence_says_what_a_month_saves_and_what_moves_once() -> None:
    """0.25 an hour are 182.50 in 730 hours, 31 % of 0.80."""
    plan = plan_of(_uneven().world(), _rules())
    assert plan.actions[0].reason.message.endswith("saves 182.50 a month (31%) by moving 4 pods once")


def test_room_on_nodes_that_stay_counts() -> None:
    """Two of 16 cores with three pods of 3 each: one takes two more, and the last needs a node of 4."""
    cluster = _cluster(big=2)
    cluster.pods("web", 6, cpu="3", on=["big-1"] * 3 + ["big-2"] * 3)
    assert _replaces(plan_of(cluster.world(), _rules())) == [("small", 0, 1, ("big-1",))]


def test_nodes_leave_without_new_ones_where_there_is_room() -> None:
    """Above the threshold of 50 %, scale-down keeps both; the pods of one fit beside those of the other."""
    cluster = _cluster(mid=1, big=1)
    cluster.pods("web", 1, cpu="5", on="mid-1")
    cluster.pods("base", 1, cpu="10", on="big-1")
    plan, memory = decide(cluster.world(), _rules(), Memory(), NOW)
    assert _removes(plan) == ["mid-1"]
    assert plan.actions[0].reason.message == "other nodes have room for 1 pod of mid-1. That saves 0.35/h"
    assert memory.replacements == ()
    assert _removes(plan_of(cluster.world(), _rules(OFF))) == []


def test_off_nothing_is_searched() -> None:
    """Disabled: neither an action nor a word about several new nodes."""
    plan = plan_of(_uneven().world(), _rules(OFF))
    assert plan.actions == ()
    assert codes(group(plan, "big")) == []


def test_it_waits_for_the_unneeded_time_of_each_node() -> None:
    """Ten minutes from the first plan that saw it. It is told before."""
    rules = _rules(ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED)))
    world = _uneven().world()
    first, memory = decide(world, rules, Memory(), NOW)
    assert (first.actions, codes(group(first, "big"))) == ((), ["CouldBeRepacked"])
    assert node(first, "big-1").removable_at == "2027-01-15T08:10:00Z"
    assert decide(world, rules, memory, NOW + 599)[0].actions == ()
    assert len(_replaces(decide(world, rules, memory, NOW + 600)[0])) == 2


@pytest.mark.parametrize("least", [31, 32])
def test_the_saving_passes_at_its_threshold(least: int) -> None:
    """0.25 of 0.80 is 31.25 %."""
    asks = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_percent=least))
    assert bool(_replaces(plan_of(_uneven().world(), _rules(asks)))) is (least == 31)


def test_moved_pods_must_be_worth_it() -> None:
    """Four pods at 0.0625 an hour each weigh 0.25."""
    for each, replaced in (("0.0625", True), ("0.063", False)):
        asks = Consolidation(mode=Toggle.ENABLED, min_saving_per_moved_pod=each)
        plan = plan_of(_uneven().world(), _rules(ScaleDown(unneeded_time_seconds=0, consolidation=asks)))
        assert bool(_replaces(plan)) is replaced


def test_young_pods_must_save_twice_as_much() -> None:
    """Eight of 3 cores, four of them on the node that leaves. Four times 0.0625 are its saving of 0.25, eight times are not."""
    asks = Consolidation(mode=Toggle.ENABLED, min_saving_per_moved_pod="0.0625")
    for age, replaced in ((3_600, True), (3_599, False)):
        cluster = _cluster(big=2)
        cluster.pods("web", 8, cpu="3", on=["big-1"] * 4 + ["big-2"] * 4, age=age)
        plan = plan_of(cluster.world(), _rules(ScaleDown(unneeded_time_seconds=0, consolidation=asks)))
        assert bool(_replaces(plan)) is replaced


@pytest.mark.parametrize(
    ("pods", "priority", "age", "replaced"),
    [(2, 0, None, True), (8, 0, None, False), (2, 7, None, False), (2, 0, 60, False)],
    ids=["two pods", "eight pods", "priority", "young"],
)
def test_balanced_weighs_moved_pods(pods: int, priority: int, age: int | None, replaced: bool) -> None:
    """Two nodes of 0.20 for one of 0.80 save 0.40. Both nodes of 0.80 have 7 pods, so half a pod is 0.114: two weigh 0.23, and
    twice that if they are young or have a priority. With 13 pods, half a pod is 0.062, and eight weigh 0.49."""
    balanced = ScaleDown(
        unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED, disruption=Disruption.BALANCED)
    )
    cluster = _cluster(big=2)
    cluster.pods("web", pods, cpu=f"{6_000 // pods}m", on="big-1", priority=priority, age=age)
    cluster.pods("base", 5, cpu="3", on="big-2", traits={"safe_to_evict": "false"})
    rules = policy(_priced("small", ON), _priced("big", balanced), budgets=(Budget(nodes=9),))
    plan = plan_of(cluster.world(), rules)
    assert bool(_replaces(plan)) is replaced
    if replaced:
        assert plan.actions[0].reason.message.endswith(
            "by moving 2 pods once (moving them must save 0.22857/h, and it pays back in 30m30s)"
        )


@pytest.mark.parametrize(("weight", "priority", "replaced"), [(1, 0, True), (2, 0, False), (0, 7, True), (1, 7, False)], ids=str)
def test_balanced_weighs_pods_by_their_labels(weight: int, priority: int, replaced: bool) -> None:
    """As above, two pods weigh 0.23 and save 0.40. Counted twice they weigh 0.46, and never counted nothing."""
    asks = Consolidation(
        mode=Toggle.ENABLED,
        disruption=Disruption.BALANCED,
        pod_weights=(PodWeight(labels=(("app", "web"),), weight=weight),),
    )
    cluster = _cluster(big=2)
    cluster.pods("web", 2, cpu="3", on="big-1", priority=priority)
    cluster.pods("base", 5, cpu="3", on="big-2", traits={"safe_to_evict": "false"})
    balanced = ScaleDown(unneeded_time_seconds=0, consolidation=asks)
    rules = policy(_priced("small", ON), _priced("big", balanced), budgets=(Budget(nodes=9),))
    assert bool(_replaces(plan_of(cluster.world(), rules))) is replaced


@pytest.mark.parametrize(
    ("price", "took", "grace", "payback"),
    [
        ("0.99", None, 30, None),  # 0.99 x 1830 s / 0.01 = 181170 s
        ("0.99", 300, 30, 32_670),  # 0.99 x 330 s / 0.01
        ("0.99", 300, 572, 86_328),  # 0.99 x 872 s / 0.01
        ("0.99", 300, 573, None),  # 0.99 x 873 s / 0.01 = 86427 s
        ("0.99", 273, 599, 86_328),
        ("0.99", 272, 7_200, 86_328),  # a drain gives 600 s at most: 0.99 x 872 s / 0.01
        ("0.99", 273, 7_200, None),  # 0.99 x 873 s / 0.01
        ("0.90", 300, 573, 7_857),  # 0.90 x 873 s / 0.10
    ],
)
def test_balanced_pays_within_a_day_for_old_and_new_nodes(price: str, took: int | None, grace: int, payback: int | None) -> None:
    """One node of 1.00 for a cheaper one: the new one runs for its lead time (30 minutes where nothing is known: 15 until the
    Machine has its node and 15 until that is ready) and the longest grace period, while the old one still runs."""
    asks = Consolidation(
        mode=Toggle.ENABLED,
        min_saving_percent=1,
        disruption=Disruption.BALANCED,
        pod_weights=(PodWeight(labels=(("app", "web"),), weight=0),),
    )
    scale_down = ScaleDown(unneeded_time_seconds=0, consolidation=asks)
    cluster = _cluster(big=1)
    cluster.pods("web", 2, cpu="3", on="big-1", traits={"grace_seconds": grace})
    half = f"{float(price) / 2:.3f}"
    prices = {"small": half, "big": "1.00"}
    groups = tuple(node_group(name, price_per_hour=each, scale_down=scale_down) for name, each in prices.items())
    times = () if took is None else (LeadTime(asked_seconds=NOW - 9_000, joined_seconds=took, usable_seconds=took),) * 5
    memory = Memory(lead_times={SMALL: LeadTimes(requests=times)})
    plan = decide(cluster.world(), policy(*groups, budgets=(Budget(nodes=9),)), memory, NOW)[0]
    found = [one.reason.data.get("paybackSeconds") for one in of_kind(plan, ActionKind.REPLACE)]
    assert found == ([] if payback is None else [payback])
    assert ("ReplacementPaysLate" in codes(group(plan, "big"))) is (payback is None)


def test_minimum_holds() -> None:
    """A group of two with minimum two gives none."""
    groups = (_priced("small", ON), _priced("mid", ON), _priced("big", ON, min=2))
    assert plan_of(_uneven().world(), policy(*groups, budgets=(Budget(nodes=100),))).actions == ()


@pytest.mark.parametrize(("share", "replaced"), [(33, True), (34, False)])
def test_a_share_holds(share: int, replaced: bool) -> None:
    """One of three nodes would be left of the tier."""
    tiers = (Tier(name="first"), Tier(name="second", share_percent=share))
    groups = (_priced("small", ON, tier="first"), _priced("mid", ON, tier="first"), _priced("big", ON, tier="second"))
    rules = policy(*groups, tiers=tiers, budgets=(Budget(nodes=100),))
    assert bool(_replaces(plan_of(_uneven().world(), rules))) is replaced


def test_disruption_budget_holds() -> None:
    """No disruption is allowed: nothing is bought."""
    cluster = _uneven()
    cluster.budget("web", min_available="8", allowed=0, healthy=8, desired=8, expected=8)
    assert plan_of(cluster.world(), _rules()).actions == ()


def _under_way(seconds_ago: int = 120) -> Memory:
    begun = {"nodes": ("big-1",), "to": 1, "started_seconds": NOW - seconds_ago, "saving_micros": 250_000, "elsewhere": True}
    return Memory(replacements=(Replacement(target=MID, **begun), Replacement(target=SMALL, **begun)))


def _coming(*ready: str, mids: int = 1, smalls: int = 1) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("big", nodes=2, cpu="16")
    cluster.pods("web", 8, cpu="3", on=["big-1"] * 4 + ["big-2"] * 4)
    for name, count in (("mid", mids), ("small", smalls)):
        if name in ready:
            cluster.group(name, nodes=count, cpu=CORES[name], created=NOW - 60)
        else:
            ref = cluster.target(name, count)
            for number in range(count):
                cluster.machine(f"{name}-m{number}", ref, created=NOW - 100)
    return cluster


def test_nothing_is_drained_before_all_new_nodes_are_ready() -> None:
    """One of two is there: the node waits for the other, by name of its target."""
    plan, memory = decide(_coming("mid").world(), _rules(), _under_way(), NOW)
    assert plan.actions == ()
    (blocker,) = node(plan, "big-1").blockers
    assert blocker.message == f"it is replaced as soon as a new node of {SMALL} is ready"
    assert memory.replacements == _under_way().replacements


def test_the_new_nodes_take_the_pods_together() -> None:
    """With the node that stays."""
    plan = plan_of(_coming("mid", "small").world(), _rules(), _under_way())
    assert _removes(plan) == ["big-1"]
    assert plan.actions[0].reason.data["by"] == ("mid-1", "small-1")
    assert [blocker_codes(plan, name) for name in ("mid-1", "small-1")] == [["Replaces"]] * 2


def test_a_refused_part_leaves_the_other() -> None:
    """The refusal is forgotten; what was bought takes what it can, and the node that keeps a pod stays and says so."""
    refused = Outcome(
        kind="Replace", group="small", target=SMALL, to=1, nodes=("big-1",), done=False, code="Conflict", at_seconds=NOW
    )
    memory = settle(_under_way(), (refused,))
    assert [one.target for one in memory.replacements] == [MID]
    plan = plan_of(_coming("mid", smalls=0).world(), _rules(), memory)
    assert plan.actions == ()
    assert blocker_codes(plan, "big-1") == ["NoPlaceToMove"]


def test_a_part_that_never_comes_is_not_awaited_for_ever() -> None:
    """Its group is backed off after 15 minutes, and the other part goes on alone."""
    cluster = _coming("mid", smalls=0)
    small = cluster.target("small", 1)
    cluster.machine("small-late", small, created=NOW - 901)
    plan, memory = decide(cluster.world(), _rules(), _under_way(901), NOW)
    assert [one.target for one in memory.replacements] == [MID]
    assert blocker_codes(plan, "big-1") == ["NoPlaceToMove"]
    assert memory.backoffs["small"].failures == 1


def test_what_was_given_up_is_not_paid_for_again_within_a_day() -> None:
    """An hour after the start nothing could be drained. The same is not begun before the next day."""
    memory = settle(_under_way(PATIENCE_SECONDS + 1), ())
    cluster = _coming("mid", "small")
    cluster.pods("other", 2, cpu="4", on=["mid-1", "small-1"])
    plan, memory = decide(cluster.world(), _rules(), memory, NOW)
    assert "big-1" not in _named(plan)
    assert (memory.given_up, memory.repacked) == ({"big-1": NOW}, {"mid-1": NOW, "small-1": NOW})
    memory = Memory(given_up={"big-1": NOW})
    again, after = decide(_uneven().world(), _rules(), memory, NOW + GIVEN_UP_SECONDS - 1)
    assert (_named(again), after.given_up) == ({"big-2"}, {"big-1": NOW})
    later, after = decide(_uneven().world(), _rules(), memory, NOW + GIVEN_UP_SECONDS)
    assert (_named(later), after.given_up) == ({"big-1"}, {})


def _lost() -> Memory:
    """A replacement has begun for 1.60 an hour, and its new nodes are gone."""
    _, memory = decide(_uneven().world(), _rules(), Memory(), NOW)
    assert memory.purchase is not None
    assert memory.purchase.paid_at_micros == 1_599_999
    return msgspec.structs.replace(memory, replacements=())


@pytest.mark.parametrize(("pods", "seconds", "begins"), [(8, 60, False), (7, 60, True), (8, 86_400, True)])
def test_the_same_demand_does_not_pay_before_the_last_replacement_has(pods: int, seconds: int, begins: bool) -> None:
    """Nothing has become cheaper: the same pods wait a day, fewer do not."""
    cluster = _cluster(big=2)
    cluster.pods("web", pods, cpu="3", on=["big-1"] * 4 + ["big-2"] * (pods - 4))
    plan, _ = decide(cluster.world(), _rules(), _lost(), NOW + seconds)
    assert bool(_replaces(plan)) is begins
    assert ("ReplacementUnpaid" in codes(group(plan, "big"))) is not begins


def test_more_pods_are_another_demand() -> None:
    """One pod more, and the next replacement begins, although it has room."""
    cluster = _uneven()
    cluster.pods("more", 1, cpu="500m", on="big-2")
    assert _replaces(decide(cluster.world(), _rules(), _lost(), NOW + 60)[0])


def test_what_was_saved_lets_the_next_replacement_begin() -> None:
    """It was to save 0.25 for its four pods, and did: 1.35 an hour from 1.60 before."""
    asks = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_per_moved_pod="0.0625"))
    _, memory = decide(_uneven().world(), _rules(asks), Memory(), NOW)
    assert memory.purchase is not None
    assert (memory.purchase.replaced_seconds, memory.purchase.paid_at_micros) == (NOW, 1_350_000)
    for paid_at, begins in ((1_599_999, False), (1_600_000, True)):
        purchase = msgspec.structs.replace(memory.purchase, paid_at_micros=paid_at)
        lost = msgspec.structs.replace(memory, replacements=(), purchase=purchase)
        assert bool(_replaces(decide(_uneven().world(), _rules(asks), lost, NOW + 60)[0])) is begins


@pytest.mark.parametrize(
    ("paid_at", "repair_above", "begins"),
    [
        (1_350_000, 1_599_999, True),
        (1_349_999, 1_599_999, False),
        (1_350_000, 1_600_000, False),
        (1_350_000, 0, False),
    ],
    ids=["leads below", "does not", "no more expensive than before", "was a repair"],
)
def test_a_replacement_that_cost_more_is_repaired_once(paid_at: int, repair_above: int, begins: bool) -> None:
    """All nodes cost 1.60 an hour, and the next replacement leads to 1.35. It has to save more than the last one had to."""
    lost = _lost()
    assert lost.purchase is not None
    assert lost.purchase.repair_above_micros == 1_600_000
    purchase = msgspec.structs.replace(lost.purchase, paid_at_micros=paid_at, repair_above_micros=repair_above)
    plan, memory = decide(_uneven().world(), _rules(), msgspec.structs.replace(lost, purchase=purchase), NOW + 60)
    assert bool(_replaces(plan)) is begins
    if begins:
        assert memory.purchase is not None
        assert (memory.purchase.paid_at_micros, memory.purchase.repair_above_micros) == (1_349_999, 0)


def test_pods_of_several_nodes_do_not_take_each_others_places() -> None:
    """Bound smallest first, pods of one node would take the place that a large pod of the other needs: one node waits."""
    cluster = ClusterBuilder()
    cluster.group("big", nodes=2, cpu="16")
    cluster.pods("six", 1, cpu="6", on="big-1")
    cluster.pods("two", 3, cpu="2", on="big-2")
    cluster.group("mid", nodes=1, cpu="8", created=NOW - 60)
    cluster.group("small", nodes=1, cpu="4", created=NOW - 60)
    begun = {"nodes": ("big-1", "big-2"), "to": 1, "started_seconds": NOW - 120, "saving_micros": 1, "elsewhere": True}
    memory = Memory(replacements=(Replacement(target=MID, **begun), Replacement(target=SMALL, **begun)))
    plan = plan_of(cluster.world(), _rules(), memory)
    assert _removes(plan) == ["big-1"]
    assert blocker_codes(plan, "big-2") == ["MovesLater"]


def _two_sources(mid_nodes: int) -> tuple[ClusterBuilder, Memory]:
    """Two nodes with a pod of 6 cores and one of 2. What replaces them is a node of 4 cores, and nodes of 8."""
    cluster = ClusterBuilder()
    cluster.group("big", nodes=2, cpu="16")
    cluster.pods("six", 1, cpu="6", on="big-1")
    cluster.pods("two", 1, cpu="2", on="big-2")
    cluster.group("mid", nodes=mid_nodes, cpu="8", created=NOW - 60)
    cluster.group("small", nodes=1, cpu="4", created=NOW - 60)
    begun = {"nodes": ("big-1", "big-2"), "to": 1, "started_seconds": NOW - 120, "saving_micros": 1, "elsewhere": True}
    return cluster, Memory(replacements=(Replacement(target=SMALL, **begun),))


def test_no_node_waits_for_one_that_cannot_leave() -> None:
    """The pod of 6 cores fits nowhere. The other node is drained all the same."""
    cluster, memory = _two_sources(0)
    plan = plan_of(cluster.world(), _rules(), memory)
    assert _removes(plan) == ["big-2"]
    assert blocker_codes(plan, "big-1") == ["NoPlaceToMove"]


def test_no_node_waits_for_one_that_something_else_keeps() -> None:
    """Nothing may evict the pod of 6 cores."""
    cluster, memory = _two_sources(1)
    cluster.pods("kept", 1, cpu="6", on="big-1", traits={"safe_to_evict": "false"})
    plan = plan_of(cluster.world(), _rules(), memory)
    assert "big-2" in _removes(plan)
    assert blocker_codes(plan, "big-1") == ["NotSafeToEvict"]


def test_a_new_node_is_in_no_other_repack_for_an_hour() -> None:
    """Or the same demand would pay twice. Nodes that are gone are forgotten."""
    cluster = _coming("mid", "small")
    memory = msgspec.structs.replace(_under_way(), repacked={"gone-1": NOW - 1, "big-2": NOW - GIVEN_UP_SECONDS})
    _, memory = decide(cluster.world(), _rules(), memory, NOW)
    assert memory.repacked == {"mid-1": NOW, "small-1": NOW}
    cluster = _cluster(big=1)
    cluster.pods("web", 2, cpu="3", on="big-1")
    rules = policy(_priced("small", ON), _priced("big", ON), budgets=(Budget(nodes=100),))
    for at, replaced in ((3_599, []), (3_600, [("small", 0, 2, ("big-1",))])):
        plan, _ = decide(cluster.world(), rules, Memory(repacked={"big-1": NOW}), NOW + at)
        assert _replaces(plan) == replaced


@pytest.mark.parametrize(("memory", "code"), [("none", "SameDemand"), ("repacked", ""), ("under way", "Replaces")])
def test_a_new_node_that_a_repack_did_not_need_leaves(memory: str, code: str) -> None:
    """Once the repack is over. A node that was added for pods stays as long as they do."""
    cluster, before = _coming("mid", "small"), _under_way()
    _, noted = decide(_uneven().world(), _rules(), Memory(), NOW - 120)
    parts = before.replacements if memory == "under way" else ()
    repacked = {} if memory == "none" else {"mid-1": NOW - 30, "small-1": NOW - 30}
    plan, _ = decide(cluster.world(), _rules(OFF), _for_policy(noted, parts, repacked), NOW)
    assert ("small-1" in _removes(plan)) is not bool(code)
    assert blocker_codes(plan, "small-1") == [code] * bool(code)


def _for_policy(noted: Memory, parts: tuple[Replacement, ...], repacked: dict[str, int]) -> Memory:
    assert noted.purchase is not None
    purchase = msgspec.structs.replace(noted.purchase, policy=_rules(OFF).digest)
    return Memory(purchase=purchase, replacements=parts, repacked=repacked)


def test_a_set_leaves_out_nodes_whose_like_would_be_added_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five pods of 3 cores and three: a mix for all eight has a node of 16 again. The fuller one stays, and the other one's three
    pods take nodes of 8 and 4 cores."""
    monkeypatch.setattr(repack, "FIRST_SETS", ())
    cluster = _cluster(big=2)
    cluster.pods("web", 8, cpu="3", on=["big-1"] * 5 + ["big-2"] * 3)
    assert _replaces(plan_of(cluster.world(), _rules())) == [("mid", 0, 1, ("big-2",)), ("small", 0, 1, ("big-2",))]


@pytest.mark.parametrize(("saving", "chosen"), [(90, 2), (89, 10)])
def test_of_sets_that_save_nearly_as_much_the_one_that_moves_fewer_pods_is_chosen(saving: int, chosen: int) -> None:
    """Nine tenths of the saving suffice."""
    plain = {"adds": (), "price_micros": 200, "enabled": True, "wait_seconds": 0}
    best = repack.Opportunity(nodes=(1, 2), saving_micros=100, pods=10, **plain)
    other = repack.Opportunity(nodes=(3,), saving_micros=saving, pods=2, **plain)
    found = repack.least_moved((best, other))
    assert found is not None
    assert found.pods == chosen


def test_one_new_node_may_take_all_pods_of_a_new_node() -> None:
    """They fit there in any order, so that what is promised comes true."""
    cluster = _cluster(big=1)
    cluster.pods("web", 1, cpu="3", on="big-1")
    plan, _ = decide(cluster.world(), _rules(), Memory(repacked={"big-1": NOW}), NOW)
    assert _replaces(plan) == [("small", 0, 1, ("big-1",))]


def test_new_nodes_have_room_in_whatever_order_pods_come() -> None:
    """Two nodes of 8 cores hold 3 + 3 + 1 + 1 each. If the small pods come first, one of 3 finds no room. One node of 4 cores
    more is cheaper than a third of 8."""
    cluster = _cluster(big=1)
    cluster.pods("large", 4, cpu="3", on="big-1")
    cluster.pods("little", 4, cpu="1", on="big-1")
    rules = policy(
        _priced("small", ON), _priced("mid", ON), node_group("big", price_per_hour="1.20", scale_down=ON),
        budgets=(Budget(nodes=100),),
    )  # fmt: skip
    assert _replaces(plan_of(cluster.world(), rules)) == [("mid", 0, 2, ("big-1",)), ("small", 0, 1, ("big-1",))]


def test_a_search_that_ends_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first set, no other one is judged."""
    monkeypatch.setattr(repack, "MOST_SETS", 1)
    reasons = {one.code: one for one in group(plan_of(_uneven().world(), _rules()), "big").reasons}
    assert "40 sets of nodes or 100000 steps per plan" in reasons["ReplacementsNotExamined"].message
    assert reasons["CouldBeRepacked"].data["nodes"] == ("big-1",)


def test_it_is_total_where_work_runs_out() -> None:
    """With hardly any steps, nothing begins, and the plan says that it did not look."""
    plan, memory = decide(_uneven().world(), _rules(), Memory(), NOW, work_budget=30)
    assert (plan.actions, memory.replacements) == ((), ())


def test_equal_clusters_give_equal_plans() -> None:
    """Whatever the order in which objects were read."""
    world = _uneven().world()
    turned = msgspec.structs.replace(world, targets=world.targets[::-1])
    assert plan_of(world, _rules()).actions == plan_of(turned, _rules()).actions
