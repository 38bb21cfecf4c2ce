"""Acting on a plan and deciding again converges, and no rule is broken on the way: over seeded random clusters."""

import pytest

from reconciler.plan.plan import ActionKind
from tests.properties.runs import EMPTY_PLANS, Converged, converge

SEEDS = range(80)
MAX_NON_EMPTY = 5


@pytest.fixture(params=SEEDS)
def run(request) -> Converged:
    return converge(request.param)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_most_five_plans_then_sixty_empty_ones(seed):
    """Rule 4: a settled cluster yields empty plans, past every timer."""
    run = converge(seed, protected=False)
    assert len(run.plans) <= MAX_NON_EMPTY
    assert run.empty == EMPTY_PLANS


def test_with_disruption_budgets_only_removals_take_longer(run):
    """A budget may let nodes go one after the other only; nothing else happens after five plans."""
    assert run.empty == EMPTY_PLANS
    later = [action for plan in run.plans[MAX_NON_EMPTY:] for action in plan.actions]
    assert all(action.kind is ActionKind.REMOVE_NODE for action in later)


def test_no_rule_is_broken(run):
    """Ranges, limits, owners, budgets, places for evicted pods, no up and down for one demand."""
    assert run.violations == ()


def test_nothing_that_was_planned_is_refused(run):
    """What a plan asks for, the API server and the eviction API grant: it was judged on the same cluster."""
    assert run.refused == ()


def test_held_groups_are_in_no_action(run):
    """Rule 1: neither a topology's, nor a GitOps controller's, nor a held group is written to."""
    touched = {action.group for plan in run.plans for action in plan.actions}
    assert not touched & run.cluster.held


def test_actions_and_sizes_tell_the_same(run):
    """`current` less `desired` equals the nodes named; growth and removals of one group never share a plan."""
    for plan in run.plans:
        for line in plan.groups:
            actions = [action for action in plan.actions if action.group == line.name]
            removed = sum(len(action.nodes) for action in actions if action.kind is ActionKind.REMOVE_NODE)
            grown = sum(action.to - action.from_ for action in actions if action.kind is ActionKind.RESIZE)
            assert line.desired - line.current == grown - removed
            assert not (grown and removed)


def test_everything_has_a_reason(run):
    """Rule 5: every pending pod and every action says why; a node that stays says what keeps it."""
    for plan in run.plans:
        assert all(pod.reasons for pod in plan.pods)
        assert all(action.reason.code and action.reason.message for action in plan.actions)
        leaving = {node for action in plan.actions for node in action.nodes}
        assert all(node.blockers for node in plan.nodes if node.node not in leaving)


@pytest.mark.parametrize("seed", range(30))
def test_headroom_does_not_flap(seed):
    """Keeping room free and saving nodes do not undo each other."""
    run = converge(seed, headroom=True, protected=False)
    assert len(run.plans) <= MAX_NON_EMPTY
    assert run.empty == EMPTY_PLANS


@pytest.mark.parametrize("seed", [*range(10), 38, 43, 108, 134, 192, 233])
def test_expendable_pods_do_not_block_what_was_planned(seed):
    """Pods below the cut-off need no place, but their budgets count like any other."""
    run = converge(seed, expendable=True)
    assert run.refused == ()
    assert run.empty == EMPTY_PLANS
