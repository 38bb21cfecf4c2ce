"""What a reflector asks for, round after round, and what its state says of it; the bounds are client-go's and our own."""

import json
import threading
from typing import Any

import msgspec
import pytest

from reconciler.kube.connection.api import ApiError, QuietError, UnreachableError
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.reflector import _OwnThread
from reconciler.kube.watching.stream_state import Phase, StreamState
from tests.kube.reflected import NODES, Run, bookmark, event, gone, page, watches

REFUSED = ApiError(400, "BadRequest", "unknown field")
FORGOTTEN = "the known version is too old to continue from, so the list is read again"


def states_at_pauses(run: Run) -> list[StreamState]:
    """What a reader sees at every wait, once `run` has gone."""
    states: list[StreamState] = []
    pause = run.pace.pause

    def noting(seconds: float) -> bool:
        states.append(run.reflector.state())
        return pause(seconds)

    run.pace.pause = noting  # type: ignore[method-assign]
    run.go()
    return states


@pytest.mark.parametrize(
    ("known", "answers", "asked"),
    [
        ({"version": "v1"}, [{"resources": [{"name": "nodes", "kind": "Node"}]}], ["/apis/example.com/v1"]),
        ({"plural": "nodes"}, [{"versions": [], "preferredVersion": {"version": "v1"}}], ["/apis/example.com"]),
        ({"version": "v1", "plural": "nodes"}, [], []),
    ],
)
def test_only_what_is_not_known_is_asked(known: dict[str, str], answers: list[Any], asked: list[str]) -> None:
    """Version and plural, each where it is missing; once, however many rounds follow; anew after a failure."""
    found = Collection(group="example.com", kind="Node", **known)
    run = Run([[bookmark(1, end=True)], [], UnreachableError("cut")], pauses=3, collection=found)
    run.reflector._fresh = lambda _: Run([]).reflector._fresh(NODES)
    run.api.lists = [msgspec.json.encode(answer) for answer in [*answers, *answers]] + [page([], 1)]
    run.go()
    lists = [path for kind, path, _ in run.api.asked if kind == "list"]
    assert lists[: len(asked)] == asked
    assert {path for kind, path, _ in run.api.asked if kind == "watch"} == {"/apis/example.com/v1/nodes"}


def test_a_thread_that_was_never_started() -> None:
    """It has ended, as far as anybody waits for it; and it keeps no process alive."""
    run = Run([])
    assert run.reflector.join(0.0)
    run.reflector.start()
    driven = run.reflector._driven
    assert isinstance(driven, _OwnThread)
    assert driven._thread.daemon
    assert driven.join(10)


def test_a_thread_that_goes_on() -> None:
    """`join` waits no longer than it may, and says that it has not ended; then, that it has."""
    run, release = Run([[bookmark(1, end=True), lambda: bool(release.wait(30)) and None]]), threading.Event()
    run.reflector.start()
    assert not run.reflector.join(0.01)
    run.reflector.stop()
    release.set()
    assert run.reflector.join(30)
    assert run.reflector.state().phase is Phase.STOPPED


def test_a_broken_watch_says_so_whatever_could_not_be_read() -> None:
    """While changes do not arrive that is what counts; the object that cannot be understood is named again once they do."""
    odd = json.loads(event("ADDED", "odd", 1))
    odd["object"]["status"]["capacity"]["cpu"] = "many"
    run = Run([[json.dumps(odd).encode(), bookmark(1, end=True), UnreachableError("the line was cut")]], pauses=1)
    (state,) = states_at_pauses(run)
    assert (state.phase, state.message) == (Phase.BROKEN, "the line was cut")


def test_what_a_state_counts() -> None:
    """Objects, lists, calls of lists, and how long ago anything was heard and an object changed."""
    run = Run([], [page(["a"], 7, "token"), page(["b"], 7)])
    before = run.reflector.state()
    assert (before.objects, before.lists, before.list_calls, before.heard_seconds, before.event_seconds) == (0, 0, 0, -1, -1)
    assert (before.phase, before.message, before.renewals) == (Phase.WAITING, "", 0)
    seen: list[StreamState] = []

    def later() -> None:
        run.pace.now += 5
        seen.append(run.reflector.state())

    run.api.streams = [REFUSED, [later, event("ADDED", "c", 8), later, bookmark(9), later]]
    run.go()
    assert [(s.objects, s.lists, s.list_calls, s.heard_seconds, s.event_seconds) for s in seen] == [
        (2, 1, 2, 5, -1),
        (3, 1, 2, 5, 5),
        (3, 1, 2, 5, 10),
    ]


def test_how_long_a_watch_is_asked_for() -> None:
    """Five to ten minutes, by chance."""
    for chance, seconds in ((0.0, "300"), (0.5, "450"), (0.999, "599")):
        assert watches(Run([[bookmark(1, end=True)]], chance=chance).go())[0]["timeoutSeconds"] == seconds


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([page(["a"], 3, "token"), ApiError(410, "Expired", "token")], FORGOTTEN),
        ([page(["a"], 3, "token"), ApiError(503, "", "busy")], "503: busy"),
        ([ApiError(410, "Expired", "odd")], "410 Expired: odd"),
    ],
)
def test_pages_that_fail(lists: list[Any], message: str) -> None:
    """A token that is too old is no fault of anybody; any other refusal is told as it is."""
    run = Run([REFUSED], lists, pauses=1)
    (state,) = states_at_pauses(run)
    assert (state.phase, state.message) == (Phase.WAITING, message)


def test_an_end_while_catching_up() -> None:
    """A reflector that is stopped waits for nothing more."""
    run = Run([], [page([], 9)])

    def after_a_while() -> None:
        run.pace.now += 2
        run.end()

    run.api.streams = [[bookmark(1, end=True), UnreachableError("cut")], [after_a_while]]
    run.go()
    assert run.pace.waits == [0.4]
    assert run.reflector.state().message == "cut"


def test_an_end_before_everything_was_read() -> None:
    """A watch that ends because it was told to is no break: nothing is waited for, nothing is told."""
    run = Run([], [])

    def after_a_while() -> None:
        run.pace.now += 2
        run.end()

    run.api.streams = [[event("ADDED", "a", 1), after_a_while]]
    run.go()
    assert (run.pace.waits, run.reflector.state().message, run.reflector.store) == ([], "", None)


def test_an_end_between_two_pages() -> None:
    """Half a list is no list: nothing is shown, and nothing more is asked."""
    run = Run([REFUSED], [page(["a"], 3, "token"), page(["b"], 3)])
    get = run.api.get

    def then_stop(path: str, query: Any = None) -> bytes:
        found = get(path, query)
        run.end()
        return found

    run.api.get = then_stop  # type: ignore[method-assign]
    run.go()
    assert (run.reflector.store, len(run.api.lists), run.pace.waits) == (None, 1, [])


def test_a_renewed_watch_that_is_told_to_begin_anew_is_doubted() -> None:
    """It stood again, and then the server had forgotten: what it did not bring nobody knows."""
    run = Run([[bookmark(1, end=True), QuietError("nothing")], [gone()], [bookmark(9, end=True)]])
    (state, *_) = states_at_pauses(run)
    assert (state.phase, state.message, state.renewals) == (Phase.WAITING, FORGOTTEN, 1)


def test_an_error_event_that_is_no_410() -> None:
    """Told in the server's words; the next watch goes on from where this one stood, once it has caught up."""
    status = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd"}
    told = msgspec.json.encode({"type": "ERROR", "object": status})
    run = Run([[bookmark(4, end=True), told], [bookmark(9)]], [page([], 9)])
    (state, *_) = states_at_pauses(run)
    assert (state.phase, state.message) == (Phase.BROKEN, "500 InternalError: etcd")
    assert watches(run)[1]["resourceVersion"] == "4"


def test_an_error_event_that_says_no_code() -> None:
    """It is one of the server's: 500."""
    told = msgspec.json.encode({"type": "ERROR", "object": {"kind": "Status", "reason": "Unknown", "message": "etcd"}})
    (state, *_) = states_at_pauses(Run([[bookmark(4, end=True), told], [bookmark(9)]], [page([], 9)]))
    assert (state.phase, state.message) == (Phase.BROKEN, "500 Unknown: etcd")


def test_an_unforeseen_failure_ends_no_thread() -> None:
    """Told with its type, since its words alone say little."""
    run = Run([KeyError("x"), [event("ADDED", "a", 1), bookmark(1, end=True)]])
    (state, *_) = states_at_pauses(run)
    assert state.message == "KeyError: 'x'"
    assert run.names() == ["a"]


def test_versions_that_cannot_be_compared() -> None:
    """Opaque ones: after a break everything is read again."""
    odd = msgspec.json.encode({"metadata": {"resourceVersion": "opaque"}, "items": []})
    run = Run([[bookmark(1, end=True), UnreachableError("cut")], [bookmark(9, end=True)]], [odd])
    states = states_at_pauses(run)
    assert [state.message for state in states][:2] == ["cut", FORGOTTEN]
    assert "resourceVersion" not in watches(run)[1]
    assert run.reflector.state().list_calls == 1


def test_catching_up_asks_for_one_object() -> None:
    """The version is all that matters; exactly that version is enough, one less is not."""
    run = Run([], [page(["x"], 9)])
    run.api.streams = [[bookmark(1, end=True), UnreachableError("cut")], [bookmark(8), run.look, bookmark(9), run.look]]
    run.go()
    assert [query for kind, _, query in run.api.asked if kind == "list"] == [{"limit": "1"}]
    assert [phase for phase, _, _ in run.seen] == [Phase.BROKEN, Phase.SYNCED]


def test_a_watch_that_lasts_is_followed_by_the_next_at_once() -> None:
    """Only one that ends within its first second is waited after."""
    run = Run([])

    def a_second() -> None:
        run.pace.now += 1

    run.api.streams = [[bookmark(1, end=True), a_second], [a_second], []]
    run.go()
    assert run.pace.waits == [0.4]


def test_a_line_resets_the_waits() -> None:
    """What is answered is no failure any more."""
    refused = [ApiError(503, "", "busy") for _ in range(3)]
    run = Run([*refused, [bookmark(1, end=True)], [], []]).go()
    assert run.pace.waits[:6] == [0.4, 0.8, 1.6, 0.4, 0.8, 1.6]


def test_a_store_that_is_being_filled_makes_the_old_one_no_fresher() -> None:
    """Lines of a new beginning say nothing of what is shown meanwhile."""
    run = Run([])
    heard: list[float] = []

    def later() -> None:
        run.pace.now += 50
        heard.append(run.reflector.state().heard_seconds)

    run.api.streams = [
        [event("ADDED", "a", 1), later, event("ADDED", "b", 2), later, bookmark(2, end=True), gone()],
        [event("ADDED", "a", 9), later, bookmark(9, end=True), later],
    ]
    run.go()
    assert heard == pytest.approx([50, 50, 50.4, 50])


def test_a_collection_that_takes_too_much() -> None:
    """Three objects where two are allowed: in the first read, in a list and later. Nothing is kept, and the next try is in five
    minutes."""
    three = [event("ADDED", f"n{number}", number) for number in range(3)]
    first = Run([[*three, bookmark(1, end=True)]], pauses=1)
    listed = Run([REFUSED], [page(["a", "b", "c"], 1)], pauses=1)
    later = Run([[*three[:2], bookmark(1, end=True), event("ADDED", "n9", 9)]], pauses=1)
    for run in (first, listed, later):
        run.reflector._most_objects = 2
        (state,) = states_at_pauses(run)
        assert state.phase is Phase.WAITING
        assert state.message == "it has more than 2 objects, which is what one cluster may take here"
        assert run.reflector.store is None
        assert run.pace.waits[-1] == 300


def test_as_many_objects_as_are_allowed() -> None:
    run = Run([[event("ADDED", "a", 1), event("ADDED", "b", 2), bookmark(2, end=True), UnreachableError("cut")]], pauses=1)
    run.reflector._most_objects = 2
    (state,) = states_at_pauses(run)
    assert (state.phase, state.objects) == (Phase.BROKEN, 2)
