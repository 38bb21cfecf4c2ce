"""A reflector against servers that cut, refuse, forget and fall silent; the expected behaviour is the Kubernetes API's own."""

import json

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.stream_state import Phase
from tests.kube.reflected import Run, bookmark, event, gone, page, watches


def test_synced_only_at_the_end_of_the_initial_state() -> None:
    """What a streaming list has brought so far is seen by nobody before its closing bookmark."""
    run = Run([])
    run.api.streams = [[event("ADDED", "a", 1), run.look, event("ADDED", "b", 2), bookmark(5, end=True), run.look]]
    run.go()
    assert run.seen == [(Phase.WAITING, [], ""), (Phase.SYNCED, ["a", "b"], "")]


def test_other_bookmarks_are_not_the_end() -> None:
    """A bookmark without the closing mark, while everything is still being read, ends nothing."""
    run = Run([])
    run.api.streams = [[event("ADDED", "a", 1), bookmark(3), run.look, bookmark(5, end=True), run.look]]
    run.go()
    assert [phase for phase, _, _ in run.seen] == [Phase.WAITING, Phase.SYNCED]


def test_asks_for_a_streaming_list() -> None:
    """The first request carries what the API's streaming lists ask for, and a time-out of five to ten minutes."""
    run = Run([[bookmark(5, end=True)]]).go()
    first = watches(run)[0]
    assert first == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "300",
    }


def test_goes_on_from_the_last_event() -> None:
    """A watch that ended is continued from the version of its last object or bookmark, without reading all again."""
    run = Run([[bookmark(5, end=True), event("ADDED", "a", 7)], [bookmark(11)], []]).go()
    assert [query.get("resourceVersion") for query in watches(run)] == [None, "7", "11", "11"]
    assert run.names() == ["a"]


def test_changes_and_deletions() -> None:
    """Events change the store in their order, and every change that matters is told once."""
    run = Run([[event("ADDED", "a", 1), event("ADDED", "b", 2), bookmark(2, end=True)]])
    run.api.streams.append([event("MODIFIED", "a", 3, unschedulable=True), event("DELETED", "b", 4), event("ADDED", "c", 5)])
    run.go()
    store = run.reflector.store
    assert isinstance(store, ObjectStore)
    assert {read.node.name: read.shape.unschedulable for read in store.nodes.values()} == {"a": True, "c": False}
    assert run.changes == 4


def test_an_event_that_says_nothing_new_is_not_told() -> None:
    """A later version of a node that is the same in all that is read wakes nobody."""
    run = Run([[event("ADDED", "a", 1), bookmark(2, end=True), event("MODIFIED", "a", 3)]]).go()
    assert run.changes == 1


def test_gone_reads_everything_anew_beside_the_old() -> None:
    """After a 410 the old store is distrusted but kept until the new one is complete, and then replaced as a whole."""
    run = Run([])
    run.api.streams = [
        [event("ADDED", "old", 1), bookmark(1, end=True), gone()],
        [run.look, event("ADDED", "new", 9), run.look, bookmark(9, end=True), run.look],
    ]
    run.go()
    phases = [(phase, names) for phase, names, _ in run.seen]
    assert phases == [(Phase.WAITING, ["old"]), (Phase.WAITING, ["old"]), (Phase.SYNCED, ["new"])]
    assert "resourceVersion" not in watches(run)[1]


def test_gone_as_an_answer() -> None:
    """A watch refused with 410 is the same as an event that says so."""
    run = Run([[bookmark(1, end=True)], ApiError(410, "Expired", "too old"), [event("ADDED", "x", 4), bookmark(4, end=True)]])
    run.go()
    assert run.names() == ["x"]
    assert run.reflector.state().lists == 2


def test_waits_grow_and_are_spread() -> None:
    """Refusals are followed by waits of 0.8 s doubling to 30 s, here at the short end of their jitter (half)."""
    run = Run([ApiError(403, "Forbidden", "no") for _ in range(8)]).go()
    assert run.pace.waits[:8] == [0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0]


def test_a_server_that_comes_back_is_asked_soon() -> None:
    """While nobody listens it is asked every few seconds; what it says first, before it has read its roles, is no reason to
    wait for half a minute."""
    refused, forbidden = UnreachableError("refused"), ApiError(403, "Forbidden", "roles are not read")
    run = Run([[bookmark(1, end=True)], refused], [*[refused] * 7, forbidden, forbidden, page([], 1)]).go()
    # The first is that of a watch which ended at once.
    assert run.pace.waits[1:9] == [0.4, 0.8, 1.6, 3.2, 4.0, 4.0, 4.0, 4.0]
    assert run.pace.waits[9:11] == [0.4, 0.8]


def test_the_server_may_ask_for_a_longer_wait() -> None:
    """Retry-After is honoured."""
    run = Run([ApiError(429, "TooManyRequests", "later", (), 17)]).go()
    assert run.pace.waits[0] == 17


def test_a_break_is_not_trusted() -> None:
    """From a broken connection until the next one has caught up, the state says Broken and why."""
    run = Run([], [page([], 1)])
    run.api.streams = [[bookmark(1, end=True), UnreachableError("silence")], [run.look]]
    seen: list[tuple[Phase, str]] = []
    pause = run.pace.pause

    def noting(seconds: float) -> bool:
        state = run.reflector.state()
        seen.append((state.phase, state.message))
        return pause(seconds)

    run.pace.pause = noting  # type: ignore[method-assign]
    run.go()
    assert seen[0] == (Phase.BROKEN, "silence")
    assert run.seen[0][0] is Phase.SYNCED


def test_what_was_missed_must_have_arrived() -> None:
    """A watch that stands again after a break is trusted at the version that a read gave meanwhile, not before."""
    run = Run([], [page(["any"], 9)])
    run.api.streams = [
        [bookmark(1, end=True), UnreachableError("silence")],
        [run.look, event("ADDED", "late", 7), run.look, event("ADDED", "later", 9), run.look],
    ]
    run.go()
    assert run.seen == [
        (Phase.BROKEN, [], "silence"),
        (Phase.BROKEN, ["late"], "silence"),
        (Phase.SYNCED, ["late", "later"], ""),
    ]


def test_a_quiet_collection_is_trusted_again_at_its_bookmark() -> None:
    """The first watch after a break is a short one, because a server sends a bookmark before a watch runs out; the next is
    a long one."""
    run = Run([], [page([], 9)])
    run.api.streams = [[bookmark(1, end=True), UnreachableError("silence")], [run.look, bookmark(12), run.look], []]
    run.go()
    assert [phase for phase, _, _ in run.seen] == [Phase.BROKEN, Phase.SYNCED]
    assert [(query.get("resourceVersion"), query["timeoutSeconds"]) for query in watches(run)] == [
        (None, "300"),
        ("1", "4"),
        ("12", "300"),
        ("12", "300"),
    ]


def test_a_watch_that_never_tells_where_it_is_is_read_anew() -> None:
    """A server without bookmarks: after a break everything is read again, and trusted then."""
    run = Run([], [page([], 9)])
    run.api.streams = [
        [event("ADDED", "a", 1), bookmark(1, end=True), UnreachableError("silence")],
        [],
        [run.look, event("ADDED", "b", 9), bookmark(9, end=True), run.look],
    ]
    run.go()
    assert [(phase, names) for phase, names, _ in run.seen] == [(Phase.WAITING, ["a"]), (Phase.SYNCED, ["b"])]


def test_pages_where_streaming_lists_are_not_served() -> None:
    """A server that refuses streaming lists is read in pages of 500, then watched from the list's version."""
    refusal = ApiError(422, "Invalid", "sendInitialEvents is forbidden")
    run = Run([refusal, [event("ADDED", "c", 8)]], [page(["a"], 7, "token"), page(["b"], 7)]).go()
    assert [query for kind, _, query in run.api.asked if kind == "list"] == [
        {"limit": "500"},
        {"limit": "500", "continue": "token"},
    ]
    assert watches(run)[1]["resourceVersion"] == "7"
    assert run.names() == ["a", "b", "c"]


def test_a_token_that_expired_begins_the_list_anew() -> None:
    """A page refused with 410 leaves nothing of the pages before it behind."""
    refusal = ApiError(400, "BadRequest", "unknown field")
    lists = [page(["stale"], 3, "token"), ApiError(410, "Expired", "token"), page(["a"], 9)]
    run = Run([refusal, []], lists).go()
    assert run.names() == ["a"]


def test_servers_that_know_nothing_of_streaming_lists() -> None:
    """A server that never closes the initial state is given three chances, then read in pages."""
    silent = [[event("ADDED", "a", 1), UnreachableError("silence")] for _ in range(3)]
    run = Run([*silent, []], [page(["a", "b"], 4)]).go()
    assert [kind for kind, _, _ in run.api.asked][:5] == ["watch", "watch", "watch", "list", "watch"]
    assert run.names() == ["a", "b"]


def test_absent_collections_are_retried_slowly() -> None:
    """A collection that the server does not have is said to be absent, and asked for again after 30 to 90 s."""
    for chance, seconds in ((0.0, 30.0), (0.5, 60.0), (1.0, 90.0)):
        run = Run([ApiError(404, "NotFound", "no such kind")], pauses=1, chance=chance).go()
        assert run.pace.waits == [seconds]


def test_absent_is_told_once() -> None:
    """Readers are told that a collection is absent, so that they need not wait for it."""
    phases: list[Phase] = []
    run = Run([ApiError(404, "NotFound", "no such kind")], pauses=1)
    run.count = lambda: phases.append(run.reflector.state().phase)  # type: ignore[method-assign]
    run.reflector._changed = run.count
    run.go()
    assert phases == [Phase.ABSENT]


def test_a_collection_that_vanishes_is_broken_not_absent() -> None:
    """What was read once and is not served any more is a broken view: nothing may be decided as if it were empty."""
    run = Run([[event("ADDED", "a", 1), bookmark(1, end=True)], ApiError(404, "NotFound", "gone")])
    phases: list[Phase] = []
    pause = run.pace.pause

    def noting(seconds: float) -> bool:
        phases.append(run.reflector.state().phase)
        return pause(seconds)

    run.pace.pause = noting  # type: ignore[method-assign]
    run.go()
    assert Phase.BROKEN in phases
    assert Phase.ABSENT not in phases


def test_an_object_that_cannot_be_read_is_named() -> None:
    """The stream itself stays trusted, and the store names each such object until it can be read."""
    run = Run([])
    broken = [json.loads(event("ADDED", name, 1)) for name in ("odder", "odd")]
    for one in broken:
        one["object"]["status"]["capacity"]["cpu"] = "many"
    first, second = (json.dumps(one).encode() for one in broken)
    fixed = event("MODIFIED", "odder", 1)
    named: list[list[str]] = []

    def look() -> None:
        run.look()
        store = run.reflector.store
        assert isinstance(store, ObjectStore)
        named.append(sorted(name for _, name in store.unreadable))

    run.api.streams = [[first, second, bookmark(1, end=True), look, event("MODIFIED", "odd", 2), look, fixed, look]]
    run.go()
    assert named == [["odd", "odder"], ["odder"], []]
    assert [seen[0] for seen in run.seen] == [Phase.SYNCED] * 3


def test_silence_makes_a_stream_doubtful() -> None:
    """A stream on which the server has said nothing for longer than allowed is doubted, however healthy it looks."""
    run = Run([])

    def later() -> None:
        run.pace.now += 121
        run.seen.append((Phase.SYNCED, [], run.reflector.state().doubt(120)))

    run.api.streams = [[bookmark(1, end=True), later]]
    run.go()
    assert run.seen[0][2] == "Node: the server has been silent for more than 120 s"


def test_a_cut_json_line_is_a_break() -> None:
    """A line that is no JSON breaks the stream and nothing else."""
    run = Run([[bookmark(1, end=True), b'{"type":"ADDED","obj'], [event("ADDED", "a", 2)]], [page(["a"], 2)]).go()
    assert run.names() == ["a"]


def test_a_server_that_ends_every_watch_is_not_hammered() -> None:
    """Watches that end at once are followed by growing waits."""
    run = Run([[bookmark(1, end=True)], [], [], []]).go()
    assert run.pace.waits == [0.4, 0.8, 1.6, 3.2]
