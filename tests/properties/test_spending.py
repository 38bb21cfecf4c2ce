"""The price limit is never exceeded: random loops with prices and limits that change. `make spending` takes 100,000 of them."""

import secrets

import pytest

from reconciler.decisions import limits
from tests.properties.spending import TURNS, SpendingStory, main

FRESH = 12
# Stories that once spent more than a limit: a late machine was not counted; a node that was to leave made room for another one.
ONCE_BROKEN = (2, 34, 1000855)


@pytest.mark.parametrize("seed", ONCE_BROKEN)
def test_what_once_cost_too_much(seed: int) -> None:
    assert SpendingStory(seed).told().broken == ()


def test_no_limit_on_money_is_passed_with_fresh_seeds() -> None:
    for _ in range(FRESH):
        seed = secrets.randbits(32)
        assert SpendingStory(seed).told().broken == (), seed


def test_the_stories_are_about_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups grow, limits are full, and a bound falls below what is spent. A ledger that forgets every price is caught."""
    stories = [SpendingStory(seed) for seed in range(1, 9)]
    assert not any(story.told().broken for story in stories)
    seen = sum((story.seen for story in stories), stories[0].seen.__class__())
    assert min(seen["grew"], seen["full"], seen["above"]) > 5, seen
    monkeypatch.setattr(limits, "amount_of", lambda group, shape, name: int(name == "nodes"))
    assert any(SpendingStory(seed).told().broken for seed in range(1, 9))


def test_the_command_says_where_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--loops", str(TURNS), "--seed", "7"]) == 0
    assert capsys.readouterr().out.startswith(f"{TURNS} loops, stories 7 to 7, 0 spent more than a limit; --seed 8 goes on\n")
