"""The rule on nodes that are small enough to follow by hand."""

from tests.benchmarks.decisions.karpenter_rule import Came, Machine, Stands, consolidated

SMALL, BIG = Machine(20, (4,)), Machine(80, (16,))


def test_an_empty_node_goes_without_evictions() -> None:
    assert consolidated([Stands(SMALL, [(3,)]), Stands(BIG, [])], [SMALL, BIG]) == Came(20, 0)


def test_pods_take_room_that_is_there_before_a_new_node() -> None:
    assert consolidated([Stands(SMALL, [(1,)]), Stands(SMALL, [(3,)])], [SMALL, BIG]) == Came(20, 1)


def test_one_cheaper_node_replaces_several() -> None:
    """Two nodes of 80 with 2 each: one of 20 takes both pods."""
    assert consolidated([Stands(BIG, [(2,)]), Stands(BIG, [(2,)])], [SMALL]) == Came(20, 2)


def test_it_never_adds_two_nodes() -> None:
    """Two nodes of 20 would take the two pods of 3, for half of the price."""
    assert consolidated([Stands(BIG, [(3,), (3,)])], [SMALL, BIG]) == Came(80, 0)
