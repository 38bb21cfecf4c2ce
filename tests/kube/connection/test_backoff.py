"""How long waits between tries are."""

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.backoff import Backoff

_LENGTHS = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]


@pytest.mark.parametrize(("random", "share"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_waits_double_up_to_half_a_minute(random: float, share: float) -> None:
    """Each is between half of its length and all of it, as chance will have it; after a success they begin anew."""
    backoff = Backoff(lambda: random)
    for _ in range(2):
        assert [backoff.next_seconds() for _ in _LENGTHS] == pytest.approx([length * share for length in _LENGTHS])
        backoff.reset()


def test_what_the_server_asks_for_is_the_least() -> None:
    """A wait that is longer by itself stays."""
    backoff = Backoff(lambda: 1.0)
    busy = ApiError(429, "TooManyRequests", "busy", retry_after_seconds=2)
    assert [backoff.after(busy) for _ in range(4)] == pytest.approx([2, 2, 3.2, 6.4])


def test_another_failure_begins_anew() -> None:
    """Told apart by what it is and by the status of an answer; where nobody answers no wait is longer than 4 s."""
    backoff = Backoff(lambda: 1.0)
    gone, refused, broken = UnreachableError("gone"), ApiError(403, "Forbidden", "no"), ApiError(500, "", "broken")
    failures = [gone, gone, gone, gone, gone, refused, refused, broken, broken, ValueError(), ValueError(), gone]
    waits = [backoff.after(failure) for failure in failures]

    assert waits == pytest.approx([0.8, 1.6, 3.2, 4, 4, 0.8, 1.6, 0.8, 1.6, 0.8, 1.6, 0.8])
