"""The summary line."""

import msgspec
import pytest

from reconciler.plan.plan import (
    Action,
    ActionKind,
    Bound,
    Cost,
    GroupLine,
    Ownership,
    OwnerState,
    PlanProblem,
    PodLine,
    PodOutcome,
)
from reconciler.plan.pod_runs import PodRun, runs_of
from reconciler.plan.reason import Reason
from reconciler.plan.summary import summary

BOUND = Bound(resource_version="1", replicas=1, owner_digest="", policy_digest="")
NO_COST = Cost()


def group(current: int, desired: int, *, held: bool = False) -> GroupLine:
    owner = Ownership(state=OwnerState.HELD if held else OwnerState.OURS)
    return GroupLine(name="g", target="t", tier="", current=current, desired=desired, min=0, max=99, owner=owner, held=held)


def action(kind: ActionKind = ActionKind.RESIZE) -> Action:
    return Action(kind=kind, group="g", target="t", from_=1, to=1, bound=BOUND, reason=Reason("Any", "any"))


def pods(outcome: PodOutcome, number: int) -> list[PodRun]:
    return runs_of(tuple(PodLine(pod=f"a/p{index}", outcome=outcome) for index in range(number)))


def test_the_line_of_the_design():
    """The example of the design comes out letter by letter."""
    groups = (group(1, 5), group(2, 5), group(4, 2), group(3, 3, held=True))
    cost = Cost(current_per_hour="10.00", desired_per_hour="11.92")
    assert summary(groups, (action(),), (), cost) == "Plan: 2 groups up (+7 nodes), 1 group down (-2 nodes), 1 held, +$1.92/h."


def test_a_request_that_is_taken_back_is_no_node():
    """One of two requests never became a node and goes, then four nodes are bought: four come, none goes."""
    back = msgspec.structs.replace(action(ActionKind.CANCEL), from_=2, to=1)
    assert summary((group(2, 1),), (back,), (), NO_COST) == "Plan: 1 request cancelled."
    assert summary((group(2, 5),), (back, action()), (), NO_COST) == "Plan: 1 group up (+4 nodes), 1 request cancelled."
    anew = msgspec.structs.replace(action(ActionKind.CANCEL), from_=2, to=2, machines=("m",))
    assert summary((group(2, 2),), (anew,), (), NO_COST) == "Plan: 1 machine requested again."


def test_no_changes_with_open_points():
    """Without actions the line still says what is pending and held."""
    line = summary((group(2, 2, held=True),), (), pods(PodOutcome.UNPLACEABLE, 40), NO_COST)
    assert line == "No changes, 40 pods cannot be placed, 1 group held."


def test_bare_no_changes():
    """Nothing pending, nothing held, no problem: the bare line, even where groups and a cost exist."""
    assert summary((group(2, 2),), (), (), Cost(current_per_hour="1", desired_per_hour="1")) == "No changes."


def test_no_changes_now_but_in_the_steady_state():
    """Nothing is done now, and the loop comes to other sizes: the line does not claim that nothing changes. Sums that cancel out
    are two changes all the same."""
    down = msgspec.structs.replace(group(4, 4), settled=2)
    up = msgspec.structs.replace(group(1, 1), settled=3)
    same = msgspec.structs.replace(group(1, 1), settled=1)
    assert summary((same,), (), (), NO_COST) == "No changes."
    assert summary((down, same), (), (), NO_COST) == "No changes now, 1 group down (-2 nodes) in the steady state."
    both = summary((down, up), (), pods(PodOutcome.UNPLACEABLE, 1), NO_COST)
    assert both == (
        "No changes now, 1 group up (+2 nodes) and 1 group down (-2 nodes) in the steady state, 1 pod cannot be placed."
    )


@pytest.mark.parametrize(
    ("outcome", "number", "words"),
    [
        (PodOutcome.UNPLACEABLE, 1, "1 pod cannot be placed"),
        (PodOutcome.NOT_MODELLED, 2, "2 pods cannot be placed"),
        (PodOutcome.FITS_EXISTING, 1, "1 pod fits existing or upcoming nodes"),
        (PodOutcome.FITS_UPCOMING, 3, "3 pods fit existing or upcoming nodes"),
        (PodOutcome.DELAYED, 1, "1 pod delayed"),
        (PodOutcome.EXPENDABLE, 2, "2 pods expendable"),
    ],
)
def test_any_pending_pod_is_told(outcome: PodOutcome, number: int, words: str):
    """No pending pod hides behind a bare `No changes.`"""
    assert summary((), (), pods(outcome, number), NO_COST) == f"No changes, {words}."


def test_problems_are_told():
    """A plan with a problem is not a bare `No changes.`"""
    problem = PlanProblem(code="X", message="y")
    assert summary((), (), (), NO_COST, (problem,)) == "No changes, 1 problem."


def test_adopted_released_replaced_are_counted():
    """Actions that change no size are counted by kind."""
    kinds = (ActionKind.ADOPT, ActionKind.ADOPT, ActionKind.RELEASE, ActionKind.REPLACE)
    line = summary((group(1, 1),), tuple(action(kind) for kind in kinds), (), NO_COST)
    assert line == "Plan: 1 replacement, 2 adopted, 1 released."


@pytest.mark.parametrize(
    ("before", "after", "currency", "ending"),
    [
        ("10.00", "9.50", "EUR", ", -€0.50/h."),
        ("0", "1234.5", "GBP", ", +£1,234.50/h."),
        ("0.768", "1.5361", "CHF", ", +0.7681 CHF/h."),
        ("1.00", "1.00", "USD", "."),
        (None, "1.00", "USD", "."),
    ],
)
def test_cost_difference(before: str | None, after: str, currency: str, ending: str):
    """The difference per hour: sign, symbol or code, two to four digits; nothing where it is zero or unknown."""
    cost = Cost(current_per_hour=before, desired_per_hour=after, currency=currency)
    assert summary((group(1, 2),), (action(),), (), cost) == f"Plan: 1 group up (+1 node){ending}"


def test_held_groups_are_counted_beside_changes():
    """Where something changes, pods without a place and held groups follow it in the same sentence."""
    groups = (group(1, 2), msgspec.structs.replace(group(1, 1, held=True), name="h"))
    line = summary(groups, (action(),), pods(PodOutcome.UNPLACEABLE, 2), NO_COST)
    assert line == "Plan: 1 group up (+1 node), 2 pods cannot be placed, 1 held."
