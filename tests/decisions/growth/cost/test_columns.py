"""Fillings that pay: no other one could make the linear program cheaper, and looking for them takes no more than it may."""

from random import Random

import pytest

from reconciler.decisions.growth.cost import columns
from reconciler.decisions.growth.cost.columns import generate
from reconciler.decisions.growth.cost.master import Master, solver
from reconciler.decisions.growth.cost.mixes import greedy_mix
from reconciler.decisions.growth.cost.problem import Item, Mix, Offer, Problem
from tests.decisions.growth.cost.bounded import bounded, every_filling, some_mix
from tests.decisions.growth.cost.brute_force import cheapest
from tests.decisions.growth.cost.instances import few_pods, one_choice

# A ten thousandth: by that much a filling may pay and still be left out.
NEAR = 1e-4


class Counted(Master):
    """How often it was asked, and how many fillings it got at a time."""

    def __init__(self, problem: Problem, start: Mix) -> None:
        highs = solver()
        assert highs is not None
        super().__init__(highs, problem)
        self.add(filling for filling, _ in start)
        self.asked = 0

    def relaxed(self):  # type: ignore[no-untyped-def]
        self.asked += 1
        return super().relaxed()


def mixed(seed: int, items: int = 40, offers: int = 8) -> Problem:
    """Pods of many sizes onto machines of which none is the best for all."""
    rng = Random(seed)
    sizes = [(rng.choice((4, 8, 16, 32)) * 1_000, rng.choice((2, 4, 8))) for _ in range(offers)]
    return Problem(
        tuple(
            Item(rng.randint(20, 200), (rng.randint(50, 3_000), rng.randint(100, 9_000)), (True,) * offers) for _ in range(items)
        ),
        tuple(Offer(cpu * (40 + 9 * ratio) + rng.randint(0, 20_000), (cpu, cpu * ratio), 10_000) for cpu, ratio in sizes),
    )


@pytest.mark.parametrize("seed", [seed for seed in range(24) if some_mix(bounded(seed)) is not None])
def test_no_filling_is_missing(seed: int) -> None:
    """The linear program over what was found says what the one over all fillings that there are says."""
    problem = bounded(seed)
    start = some_mix(problem)
    assert start is not None
    found = generate(problem, Counted(problem, start))
    every = Counted(problem, start)
    every.add(every_filling(problem))
    whole = every.relaxed()
    assert found is not None
    assert whole is not None
    assert whole.bound - 1 <= found.bound <= whole.bound * (1 + NEAR) + 1
    assert whole.bound * 0.9 - 100 <= found.proved <= whole.bound + 1


@pytest.mark.parametrize("steps", [1, 30, 1_000])
def test_what_is_proved_holds_however_soon_the_search_ends(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mix of a few pods that can be tried costs less. The whole search proves some bound, too."""
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")
    for problem in filter(lambda one: one.items, (few_pods(seed + number) for number in range(40))):
        for name, most in (("_CLOSE_STEPS", steps), ("_CLOSEST_STEPS", steps), ("_ROUNDS", steps % 7)):
            monkeypatch.setattr(columns, name, most)
        early = generate(problem, Counted(problem, one_choice(problem)))
        monkeypatch.undo()
        late = generate(problem, Counted(problem, one_choice(problem)))
        assert early is not None
        assert late is not None
        assert early.proved <= cheapest(problem)
        assert 0 < late.proved <= cheapest(problem)


def test_work_ends_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With work for one round the program is asked twice; with more of it the bound falls, and never below that of all rounds."""
    problem = mixed(7)
    start = greedy_mix(problem, one_choice(problem))
    bounds, asked = list[float](), list[int]()
    for steps in (1, 50_000, 1_000_000, 14_000_000):
        monkeypatch.setattr(columns, "_ALL_STEPS", steps)
        master = Counted(problem, start)
        prices = generate(problem, master)
        assert prices is not None
        bounds.append(prices.bound)
        asked.append(master.asked)
    assert asked[0] == 2
    assert asked == sorted(asked)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


def test_a_round_first_asks_the_offers_that_gave_something() -> None:
    """All of them the first time; what that takes is counted by item and offer."""
    problem = mixed(3, 50, 20)
    search = columns._ColumnsSearch(problem)
    master = Counted(problem, greedy_mix(problem, one_choice(problem)))
    asked = list[int]()
    for _ in range(30):
        prices = master.relaxed()
        assert prices is not None
        before, likely = search.left, len(search._likely)
        added = search.by_value(master, prices, prices.values)
        spent = (before - search.left) // (columns._STEPS_BY_VALUE * len(problem.items))
        asked.append(spent)
        # All are asked only where those that gave something before give nothing more.
        assert spent in (likely, likely + 20)
        if not added:
            break
    assert asked[0] == 20
    assert min(asked) < 20


def test_a_closer_look_goes_on_behind_the_last_offer() -> None:
    """Enough fillings end it; the next one begins with the offer after the last that gave one."""
    problem = mixed(5, 40, 20)
    search = columns._ColumnsSearch(problem)
    master = Counted(problem, greedy_mix(problem, one_choice(problem)))
    prices = master.relaxed()
    assert prices is not None
    first = search._looked_at(prices)
    assert [filling.offer for filling in first] == sorted({filling.offer for filling in first})
    assert len(first) == columns._ENOUGH
    second = search._looked_at(prices)
    assert second[0].offer == min(
        (one.offer for one in search_all(problem, prices) if one.offer > first[-1].offer), default=first[0].offer
    )


def search_all(problem: Problem, prices):  # type: ignore[no-untyped-def]
    """What a closer look at every offer gives."""
    search = columns._ColumnsSearch(problem)
    found = []
    for offer in range(len(problem.offers)):
        search._first = offer
        found += search._looked_at(prices)[:1]
    return found
