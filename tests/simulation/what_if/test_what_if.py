"""What both policies of a preview do in other situations, against plans of those situations."""

from decimal import Decimal

import msgspec
import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.plan import Plan
from reconciler.plan.preview import PreviewSide
from reconciler.plan.saved import SavedPlanError, read_saved
from reconciler.plan.what_if import Outcome, WhatIf
from reconciler.policy.documents import Budget, GroupFields, ScaleDown, Size, Tier, Window
from reconciler.policy.pace import Pace
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.headline import headline
from reconciler.rendering.documents.preview.what_if import situation_change
from reconciler.rendering.printers.json_text import json_text
from reconciler.simulation.settled import settled
from reconciler.simulation.what_if.decided import what_if
from reconciler.simulation.what_if.situation import Situation, in_situation
from reconciler.simulation.what_if.standard import standard_situations
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.gitops.random_previews import random_sides

SIDE = PreviewSide(source="policies")


def _cluster() -> ClusterBuilder:
    """Two groups of nodes with 4 CPUs. The only node, of `cheap`, runs three pods of 1 CPU."""
    cluster = ClusterBuilder()
    cluster.group("cheap", nodes=1, cpu="4")
    cluster.group("dear", nodes=0, cpu="4")
    cluster.pods("web", 3, cpu="1", on="cheap-1")
    return cluster


def _situations(cluster: ClusterBuilder, *policies: object) -> dict[str, Situation]:
    found = standard_situations(cluster.world(), policies, NOW)  # type: ignore[arg-type]
    return {one.name: one for one in found}


TIERS = (Tier(name="spot"), Tier(name="on-demand"))


def _policy(*order: str, **fields: object):
    tiers = {tier.name: tier for tier in TIERS}
    return policy(
        node_group("cheap", max=9, tier="spot", price_per_hour="0.1"),
        node_group("dear", max=9, tier="on-demand", price_per_hour="0.4"),
        tiers=tuple(tiers[name] for name in order), **fields,
    )  # fmt: skip


def test_the_standard_situations() -> None:
    """Without a pod that waits, shortages come with more pods. Every second pod goes, and each is one of its controller."""
    cluster = _cluster()
    world, found = cluster.world(), _situations(cluster, _policy("spot", "on-demand"))
    assert list(found) == [
        "half-of-pods-gone", "largest-pods-again", "pods-for-any-node", "spot-out-of-stock", "on-demand-out-of-stock",
    ]  # fmt: skip
    assert len(in_situation(world, found["half-of-pods-gone"]).pods) == 2
    more = in_situation(world, found["spot-out-of-stock"])
    assert len(more.pods.pending()) == 1
    assert {facts.ref.name: [room.left for room in facts.rooms] for facts in more.targets} == {"cheap": [0], "dear": []}
    (before,) = (one.replicas for one in world.controllers if one.replicas)
    replicas = {name: [one.replicas for one in in_situation(world, one).controllers] for name, one in found.items()}
    assert replicas["half-of-pods-gone"] == [before - 1]
    assert replicas["largest-pods-again"] == [before + 1]


def test_demand_that_doubles() -> None:
    """Five pods of 3 CPUs wait, so ten do, and no two share a node."""
    cluster = _cluster()
    cluster.pods("batch", 5, cpu="3")
    rules = _policy("spot", "on-demand")
    doubled = _situations(cluster, rules)["demand-doubled"]
    plan, _ = decide(in_situation(cluster.world(), doubled), rules, Memory(), NOW)
    assert sum(line.desired - line.current for line in plan.groups) == 10


def test_a_zone_without_capacity() -> None:
    """The zone with most nodes; its group does not grow, and the other one does."""
    cluster = ClusterBuilder()
    cluster.group("a", nodes=2, cpu="4", labels={"topology.kubernetes.io/zone": "z-a"})
    cluster.group("b", nodes=1, cpu="4", labels={"topology.kubernetes.io/zone": "z-b"})
    cluster.pods("batch", 4, cpu="3")
    rules = policy(node_group("a", max=9), node_group("b", max=9))
    zone = _situations(cluster, rules)["zone-z-a-without-capacity"]
    plan, _ = decide(in_situation(cluster.world(), zone), rules, Memory(), NOW)
    assert {line.name: line.desired for line in plan.groups} == {"a": 2, "b": 2}


def test_a_window_that_opens() -> None:
    """At its next opening, which is within a week."""
    cluster = _cluster()
    window = Window(name="night", schedule="0 22 * * *", duration_seconds=3600, size=Size(max=1))
    rules = policy(node_group("cheap", max=9, windows=(window,)))
    opens = _situations(cluster, rules)["window-night-opens"]
    assert NOW < opens.at_seconds <= NOW + 24 * 3600
    assert opens.at_seconds % (24 * 3600) == 22 * 3600


def test_the_order_of_tiers() -> None:
    """Nothing waits, so nothing differs now. The next pod costs 0.3 more per hour, and the first line says so."""
    cluster = _cluster()
    cluster.pods("filler", 1, cpu="1", on="cheap-1")
    sides = (SIDE, _policy("spot", "on-demand")), (SIDE, _policy("on-demand", "spot"))
    shown = compare(cluster.world(), NOW, *sides, DEFAULT_WORK_BUDGET, with_what_if=True)
    assert shown.what_if is not None
    row = next(one for one in shown.what_if.differing if one.name == "largest-pods-again")
    assert row.moved == {"cheap": (2, 1), "dear": (0, 1)}
    assert row.per_hour_change == Decimal("0.3")
    assert plain_sentence(headline(shown)) == (
        "Tier on-demand now comes before spot: no change now, +$0.30/h in another situation"
    )  # fmt: skip
    same = compare(cluster.world(), NOW, sides[0], sides[0], DEFAULT_WORK_BUDGET, with_what_if=True)
    assert same.what_if is None


def test_what_was_not_run() -> None:
    """Work is counted: without any left, situations are named and not decided."""
    cluster = _cluster()
    sides = ((cluster.world(), _policy("spot", "on-demand")), (cluster.world(), _policy("on-demand", "spot")))
    situations = standard_situations(cluster.world(), [rules for _, rules in sides], NOW)
    shown = what_if(sides, NOW, situations, DEFAULT_WORK_BUDGET, looks=1)
    assert shown.situations == ()
    assert shown.not_run == tuple(one.name for one in situations)


def test_nobody_applies_the_plan_of_a_situation() -> None:
    """It says what it is, and a saved one is refused."""
    cluster, rules = _cluster(), _policy("spot", "on-demand")
    one = _situations(cluster, rules)["largest-pods-again"]
    plan, _ = decide(in_situation(cluster.world(), one), rules, Memory(), NOW)
    with pytest.raises(SavedPlanError, match="without --what-if"):
        read_saved(json_text(plan).encode())


def test_a_plan_that_adds_few_nodes() -> None:
    """Five pods of 3 CPUs wait, each for a node of its own. One node a plan does not leave four of them waiting for ever."""
    cluster = _cluster()
    cluster.pods("batch", 5, cpu="3")
    fast, slow = (_policy("spot", "on-demand", pace=Pace(max_added_nodes=most)) for most in (1000, 1))
    asked = compare(cluster.world(), NOW, (SIDE, fast), (SIDE, slow), DEFAULT_WORK_BUDGET, with_what_if=True).what_if
    assert asked is not None
    doubled = next(one for one in asked.situations if one.name == "demand-doubled")
    assert doubled.settled
    assert (doubled.before.waiting, doubled.after.waiting) == (0, 0)
    assert not asked.differing


def _pace(**changed: object) -> WhatIf:
    """Four nodes of 4 CPUs with two pods of 1 CPU each: of four pods that are left, one node is enough. Nothing leaves before
    10 minutes, one at a time, and a change of it."""
    cluster = ClusterBuilder()
    for node in cluster.group("general", nodes=4, cpu="4"):
        cluster.pods("web", 2, cpu="1", on=node)
    base: dict[str, object] = {
        "budgets": (Budget(nodes=1),), "defaults": GroupFields(scale_down=ScaleDown(unneeded_time_seconds=600)),
    }  # fmt: skip
    sides = ((SIDE, policy(node_group("general"), **rules)) for rules in (base, base | changed))
    asked = compare(cluster.world(), NOW, *sides, DEFAULT_WORK_BUDGET, with_what_if=True).what_if
    assert asked is not None
    return asked


@pytest.mark.parametrize(("changed", "leaving", "after_seconds", "words"), [
    ({"budgets": (Budget(nodes=2),)}, (2, 1), 600, "other steps"),
    ({"budgets": (Budget(nodes=0),)}, (), None, "3 nodes fewer"),
    ({"pace": Pace(max_removed_percent=50)}, (1, 1, 1), 600, ""),
    ({"defaults": GroupFields(scale_down=ScaleDown(unneeded_time_seconds=1800))}, (1, 1, 1), 1800, "20m later"),
])  # fmt: skip
def test_how_nodes_leave(changed: dict[str, object], leaving: tuple[int, ...], after_seconds: int | None, words: str) -> None:
    """Three nodes leave in each case but one, and the steady states are the same in all others."""
    gone = next(one for one in _pace(**changed).situations if one.name == "half-of-pods-gone")
    assert (gone.before.leaving, gone.before.leaving_after_seconds) == ((1, 1, 1), 600)
    assert (gone.after.leaving, gone.after.leaving_after_seconds) == (leaving, after_seconds)
    assert gone.differs == bool(words)
    if gone.only_pace:
        assert words in situation_change(gone)


def test_a_budget_that_begins_at_another_hour() -> None:
    """None may leave for two hours from 9 on, under this PR: what has waited for 10 minutes then waits until 11."""
    night = Budget(name="night", nodes=0, schedule="0 9 * * *", duration_seconds=7200)
    asked = _pace(budgets=(Budget(nodes=1), night))
    (row,) = (one for one in asked.differing if one.name == "half-of-pods-gone-budget-night")
    assert (row.before.leaving_after_seconds, row.after.leaving_after_seconds) == (600, 7200)
    assert situation_change(row) == "nodes leave 1h50m later"


@pytest.mark.seeds(3)
def test_rows_are_what_two_plans_say(seed: int) -> None:
    """Of random policies on random clusters: each row against the columns of two plans that know of no preview."""
    world, before, after = random_sides(seed)
    shown = compare(world, NOW, (SIDE, before), (SIDE, after), DEFAULT_WORK_BUDGET, with_what_if=True).what_if
    if shown is None:
        return
    situations = {one.name: one for one in standard_situations(world, (before, after), NOW)}
    assert [*(one.name for one in shown.situations), *shown.not_run] == list(situations)
    for row in shown.situations:
        situation = situations[row.name]
        plans = []
        for rules in (before, after):
            there = in_situation(world, situation)
            plan, memory = decide(there, rules, Memory(), situation.at_seconds)
            plans.append(settled(there, rules, memory, situation.at_seconds, plan) if row.settled else plan)
        _same(row.before, plans[0], plans[1], settled_sizes=row.settled)
        _same(row.after, plans[1], plans[0], settled_sizes=row.settled)


def _same(told: Outcome, plan: Plan, other: Plan, *, settled_sizes: bool) -> None:
    """The columns of `plan`. A target that only the `other` policy names keeps its nodes, which somebody pays."""
    mine = {line.target for line in plan.groups}
    kept = [line for line in other.groups if line.target not in mine]
    sizes = {line.name: line.settled if settled_sizes else line.desired for line in plan.groups}
    assert told.nodes == sizes | {line.name: line.current for line in kept}
    price = plan.cost.settled_per_hour if settled_sizes else plan.cost.desired_per_hour
    more = sum(Decimal(line.price_per_hour or 0) * line.current for line in kept)
    assert Decimal(told.per_hour or 0) == Decimal(price or 0) + more
    if not settled_sizes:
        assert told.waiting == sum(pod.outcome in ("Unplaceable", "NotModelled", "Expendable") for pod in plan.pods)


def test_a_target_that_leaves_keeps_its_nodes_in_every_situation() -> None:
    """Nobody scales it any more, and it is paid: nothing is cheaper. A group of another name is the same one."""
    cluster = _cluster()
    world, both = cluster.world(), _policy("spot", "on-demand")
    alone = policy(node_group("dear", max=9, tier="on-demand", price_per_hour="0.4"), tiers=TIERS)
    asked = compare(world, NOW, (SIDE, both), (SIDE, alone), DEFAULT_WORK_BUDGET, with_what_if=True).what_if
    assert asked is not None
    gone = next(one for one in asked.situations if one.name == "half-of-pods-gone")
    assert gone.after.nodes == {"cheap": 1, "dear": 0}
    assert gone.per_hour_change == 0
    (first, second) = both.groups
    renamed = msgspec.structs.replace(both, groups=(msgspec.structs.replace(first, name="cheaper"), second))
    asked = compare(world, NOW, (SIDE, both), (SIDE, renamed), DEFAULT_WORK_BUDGET, with_what_if=True).what_if
    assert asked is not None
    assert not asked.differing
    assert asked.situations[0].before.nodes.keys() == {"cheaper", "dear"}


def test_the_same_change_as_now_is_no_row() -> None:
    """A minimum of three nodes is two more now, and in every situation in which one is enough."""
    cluster = _cluster()
    low, high = (policy(node_group("cheap", min=least, max=9)) for least in (1, 3))
    shown: WhatIf | None = compare(
        cluster.world(), NOW, (SIDE, low), (SIDE, high), DEFAULT_WORK_BUDGET, with_what_if=True
    ).what_if  # fmt: skip
    assert shown is not None
    gone = next(one for one in shown.situations if one.name == "half-of-pods-gone")
    assert shown.as_now(gone)
    assert gone not in shown.differing
