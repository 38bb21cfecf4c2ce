"""How much a watch can be trusted: each doubt at its bound."""

import msgspec
import pytest

from reconciler.kube.watching.stream_state import Phase, StreamState, polled_state

SYNCED = StreamState(collection="pods", phase=Phase.SYNCED, objects=1, heard_seconds=5, event_seconds=5, lists=1, list_calls=1)


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({}, ""),
        ({"heard_seconds": 90}, ""),
        ({"heard_seconds": 91}, "pods: the server has been silent for more than 90 s"),
        ({"phase": Phase.ABSENT, "message": "no such kind", "heard_seconds": 900}, ""),
        ({"phase": Phase.WAITING}, "pods: waiting"),
        ({"phase": Phase.BROKEN, "message": "cut"}, "pods: broken (cut)"),
        ({"phase": Phase.STOPPED}, "pods: stopped"),
    ],
)
def test_doubts(changes: dict[str, object], doubt: str) -> None:
    """With 90 s of silence allowed: what arrives in time, is whole, or is not there at all leaves none."""
    assert msgspec.structs.replace(SYNCED, **changes).doubt(90) == doubt


def test_a_source_that_is_asked_again_and_again() -> None:
    """Synced with its first whole answer, even one of this moment; before that its failure is told."""
    never = polled_state("groups", None, objects=7, asks=3, failure="no right")
    assert (never.phase, never.objects, never.heard_seconds, never.event_seconds) == (Phase.WAITING, 0, -1, -1)
    assert (never.lists, never.list_calls, never.renewals, never.message) == (0, 3, 0, "no right")
    now = polled_state("groups", 0, objects=7, asks=3, failure="no right")
    assert (now.phase, now.objects, now.heard_seconds, now.event_seconds) == (Phase.SYNCED, 7, 0, 0)
    assert (now.lists, now.list_calls, now.renewals, now.message) == (1, 3, 0, "no right")
