"""The table of why a node stays: no reason is without a row, and only those that a row names ask its rule."""

import pytest

from docs.generator.reasons import reasons
from reconciler.decisions.reasons.kept_nodes import RemovalsHalted
from reconciler.decisions.removal.keeps import KEEPS, PLAN, TAKEOVER, Asker, Ends, Keep, codes_asked_by, kept_by, rules_asked_by
from reconciler.plan.reason import KeepsNode

HALTED = Keep[str](RemovalsHalted, Ends.PERSON, PLAN, lambda why: RemovalsHalted(why=why) if why else None)


def test_every_reason_that_keeps_a_node_has_a_row() -> None:
    """A reason without one has no end and nobody who asks."""
    assert {keep.reason for keep in KEEPS} == {kind for kind in reasons() if issubclass(kind, KeepsNode)}
    assert all(keep.asked_by for keep in KEEPS)


@pytest.mark.parametrize(("asker", "why", "said"), [(PLAN, "ill", ["ill"]), (PLAN, "", []), (TAKEOVER, "ill", [])])
def test_a_rule_is_asked_by_those_of_its_row(asker: Asker, why: str, said: list[str]) -> None:
    assert [blocker.message for blocker in kept_by(rules_asked_by((HALTED,), asker), why)] == said


def test_use_and_demand_keep_no_node_whose_pods_get_a_new_one() -> None:
    """Utilization, the demand that bought a node and room on other nodes are no obstacles to the search for replacements."""
    apart = {"NotUnderutilized", "SameDemand", "KeptByShare", "NoPlaceToMove"}
    assert codes_asked_by(PLAN) - codes_asked_by(Asker.SEARCH) >= apart
    assert codes_asked_by(PLAN) - codes_asked_by(TAKEOVER) >= {"NotUnderutilized", "SameDemand"}
