"""What the comparison says of ours beside a hand's, without a cluster."""

import pytest

from tests.benchmarks.live.by_hand import Burst, Emptied
from tests.benchmarks.live.comparison import burst_beside, empty_beside


def _burst(bound: float, after: float) -> Burst:
    return Burst(write_seconds=0.5, bound_seconds=bound, after_nodes_seconds=after, sizes={"large": 12})


def test_ours_is_judged_by_what_the_machines_take() -> None:
    """A scheduler that lets pods wait is no fault of ours; what comes on top of a hand's time is."""
    figures = burst_beside(_burst(14.0, 7.0), _burst(13.5, 6.0))
    assert not any(figure.missed for figure in figures)
    late = {figure.name for figure in burst_beside(_burst(17.0, 7.0), _burst(13.5, 6.0)) if figure.missed}
    assert late == {"last pod to all bound: beyond it"}


def test_empty_nodes_are_judged_at_one_pace_and_by_the_hand() -> None:
    """15 s until none is there, 4 more than a hand needs that writes nothing but the number: 3 until all are asked away, and one
    for what the taints of a hundred nodes cost Cluster API. What it takes is counted as on a machine with a yardstick of 0.20 s,
    half of the time at 0.40; what came before is not."""
    hand = Emptied(asked_seconds=0.2, deleted_seconds=17.0, gone_seconds=21.8, yardstick_seconds=0.4)
    marked = Emptied(asked_seconds=2.2, deleted_seconds=16.0, gone_seconds=25.0, yardstick_seconds=0.4)
    ours = Emptied(asked_seconds=3.0, deleted_seconds=20.0, gone_seconds=27.0, yardstick_seconds=0.4)
    found = {figure.name: figure for figure in empty_beside(100, ours, hand, marked)}
    name = "gone, at a yardstick of 0.20 s"
    values = found[name].value, found[f"{name}: by hand"].value, found[f"{name}: beyond it"].value
    assert values == pytest.approx((15.0, 11.0, 4.0))
    assert (found["no Machine and no Node there"].value, found["no Machine and no Node there: by hand"].value) == (27.0, 21.8)


@pytest.mark.parametrize(
    ("asked", "gone", "hand", "missed"),
    [
        (3.0, 26.9, 21.9, []),
        (3.0, 27.1, 22.2, ["gone, at a yardstick of 0.20 s"]),
        (3.2, 26.6, 21.8, []),
        (3.2, 26.7, 21.4, ["gone, at a yardstick of 0.20 s: beyond it"]),
    ],
)
def test_empty_nodes_miss_what_is_asked(asked: float, gone: float, hand: float, missed: list[str]) -> None:
    """At a yardstick of 0.40 s: asked away + half of the rest, for ours and for the hand (0.2 s)."""
    ours = Emptied(asked_seconds=asked, deleted_seconds=20.0, gone_seconds=gone, yardstick_seconds=0.4)
    plain = Emptied(asked_seconds=0.2, deleted_seconds=17.0, gone_seconds=hand, yardstick_seconds=0.4)
    assert [figure.name for figure in empty_beside(100, ours, plain, plain) if figure.missed] == missed
