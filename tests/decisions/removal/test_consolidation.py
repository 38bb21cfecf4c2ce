"""Nodes that one cheaper node could stand in for: shown always, replaced where the policy says so."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import LastWrite, Memory, Outcome, Replacement
from reconciler.decisions.remember import settle
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import (
    Budget,
    Consolidation,
    Hold,
    Limit,
    Mode,
    PolicySet,
    RemovalReason,
    ScaleDown,
    Tier,
    Toggle,
)
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

ON = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
OFF = ScaleDown(unneeded_time_seconds=0)
OPEN = (Budget(nodes=100),)
MEGA = machine_deployment("mega")
SMALL = ("small-1", "small-2")


def _two_smalls(cluster: ClusterBuilder | None = None, cpu: str = "3", **pods: object) -> ClusterBuilder:
    """Two nodes of 4 cores, each with a pod of 3 (75 %), and a group of 8-core nodes that is empty."""
    cluster = cluster or ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("web", 2, cpu=cpu, on=list(SMALL), **pods)
    return cluster


def _rules(scale_down: ScaleDown = ON, small: str = "0.20", mega: str = "0.30", **fields: object) -> PolicySet:
    """0.40 an hour now; 0.30 for one 8-core node: saves 0.10, a quarter."""
    groups = (
        node_group("small", price_per_hour=small, scale_down=scale_down),
        node_group("mega", price_per_hour=mega, scale_down=scale_down),
    )
    return policy(*groups, **{"budgets": OPEN, **fields})


def _grown(cluster: ClusterBuilder, **mega: object) -> None:
    """The 8-core node has come, two minutes after the start."""
    cluster.group("mega", nodes=1, cpu="8", **mega)


UNDER_WAY = Memory(
    replacements=(Replacement(target=str(MEGA), nodes=SMALL, to=1, started_seconds=NOW - 120, saving_micros=100_000),)
)


def _replaces(plan: Plan) -> list[tuple[str, int, int, tuple[str, ...]]]:
    return [(one.group, one.from_, one.to, one.nodes) for one in of_kind(plan, ActionKind.REPLACE)]


def test_off_it_is_only_shown() -> None:
    """Not enabled: no action, but the group says which nodes, by what, how much, and which switch."""
    plan = plan_of(_two_smalls().world(), _rules(OFF))
    assert plan.actions == ()
    (reason,) = group(plan, "small").reasons
    assert reason.code == "CouldBeReplaced"
    assert reason.data == {
        "nodes": SMALL, "by": "mega", "savingPerHour": "0.10", "savingPercent": 25, "pods": 2, "youngPods": 0, "enabled": False,
    }  # fmt: skip
    assert reason.message.endswith("saves 0.10/h (25%) by moving 2 pods, but scaleDown.consolidation.mode is Disabled")


def test_off_is_the_default() -> None:
    """A group that says nothing is not consolidated."""
    assert plan_of(_two_smalls().world(), _rules(ScaleDown(unneeded_time_seconds=0))).actions == ()


def test_one_action_names_both_sides_and_its_saving() -> None:
    """The group that grows, the nodes that go, the saving; sizes and cost as after both."""
    plan = plan_of(_two_smalls().world(), _rules())
    (action,) = plan.actions
    assert (action.kind, action.group, action.target) == (ActionKind.REPLACE, "mega", str(MEGA))
    assert (action.from_, action.to, action.nodes) == (0, 1, SMALL)
    assert (action.reason.data["savingPerHour"], action.reason.data["savingPercent"]) == ("0.10", 25)
    assert (group(plan, "mega").desired, group(plan, "small").desired) == (1, 0)
    assert (plan.cost.current_per_hour, plan.cost.desired_per_hour) == ("0.40", "0.30")
    assert plan.summary == "Plan: 1 group up (+1 node), 1 group down (-2 nodes), 1 replacement, -$0.10/h."


def test_it_waits_for_the_unneeded_time_and_says_until_when() -> None:
    """Ten minutes from the first plan that saw it; a second earlier nothing happens."""
    rules = _rules(ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED)))
    world = _two_smalls().world()
    first, memory = decide(world, rules, Memory(), NOW)
    assert first.actions == ()
    assert node(first, "small-1").removable_at == "2027-01-15T08:10:00Z"
    early, memory = decide(world, rules, memory, NOW + 599)
    assert early.actions == ()
    due, _ = decide(world, rules, memory, NOW + 600)
    assert _replaces(due) == [("mega", 0, 1, SMALL)]


@pytest.mark.parametrize(("mega", "expected"), [("0.34", 1), ("0.341", 0), ("0.40", 0), ("0.41", 0)])
def test_the_saving_passes_at_its_threshold(mega: str, expected: int) -> None:
    """15 % of 0.40 is 0.06: at 0.34 it is worth it, above not; the same price or more is no saving."""
    assert len(_replaces(plan_of(_two_smalls().world(), _rules(mega=mega)))) == expected


def test_the_dearer_threshold_counts() -> None:
    """A group that asks for 30 % is not given 25 %."""
    asks = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_percent=30))
    assert plan_of(_two_smalls().world(), _rules(asks)).actions == ()


def test_without_prices_nothing_is_compared() -> None:
    """A group without a price is neither replaced nor bought."""
    rules = policy(node_group("small", scale_down=ON), node_group("mega", scale_down=ON, price_per_hour="0.01"), budgets=OPEN)
    plan = plan_of(_two_smalls().world(), rules)
    assert plan.actions == ()
    assert codes(group(plan, "small")) == []


def test_pods_that_do_not_fit_together_stay() -> None:
    """Two pods of 3 cores fit in 8, with a third node of 3 only two of the three go."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=3, cpu="4")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("web", 3, cpu="3", on=["small-1", "small-2", "small-3"])
    assert _replaces(plan_of(cluster.world(), _rules())) == [("mega", 0, 1, SMALL)]


def test_one_node_by_a_smaller_one() -> None:
    """A node of 16 cores with one pod of 5, used at 31 %, and nothing else to move to: an 8-core node at a third."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=1, cpu="16")
    cluster.group("mega", nodes=0, cpu="8")
    cluster.pods("web", 1, cpu="5", on="small-1")
    assert _replaces(plan_of(cluster.world(), _rules(small="0.90", mega="0.30"))) == [("mega", 0, 1, ("small-1",))]


@pytest.mark.parametrize(
    "traits", [{"safe_to_evict": "false"}, {"local_volumes": ("scratch",)}], ids=["safe-to-evict", "local storage"]
)
def test_drain_rules_hold(traits: dict[str, object]) -> None:
    """A pod that keeps its node keeps it here too."""
    plan = plan_of(_two_smalls(traits=traits).world(), _rules())
    assert plan.actions == ()
    assert codes(group(plan, "small")) == []


def test_disruption_budget_holds() -> None:
    """No disruption is allowed: no opportunity."""
    cluster = _two_smalls()
    cluster.budget("web", min_available="2", allowed=0, healthy=2, desired=2, expected=2)
    plan = plan_of(cluster.world(), _rules())
    assert plan.actions == ()


def test_minimum_holds() -> None:
    """A group of two with minimum one gives one node up, which one 8-core node would not pay for."""
    rules = policy(
        node_group("small", min=1, price_per_hour="0.20", scale_down=ON),
        node_group("mega", price_per_hour="0.30", scale_down=ON),
        budgets=OPEN,
    )
    assert plan_of(_two_smalls().world(), rules).actions == ()


def test_maximum_and_limits_hold_while_both_are_there() -> None:
    """The new node comes first, so that it needs room: not with a maximum of 0, not with a limit of two nodes."""
    world = _two_smalls().world()
    full = policy(
        node_group("small", price_per_hour="0.20", scale_down=ON),
        node_group("mega", max=0, price_per_hour="0.30", scale_down=ON),
        budgets=OPEN,
    )
    assert plan_of(world, full).actions == ()
    for most, expected in ((2, 0), (3, 1)):
        limits = (Limit(name="cluster", max=(("nodes", most),)),)
        assert len(_replaces(plan_of(world, _rules(limits=limits)))) == expected


def test_a_held_group_neither_grows_nor_loses() -> None:
    """A hold on either side."""
    world = _two_smalls().world()
    for name in ("small", "mega"):
        rules = _rules()
        groups = tuple(
            msgspec.structs.replace(one, hold=Hold(reason="repair")) if one.name == name else one for one in rules.groups
        )
        assert plan_of(world, msgspec.structs.replace(rules, groups=groups)).actions == ()


def test_both_sides_must_be_written() -> None:
    """A group that only observes would keep its nodes after the new one was bought."""
    rules = _rules()
    groups = tuple(msgspec.structs.replace(one, mode=Mode.OBSERVE) if one.name == "small" else one for one in rules.groups)
    assert plan_of(_two_smalls().world(), msgspec.structs.replace(rules, groups=groups)).actions == ()


@pytest.mark.parametrize(("mega_tier", "expected"), [("first", 1), ("second", 0)])
def test_a_lower_tier_does_not_stand_in(mega_tier: str, expected: int) -> None:
    """Tiers are a priority: the same tier may, a lower one may not, whatever it saves."""
    rules = policy(
        node_group("small", tier="first", price_per_hour="0.20", scale_down=ON),
        node_group("mega", tier=mega_tier, price_per_hour="0.30", scale_down=ON),
        budgets=OPEN,
        tiers=(Tier(name="first"), Tier(name="second")),
    )
    assert len(_replaces(plan_of(_two_smalls().world(), rules))) == expected


def test_budget_of_zero_keeps_it_from_beginning() -> None:
    """No node may leave as Consolidated now: nothing is bought either."""
    closed = (Budget(nodes=0, reasons=(RemovalReason.CONSOLIDATED,)),)
    plan = plan_of(_two_smalls().world(), _rules(budgets=closed))
    assert plan.actions == ()
    assert codes(group(plan, "small")) == ["CouldBeReplaced"]


def test_a_plan_that_buys_begins_none() -> None:
    """Pending pods first."""
    cluster = _two_smalls()
    cluster.pods("new", 1, cpu="4")
    assert _replaces(plan_of(cluster.world(), _rules())) == []


def test_cool_down_after_growth_counts() -> None:
    """Nodes were added a minute ago, and removals wait ten."""
    memory = Memory(last_added_seconds=NOW - 60)
    assert plan_of(_two_smalls().world(), _rules(), memory).actions == ()


def test_what_begins_is_remembered_before_the_act() -> None:
    """The memory that goes with the plan names target, nodes, size and saving."""
    _, memory = decide(_two_smalls().world(), _rules(), Memory(), NOW)
    assert memory.replacements == (Replacement(target=str(MEGA), nodes=SMALL, to=1, started_seconds=NOW, saving_micros=100_000),)


def test_a_start_that_was_never_written_is_proposed_anew() -> None:
    """The process ended between memory and write: the target has not grown, so the same plan again."""
    world = _two_smalls().world()
    _, memory = decide(world, _rules(), Memory(), NOW)
    again, _ = decide(world, _rules(), memory, NOW + 10)
    assert _replaces(again) == [("mega", 0, 1, SMALL)]


def test_a_refused_start_is_forgotten() -> None:
    """settle() of a refusal: nothing is under way."""
    _, memory = decide(_two_smalls().world(), _rules(), Memory(), NOW)
    refused = Outcome(
        kind="Replace", group="mega", target=str(MEGA), to=1, nodes=SMALL, done=False, code="Conflict", at_seconds=NOW
    )
    after = settle(memory, (refused,))
    assert after.replacements == ()
    again, _ = decide(_two_smalls().world(), _rules(), after, NOW + 10)
    assert _replaces(again) == [("mega", 0, 1, SMALL)]


def test_a_noted_start_is_not_begun_again_when_its_growth_is_undone() -> None:
    """The write is noted, and somebody set the target back: it has begun, and saved nothing."""
    _, memory = decide(_two_smalls().world(), _rules(), Memory(), NOW)
    done = Outcome(kind="Replace", group="mega", target=str(MEGA), to=1, nodes=SMALL, done=True, at_seconds=NOW, generation=7)
    again, _ = decide(_two_smalls().world(), _rules(), settle(memory, (done,)), NOW + 10)
    assert _replaces(again) == []


def test_growth_of_a_replacement_starts_no_cool_down() -> None:
    """Its own drains are next; the write is remembered like any."""
    _, memory = decide(_two_smalls().world(), _rules(), Memory(), NOW)
    done = Outcome(kind="Replace", group="mega", target=str(MEGA), to=1, nodes=SMALL, done=True, at_seconds=NOW, generation=7)
    after = settle(memory, (done,))
    assert after.last_added_seconds == 0
    assert after.last_writes == {str(MEGA): LastWrite(replicas=1, generation=7, written_seconds=NOW)}
    assert len(after.replacements) == 1


def _while_it_comes() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("small", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="3", on=list(SMALL))
    return cluster


def test_nothing_is_drained_before_the_new_node_is_ready() -> None:
    """The machine is on its way: both nodes wait and say for what."""
    cluster = _while_it_comes()
    target = cluster.target("mega", 1)
    cluster.machine("mega-a", target, created=NOW - 120)
    plan, memory = decide(cluster.world(), _rules(), UNDER_WAY, NOW)
    assert plan.actions == ()
    assert blocker_codes(plan, "small-1") == ["AwaitsReplacement"]
    assert memory.replacements == UNDER_WAY.replacements


def test_the_new_node_takes_the_pods() -> None:
    """It is ready: both nodes are drained, whatever their own use, with the reason Consolidated."""
    cluster = _while_it_comes()
    _grown(cluster, created=NOW - 60)
    plan, memory = decide(cluster.world(), _rules(), UNDER_WAY, NOW)
    removed = of_kind(plan, ActionKind.REMOVE_NODE)
    assert [(one.nodes, one.reason.code) for one in removed] == [(("small-1",), "Consolidated"), (("small-2",), "Consolidated")]
    assert removed[0].reason.data["by"] == ("mega-1",)
    assert memory.replacements == UNDER_WAY.replacements
    assert blocker_codes(plan, "mega-1") == ["Replaces"]


def test_budgets_of_its_reason_pace_the_drains() -> None:
    """One at a time: the other one waits for the budget, and the new node is kept for it."""
    cluster = _while_it_comes()
    _grown(cluster, created=NOW - 60)
    one_each = (Budget(nodes=1, reasons=(RemovalReason.CONSOLIDATED,)),)
    plan = plan_of(cluster.world(), _rules(budgets=one_each), UNDER_WAY)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("small-1",)]
    assert blocker_codes(plan, "small-2") == ["Budget"]


def test_room_that_others_took_keeps_the_rest() -> None:
    """A pod of 3 cores stands on the new node: only one of the two finds a place there."""
    cluster = _while_it_comes()
    _grown(cluster, created=NOW - 60)
    cluster.pods("other", 1, cpu="3", on="mega-1")
    plan = plan_of(cluster.world(), _rules(), UNDER_WAY)
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("small-1",)]
    assert blocker_codes(plan, "small-2") == ["NoPlaceToMove"]


def test_a_machine_that_never_comes_costs_nothing_that_runs() -> None:
    """After maxNodeProvisionTime (15 min): no removal, the group is backed off, nothing is under way any more, and no
    new attempt while the back-off lasts."""
    cluster = _while_it_comes()
    target = cluster.target("mega", 1)
    cluster.machine("mega-a", target, created=NOW - 901)
    begun = (msgspec.structs.replace(UNDER_WAY.replacements[0], started_seconds=NOW - 901),)
    plan, memory = decide(cluster.world(), _rules(), Memory(replacements=begun), NOW)
    assert of_kind(plan, ActionKind.REMOVE_NODE) == []
    assert _replaces(plan) == []
    assert memory.replacements == ()
    assert memory.backoffs["mega"].failures == 1


def test_when_all_are_gone_nothing_is_under_way() -> None:
    """The end of it: the entry goes, the new node stays."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4")
    _grown(cluster, created=NOW - 60)
    cluster.pods("web", 2, cpu="3", on="mega-1")
    plan, memory = decide(cluster.world(), _rules(), UNDER_WAY, NOW)
    assert plan.actions == ()
    assert memory.replacements == ()
