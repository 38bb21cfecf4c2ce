"""One evaluator of label selectors, and everything that answers the same question beside it."""

import pytest

from reconciler.cluster.values.selection import label_selector
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import meta
from reconciler.policy.values.label_selector import Selector, may_match, selector_matches
from reconciler.scheduling import label_match
from reconciler.scheduling.topology.label_index import LabelIndex
from reconciler.values.label_selector import LABEL_OPERATORS, LabelSelector, Requirement, satisfies, selects
from tests.grammars.requirements import LABEL_REQUIREMENTS, OTHER_REQUIREMENTS

ALL = (*LABEL_REQUIREMENTS, *OTHER_REQUIREMENTS)
IDS = [f"{number}-{operator}" for number, (operator, *_) in enumerate(ALL)]


@pytest.mark.parametrize(("operator", "values", "value", "holds"), ALL, ids=IDS)
def test_a_requirement_means_the_same_everywhere(operator: str, values: tuple[str, ...], value: str | None, holds: bool) -> None:
    """In policies, for budgets of disruption, for pods and for volumes."""
    requirement = Requirement("key", operator, values)
    labels = {"other": "x"} if value is None else {"key": value, "other": "x"}
    of_policy, of_object = Selector(match_expressions=(requirement,)), LabelSelector((requirement,))
    assert satisfies(requirement, value) is holds
    assert selector_matches(of_policy, labels) is holds
    assert selects(of_object, labels) is holds
    assert label_match.selects(of_object, labels.items()) is holds
    assert may_match(of_policy, labels, complete=False) is (None if value is None else holds)


@pytest.mark.parametrize(("operator", "values", "value", "holds"), ALL, ids=IDS)
def test_the_index_answers_as_the_evaluator(operator: str, values: tuple[str, ...], value: str | None, holds: bool) -> None:
    """Which it calls only for what it has no sets for."""
    index = LabelIndex()
    index.add([] if value is None else [("key", value)])
    assert (0 in index.select(LabelSelector((Requirement("key", operator, values),)))) is holds


@pytest.mark.parametrize("operator", sorted({operator for operator, *_ in ALL}))
def test_objects_have_the_operators_of_label_selectors(operator: str) -> None:
    """Any other makes an object unreadable."""
    wire = meta.LabelSelector(match_expressions=[meta.LabelRequirement(key="key", operator=operator, values=["b", "a"])])
    if operator in LABEL_OPERATORS:
        assert label_selector(wire) == LabelSelector((Requirement("key", operator, ("a", "b")),))
    else:
        with pytest.raises(UnreadableError):
            label_selector(wire)
