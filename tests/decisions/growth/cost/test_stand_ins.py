"""Offers that another one makes useless."""

import msgspec

from reconciler.decisions.growth.cost.problem import Cap, Item, Offer, Problem, stand_ins

ITEMS = (Item(3, (1, 1), (True, True, True, True)), Item(2, (1, 1), (True, True, True, False)))


def _stand_ins(*offers: Offer) -> list[int]:
    items = tuple(msgspec.structs.replace(item, offers=item.offers[: len(offers)]) for item in ITEMS)
    return stand_ins(Problem(items, offers))


def test_as_much_for_less_or_for_the_same() -> None:
    assert _stand_ins(Offer(9, (4, 8), 9), Offer(8, (4, 8), 9), Offer(8, (4, 8), 9)) == [1, 1, 1]


def test_more_of_one_resource_and_less_of_another_is_no_stand_in() -> None:
    assert _stand_ins(Offer(9, (4, 8), 9), Offer(8, (8, 4), 9)) == [0, 1]


def test_a_stand_in_has_room_for_all_pods() -> None:
    """Five pods: four nodes may be too few."""
    assert _stand_ins(Offer(9, (4, 8), 9), Offer(8, (4, 8), 4)) == [0, 1]
    assert _stand_ins(Offer(9, (4, 8), 9), Offer(8, (4, 8), 5)) == [1, 1]


def test_a_stand_in_lets_the_same_pods_in() -> None:
    """The fourth does not take the second item."""
    assert _stand_ins(Offer(9, (4, 8), 9), Offer(9, (3, 8), 9), Offer(9, (3, 7), 9), Offer(8, (4, 8), 9)) == [0, 0, 0, 3]


def test_bounds_over_several_offers_tell_all_apart() -> None:
    offers = Offer(9, (4, 8), 9), Offer(8, (4, 8), 9)
    items = tuple(msgspec.structs.replace(item, offers=(True, True)) for item in ITEMS)
    assert stand_ins(Problem(items, offers, (Cap(5, (1, 2)),))) == [0, 1]
