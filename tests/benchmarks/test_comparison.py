"""What the comparison says of ours beside a hand's, without a cluster."""

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


def test_empty_nodes_are_judged_by_what_was_asked_and_by_the_hand() -> None:
    """Three seconds to ask for all of them, and four more than a hand needs that writes nothing but the number: the three, and
    one for what the taints of a hundred nodes cost Cluster API. 15 s until none lives."""
    hand = Emptied(asked_seconds=0.2, deleted_seconds=11.0, gone_seconds=20.0)
    marked = Emptied(asked_seconds=2.2, deleted_seconds=16.0, gone_seconds=25.0)
    ours = Emptied(asked_seconds=3.0, deleted_seconds=15.0, gone_seconds=24.0)
    assert not any(figure.missed for figure in empty_beside(100, ours, hand, marked))
    slow = Emptied(asked_seconds=3.1, deleted_seconds=15.1, gone_seconds=24.1)
    assert [figure.name for figure in empty_beside(100, slow, hand, marked) if figure.missed] == [
        "nothing more asked for",
        "no machine living",
        "no machine living: beyond the hand",
        "no Machine and no Node there: beyond the hand",
    ]
