"""Watches on which nothing comes: the Kubernetes API promises no bookmark, and none comes for minutes with etcd's defaults."""

from typing import Any

from reconciler.kube.connection.api import ApiError, QuietError, UnreachableError
from reconciler.kube.watching.stream_state import Phase
from tests.kube.reflected import Run, bookmark, event, page, phases_at_pauses, watches


def test_a_quiet_watch_is_renewed_and_trusted() -> None:
    """Nothing comes on a collection that nobody changes: the watch is asked for again from where it stands, at once and by one
    request, and at no moment is what it told in doubt."""
    run = Run([])
    quiet: list[Any] = [run.look, QuietError("nothing")]
    run.api.streams = [[event("ADDED", "a", 1), bookmark(5, end=True), QuietError("nothing")], quiet, quiet, [run.look]]
    assert set(phases_at_pauses(run)) == {Phase.SYNCED}
    assert [query.get("resourceVersion") for query in watches(run)] == [None, "5", "5", "5", "5"]
    assert [kind for kind, _, _ in run.api.asked] == ["watch"] * 5
    assert run.reflector.state().renewals == 3


def test_what_comes_on_a_renewed_watch_is_taken() -> None:
    """Whatever a dead connection did not bring, the next one brings, from the version that was known."""
    run = Run([[bookmark(5, end=True), QuietError("nothing")], [event("ADDED", "missed", 6)]]).go()
    assert run.names() == ["missed"]


def test_a_watch_that_cannot_be_renewed_is_broken() -> None:
    """Nobody answers where a quiet watch is asked for again: from then on it is a break, and must be caught up with."""
    run = Run([], [page([], 9)])
    run.api.streams = [
        [bookmark(5, end=True), QuietError("nothing")],
        UnreachableError("nobody"),
        [run.look, bookmark(9), run.look],
    ]
    assert phases_at_pauses(run)[0] is Phase.BROKEN
    assert [(phase, message) for phase, _, message in run.seen] == [(Phase.BROKEN, "nobody"), (Phase.SYNCED, "")]


def test_silence_before_everything_was_read_is_a_break() -> None:
    """A list that stops in the middle is no quiet collection."""
    run = Run([[event("ADDED", "a", 1), QuietError("nothing")], [event("ADDED", "b", 1), bookmark(5, end=True)]])
    assert phases_at_pauses(run)[0] is Phase.WAITING
    assert run.names() == ["b"]


def test_a_renewed_watch_that_is_too_old_is_read_anew_without_a_doubt() -> None:
    """Another server may not remember where a quiet watch stood. What is known is as good as it was, and grows no fresher
    until all of it was read again."""
    run = Run([])

    def later() -> None:
        run.pace.now += 50
        run.look()
        run.seen.append((Phase.SYNCED, [], run.reflector.state().doubt(30)))

    run.api.streams = [
        [event("ADDED", "old", 1), bookmark(1, end=True), QuietError("nothing")],
        ApiError(410, "Expired", "too old"),
        [event("ADDED", "new", 9), later, bookmark(9, end=True), run.look],
    ]
    assert Phase.WAITING not in phases_at_pauses(run)
    assert run.seen[0] == (Phase.SYNCED, ["old"], "")
    assert "silent for more than 30 s" in run.seen[1][2]
    assert run.seen[2] == (Phase.SYNCED, ["new"], "")
