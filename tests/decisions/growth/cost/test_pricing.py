"""How far the search for fillings of one node goes, in steps counted by hand."""

from reconciler.decisions.growth.cost.near_fillings import Pricing
from reconciler.decisions.growth.cost.problem import Item, Offer, Problem


def test_a_branch_ends_where_no_rest_can_be_good_enough() -> None:
    """Free are 10 and 10. Of (6, 1) for 70 one fits, and what is left, 4 and 9, brings 4 * 12 at most: 118 in all, which is not
    more than 118. So two of (5, 5) for 60 each are found at the fifth step, without a look at what goes beside the first.
    That these are all is not known before the last branch has ended."""
    items = (Item(1, (6, 1), (True,)), Item(2, (5, 5), (True,)), Item(4, (1, 1), (True,)))
    problem = Problem(items, (Offer(1, (10, 10), 9),))
    for steps in (5, 6):
        assert Pricing(problem).near(0, [70, 60, 1], 118, steps) == ([(0, 2, 0)], False)
    assert Pricing(problem).near(0, [70, 60, 1], 118, 100) == ([(0, 2, 0)], True)
    assert Pricing(problem).near(0, [70, 60, 1], 118, 4) == ([], False)
