"""How the steps of a plan are shared among namespaces: by hand, for a budget of a hundred."""

import pytest

from reconciler.decisions.work import Work
from reconciler.decisions.work_shares import Shares


def test_half_is_set_aside_in_equal_parts() -> None:
    """25 for each of two, 50 for whose turn it is; what is spent before is off both."""
    shares = Shares(Work(100), ["b", "a", "b"])
    assert (shares.each, shares.common) == (25, 50)
    assert [shares.part("a", among) for among in (1, 2)] == [75, 50]
    assert shares.part("stranger", 1) == 50
    begun = Work(100)
    begun.spend(20)
    assert (Shares(begun, ["a", "b"]).each, Shares(begun, ["a", "b"]).common) == (20, 40)
    assert (Shares(Work(100)).each, Shares(Work(100)).common) == (0, 100)
    spent = Work(10)
    spent.spend(30)
    assert (Shares(spent, ["a"]).each, Shares(spent, ["a"]).part("a", 1)) == (0, 0)


def test_who_has_no_part_spends_of_the_common_one() -> None:
    """10 of 50, and nothing that is set aside for others becomes common."""
    shares = Shares(Work(100), ["a", "b"])
    assert shares.spend(0, "stranger", 10)
    assert (shares.common, shares.part("a", 1)) == (40, 65)


def test_a_namespace_uses_its_own_part_first_then_the_common_one() -> None:
    """30 steps are 25 of its own and 5 of the common 50; the 46th of what is left is one too many, and nobody else's."""
    work = Work(100)
    shares = Shares(work, ["a", "b"])
    assert shares.spend(0, "a", 30)
    assert (shares.common, shares.part("a", 1), shares.part("b", 1)) == (45, 45, 70)
    assert not shares.spend(0, "a", 46)
    assert (work.spent, shares.common, shares.part("b", 2)) == (76, -1, 25)
    assert not shares.open(0, "a")
    assert not shares.spend(1, "a", 10)
    assert work.spent == 76
    assert shares.open(0, "b")
    assert shares.spend(1, "b", 24)
    assert not shares.spend(1, "b", 1)
    assert (work.spent, work.exhausted) == (101, True)


def test_the_first_look_leaves_half_for_what_follows() -> None:
    """Of 75 for a namespace 37 are left for growth: with fewer no other shape is looked at for the first time."""
    shares = Shares(Work(100), ["a", "b"])
    assert shares.spend_first(0, "a", 38)
    assert shares.spend_first(1, "a", 1)
    assert not shares.spend_first(2, "a", 1)
    assert [shares.open(shape, "a") for shape in (0, 1, 2)] == [True, True, False]
    assert shares.spend_first(3, "b", 1)


def test_one_namespace_alone_keeps_nothing_back() -> None:
    """Nobody else waits for its steps."""
    shares = Shares(Work(100), ["a"])
    assert shares.spend_first(0, "a", 99)
    assert shares.spend_first(1, "a", 1)
    assert not shares.spend_first(2, "a", 1)


@pytest.mark.parametrize(
    ("shapes", "steps", "left"), [({"a": 1, "b": 3}, 10, (23, 17)), ({"a": 2, "b": 2}, 5, (23, 22)), ({"a": 1}, 7, (18, 25))]
)
def test_work_on_many_shapes_is_counted_for_each(shapes: dict[str, int], steps: int, left: tuple[int, int]) -> None:
    """To each shape an equal part, and every step once."""
    work = Work(100)
    shares = Shares(work, ["a", "b"])
    shares.spend_together(shapes, steps)
    assert (work.spent, shares.common) == (steps, 50)
    assert (shares.part("a", 1) - 50, shares.part("b", 1) - 50) == left


def test_pods_that_wait_are_counted_by_namespace() -> None:
    """In all."""
    shares = Shares(Work(100), ["a"])
    shares.delay("a", 2)
    shares.delay("b", 1)
    shares.delay("a", 3)
    assert shares.delayed == {"a": 5, "b": 1}


def test_what_one_namespace_takes_keeps_nobody_from_a_first_look() -> None:
    """The common 50 are used up by the other one: half of the 25 that are kept is for looking, and the rest for what follows."""
    booked = [("a", 75)]
    shares = Shares(Work(100), ["a", "b"], lambda: [booked.pop()] if booked else [])
    assert shares.spend_first(0, "b", 12)
    assert shares.over == set()
    assert not shares.spend_first(1, "a", 1)
    assert shares.spend_first(2, "b", 1)
    assert not shares.spend_first(3, "b", 1)
    assert shares.spend(0, "b", 12)


def test_one_question_beyond_a_share_takes_nothing_of_others() -> None:
    """1,000 steps are booked, 75 could be taken and the one that is too many: the 25 of the other namespace stay, and the plan
    does not run out."""
    work, booked = Work(100), [("a", 1_000), ("a", 500)]
    shares = Shares(work, ["a", "b"], lambda: [booked.pop()] if booked else [])
    shares.book()
    shares.book()
    assert (work.spent, shares.spent, shares.over) == (76, {"a": 1_500}, {"a"})
    assert not shares.open(0, "a")
    assert shares.spend(1, "b", 24)
    assert not work.exhausted
