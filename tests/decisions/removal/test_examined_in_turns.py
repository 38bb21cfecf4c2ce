"""Plans that run out of work go on, one after the other, where the one before them stopped."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Budget, PolicySet, ScaleDown
from tests.builders import NOW, ClusterBuilder, node_group, policy

NODES = 12
WORK = 60
"""Enough for a few nodes: the trial of one looks at the eleven others."""


def _little_used(unneeded: int = 0, free: str = "") -> tuple[World, PolicySet]:
    """Nodes with a pod each that no node would take, but for the pod of `free`."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=NODES, cpu="4")
    for number, name in enumerate(names):
        bound = {} if name == free else {"disk": "gone"}
        cluster.pods(f"web{number}", 1, cpu=f"{500 + number}m", on=name, node_selector=bound)
    group = node_group("general", max=NODES, scale_down=ScaleDown(unneeded_time_seconds=unneeded))
    return cluster.world(), policy(group, budgets=(Budget(nodes=100),))


def _left_out(plan: Plan) -> set[str]:
    found = {line.node: line for line in plan.nodes if any(blocker.code == "NotExamined" for blocker in line.blockers)}
    assert not any(line.removable or line.removable_at for line in found.values())
    return set(found)


def test_every_node_is_examined_by_one_of_several_plans() -> None:
    """None of them gets to all; each begins with the first that the one before it left out, and so they do in a few turns."""
    world, rules = _little_used()
    memory, examined, turns = Memory(), set[str](), 0
    everybody = {node.name for node in world.nodes}
    while examined != everybody:
        plan, memory = decide(world, rules, memory, NOW, WORK)
        now = everybody - _left_out(plan)
        assert 0 < len(now) < NODES
        assert memory.examine_next in everybody - now
        assert turns == 0 or now - examined, "nobody new was looked at"
        examined |= now
        turns += 1
    assert 2 <= turns <= NODES


def test_with_work_enough_the_next_plan_starts_with_the_best() -> None:
    """Where nothing was left out nothing is remembered, and a node that is gone is no place to go on."""
    world, rules = _little_used()
    whole, memory = decide(world, rules, Memory(), NOW)
    assert (memory.examine_next, _left_out(whole)) == ("", set())
    first, _ = decide(world, rules, Memory(), NOW, WORK)
    gone, _ = decide(world, rules, Memory(examine_next="gone-1"), NOW, WORK)
    assert gone == first


def test_the_time_of_a_node_goes_on_while_others_are_examined() -> None:
    """The last of the nodes could leave: seen so in one turn, it does when its time is over and its turn comes again."""
    last = sorted(node.name for node in _little_used()[0].nodes)[-1]
    world, rules = _little_used(unneeded=600, free=last)
    memory, seen, now = Memory(), NOW, NOW
    for _ in range(NODES):
        if last in memory.unneeded_since:
            break
        _, memory = decide(world, rules, memory, now, WORK)
        seen, now = now, now + 60
    assert memory.unneeded_since == {last: seen}
    for _ in range(3 * NODES):
        plan, memory = decide(world, rules, memory, now, WORK)
        if plan.actions:
            break
        assert memory.unneeded_since[last] == seen
        now += 60
    assert [action.nodes for action in plan.actions] == [(last,)]
    assert now >= seen + 600


def test_a_trial_costs_what_it_looks_at() -> None:
    """Each asks all twelve nodes for the pod, and once more which of them have no room for later ones: 24 steps, so that the
    third trial uses up sixty."""
    world, rules = _little_used()
    plan, _ = decide(world, rules, Memory(), NOW, WORK)
    assert len(_left_out(plan)) == NODES - 3


@pytest.mark.parametrize(("missing", "kept"), [((), True), (("PodDisruptionBudget",), False)])
def test_the_time_of_a_node_that_is_not_examined_ends_where_nothing_may_leave(missing: tuple[str, ...], kept: bool) -> None:
    """Without disruption budgets in view all timers are forgotten."""
    world, rules = _little_used(unneeded=600)
    names = {node.name: NOW - 60 for node in world.nodes}
    plan, memory = decide(msgspec.structs.replace(world, not_captured=missing), rules, Memory(unneeded_since=names), NOW, 0)
    assert len(_left_out(plan)) == NODES - 1
    assert bool(memory.unneeded_since) is kept
