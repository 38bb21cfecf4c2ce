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


AT = "at a yardstick of 0.20 s"
DELETED, GONE = f"no machine living, {AT}", f"none there, {AT}"


def _emptied(asked: float, deleted: float, gone: float) -> Emptied:
    return Emptied(asked_seconds=asked, deleted_seconds=deleted, gone_seconds=gone, yardstick_seconds=0.4)


def test_empty_nodes_are_judged_at_one_pace_and_by_the_hand() -> None:
    """15 s until no Machine lives, 4 more than a hand needs that writes nothing but the number: 3 until all are asked away, and
    one for what the taints of a hundred nodes cost Cluster API. What it takes is counted as on a machine with a yardstick of
    0.20 s, half of the time at 0.40; what came before is not."""
    found = {
        figure.name: figure.value
        for figure in empty_beside(100, _emptied(3.0, 27.0, 30.0), _emptied(0.2, 21.8, 25.0), _emptied(2.2, 16.0, 25.0))
    }
    values = [found[name] for name in (DELETED, f"{DELETED}: beyond the hand", GONE, f"{GONE}: beyond the hand")]
    assert values == pytest.approx([15.0, 4.0, 16.5, 3.9])
    assert (found["no machine living"], found["no machine living: by hand"]) == (27.0, 21.8)
    assert (found["none there"], found["none there: by hand, marked"]) == (30.0, 25.0)


@pytest.mark.parametrize(
    ("ours", "hand", "missed"),
    [
        ((3.0, 26.9, 30.0), (0.2, 21.9, 25.0), []),
        ((3.0, 27.1, 30.0), (0.2, 22.2, 25.0), [DELETED]),
        ((3.2, 26.6, 30.0), (0.2, 21.4, 25.0), [f"{DELETED}: beyond the hand"]),
        ((3.0, 26.9, 40.0), (0.2, 21.9, 34.9), []),
        ((3.0, 26.9, 40.0), (0.2, 21.9, 34.7), [f"{GONE}: beyond the hand"]),
    ],
)
def test_empty_nodes_miss_what_is_asked(
    ours: tuple[float, float, float], hand: tuple[float, float, float], missed: list[str]
) -> None:
    """At a yardstick of 0.40 s: asked away + half of the rest, for ours and for the hand."""
    plain = _emptied(*hand)
    assert [figure.name for figure in empty_beside(100, _emptied(*ours), plain, plain) if figure.missed] == missed
