"""What is remembered of a removal that was not done."""

import pytest

from reconciler.decisions.decide import settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import ActionKind
from tests.builders import NOW

BOTH = Memory(unneeded_since={"a-1": NOW - 600, "a-2": NOW - 600})


def _refused(code: str) -> Outcome:
    kind = ActionKind.REMOVE_NODE
    return Outcome(kind=kind, group="a", target="a", to=1, nodes=("a-1",), done=False, code=code, message="no", at_seconds=NOW)


@pytest.mark.parametrize("code", ["DrainTimeout", "Conflict", "Unknown"])
def test_a_node_whose_removal_was_refused_waits_anew(code: str) -> None:
    """Its timer starts afresh; that of the other node goes on."""
    assert settle(BOTH, (_refused(code),)).unneeded_since == {"a-2": NOW - 600}


def test_a_server_that_did_not_answer_costs_no_timer() -> None:
    """Nothing was found against the removal: it is due as soon as the server answers."""
    assert settle(BOTH, (_refused("Unavailable"),)).unneeded_since == BOTH.unneeded_since
