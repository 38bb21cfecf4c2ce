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


def _emptied(asked: float, deleted: float, gone: float) -> Emptied:
    return Emptied(asked_seconds=asked, deleted_seconds=deleted, gone_seconds=gone, yardstick_seconds=0.4)


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        ((3.0, 15.0, 24.0), []),
        ((3.1, 15.0, 24.0), ["nothing more asked for"]),
        ((3.0, 15.1, 24.0), ["no machine living", "no machine living: beyond the hand"]),
        ((3.0, 15.0, 24.1), ["none there: beyond the hand"]),
    ],
)
def test_empty_nodes_are_judged_by_seconds_and_by_the_hand(ours: tuple[float, float, float], missed: list[str]) -> None:
    """Three seconds to ask for all of them, 15 until none lives, and four more than a hand needs that writes nothing but the
    number: the three, and one for what the taints of a hundred nodes cost Cluster API."""
    figures = empty_beside(100, _emptied(*ours), _emptied(0.2, 11.0, 20.0), _emptied(2.2, 16.0, 25.0))
    assert [figure.name for figure in figures if figure.missed] == missed
