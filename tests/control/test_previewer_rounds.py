"""Rounds over open pull requests: who is previewed, what is told, and when it is told again; comments are kept in memory."""

import io
import json
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from reconciler.control.log import Log
from reconciler.control.previewer import (
    LONGEST_WAIT_SECONDS,
    Done,
    Forks,
    Line,
    Previewer,
    PreviewFailedError,
    Previews,
    Settings,
    Telling,
)
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.pull_requests.comment import Comment, CommentHost, CommitStatus, HostCode, HostError
from reconciler.gitops.pull_requests.open_requests import MOST_REQUESTS, PAGE_REQUESTS, OpenRequest, Quota
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT

START, REFRESH = 1_800_000_000, 600
HEAD = "3f2a01c9be77" + "0" * 28


class _Comments:
    """The comments of one pull request."""

    limit = GITHUB_LIMIT
    shown = staticmethod(str)

    def __init__(self) -> None:
        self.all: list[Comment] = []

    def author(self) -> str:
        return "bot"

    def comments(self) -> Iterator[Comment]:
        return iter(tuple(self.all))

    def create(self, body: str) -> Comment:
        self.all.append(Comment(id=len(self.all), author="bot", body=body, url=f"https://host/{len(self.all)}"))
        return self.all[-1]

    def update(self, comment: Comment, body: str) -> Comment:
        self.all[comment.id] = msgspec.structs.replace(comment, body=body)
        return self.all[comment.id]

    def set_status(self, status: CommitStatus) -> None:
        raise AssertionError(status)

    def delete(self, comment: Comment) -> None:
        raise AssertionError(comment)


class _Repository:
    """A host with these pull requests, and everything that a round needs beside it."""

    def __init__(self, *requests: OpenRequest, keys: tuple[str, ...] = ("prod",), forks: Forks = Forks.LABEL) -> None:
        self.requests: tuple[OpenRequest, ...] = requests
        self.threads: dict[int, _Comments] = {}
        self.now = START
        self.rate: Quota | None = None
        self.spent = 0
        self.asked: list[int] = []
        self.digest = "d1"
        self.changed: frozenset[str] = frozenset(keys)
        self.touched = True
        self.cut_short: frozenset[int] = frozenset()
        self.errors: dict[int, Exception] = {}
        self.down: HostError | None = None
        self.pushed = ""
        self.base = "b1"
        self.base_fault: SourceError | None = None
        self.seconds = 0
        self.settings = Settings(branch="main", keys=keys, refresh_seconds=REFRESH, forks=forks, fork_label="preview")
        self.restart()

    def restart(self) -> None:
        self.text = io.StringIO()
        self.previewer = Previewer(
            self.settings, lambda: self, self._previews, self._base, lambda: self.now, Log(self.text, lambda: self.now)
        )

    def _base(self) -> str:
        if self.base_fault is not None:
            raise self.base_fault
        return self.base

    def open_requests(self, branch: str) -> Iterator[OpenRequest]:
        assert branch == "main"
        if self.down is not None:
            raise self.down
        for number, request in enumerate(self.requests, start=1):
            if self.rate is not None and number % PAGE_REQUESTS == 0:
                self.rate = msgspec.structs.replace(self.rate, remaining=self.rate.remaining - 1)
            yield request

    def comments(self, number: int) -> CommentHost:
        return self.threads.setdefault(number, _Comments())

    def quota(self) -> Quota | None:
        return self.rate

    def _previews(self, request: OpenRequest) -> Previews:
        self.asked.append(request.number)
        self.now += self.seconds
        if request.number in self.errors:
            raise self.errors[request.number]
        if self.rate is not None:
            self.rate = msgspec.structs.replace(self.rate, remaining=self.rate.remaining - self.spent)
        return Previews(head=self.pushed or request.head, touched=self.touched, tellings=lambda: self._tellings(request))

    def _tellings(self, request: OpenRequest) -> Sequence[Telling]:
        return [
            Telling(
                key=key, digest=self.digest, head=request.head, summary=f"{key} of #{request.number}",
                changed=key in self.changed, markdown=f"{key} {self.digest}", cut_short=request.number in self.cut_short,
            )
            for key in self.settings.keys
        ]  # fmt: skip

    def round(self, later: int = 0) -> list[tuple[int, Done]]:
        self.now += later
        return [(line.number, line.done) for line in self.previewer.round()]

    def said(self) -> list[tuple[str, str]]:
        """Level and code of each line of the log."""
        lines = [json.loads(line) for line in self.text.getvalue().splitlines()]
        return [(line["level"], line["code"]) for line in lines]


def _request(number: int, **fields: object) -> OpenRequest:
    given = {"head": HEAD, "ref": f"refs/pull/{number}/head", "branch": "main", "fork": False, **fields}
    return OpenRequest(number=number, **given)


def test_a_comment_is_written_once_and_then_kept_up() -> None:
    """Created, not looked at until the refresh or another commit, left alone while it says the same, updated when that moves."""
    repository = _Repository(_request(7))

    assert repository.previewer.round() == (
        Line(number=7, done=Done.CREATED, key="prod", url="https://host/0", summary="prod of #7"),
    )
    assert repository.round(REFRESH - 1) == [(7, Done.RECENT)]
    assert repository.round(1) == [(7, Done.UNCHANGED)]
    repository.digest = "d2"
    assert repository.round(1) == [(7, Done.RECENT)]
    assert repository.round(REFRESH) == [(7, Done.UPDATED)]
    repository.requests = (_request(7, head="f" * 40),)
    assert repository.round(1) == [(7, Done.UNCHANGED)]
    assert repository.asked == [7, 7, 7, 7]
    assert repository.said() == [("info", "Created"), ("info", "Updated")]
    assert len(repository.threads[7].all) == 1


def test_another_base_is_told_at_once() -> None:
    """Within the refresh time, and once; while nobody knows the base, what was told of the last one stands."""
    repository = _Repository(_request(7))
    assert repository.round() == [(7, Done.CREATED)]
    repository.base = "b2"
    assert repository.round(1) == [(7, Done.UPDATED)]
    assert repository.round(1) == [(7, Done.RECENT)]
    repository.base_fault = failed(FaultCode.UNREACHABLE, "no answer")
    assert repository.round(1) == [(7, Done.RECENT)]
    assert repository.said()[-1] == ("warning", "SourceUnreachable")
    repository.requests, repository.base_fault = (), AssertionError("nobody asks for the base of nothing")  # type: ignore[assignment]
    assert repository.round(1) == []


def test_a_restart_reads_when_it_last_told() -> None:
    """The comment says for which commit and when it was written; one of the future, of another commit, or of one key of two
    does not count."""
    repository = _Repository(_request(7), keys=("a", "b"))
    assert repository.round() == [(7, Done.CREATED)] * 2
    for later in (0, REFRESH - 1):
        repository.restart()
        assert repository.round(later) == [(7, Done.RECENT)]
    assert repository.round(1) == [(7, Done.UNCHANGED)] * 2
    repository.restart()
    repository.now = START - 1
    assert repository.round() == [(7, Done.NEWER)] * 2
    repository.now = START
    repository.restart()
    repository.requests = (_request(7, head="f" * 40),)
    assert repository.round(1) == [(7, Done.UNCHANGED)] * 2
    repository.threads[7].all.pop()
    repository.restart()
    assert sorted(repository.round(1)) == [(7, Done.CREATED), (7, Done.UNCHANGED)]


def test_the_oldest_comment_decides_when_a_restart_asks_again() -> None:
    """Two keys, one of them told 100 s before the other: a refresh after the first, both are made again."""
    repository = _Repository(_request(7), keys=("a", "b"))
    repository.round()
    repository.digest, repository.changed = "d2", frozenset()
    repository.threads[7].all[1] = msgspec.structs.replace(
        repository.threads[7].all[1], body=repository.threads[7].all[1].body.replace(f"order={START}", f"order={START + 100}")
    )
    repository.restart()
    assert repository.round(REFRESH - 1) == [(7, Done.RECENT)]
    assert repository.round(1)[0] == (7, Done.UPDATED)


@pytest.mark.parametrize(
    ("forks", "labels", "done"),
    [
        (Forks.NEVER, (f"preview@{HEAD}",), Done.FORK),
        (Forks.ALWAYS, (), Done.CREATED),
        (Forks.LABEL, (), Done.FORK),
        (Forks.LABEL, ("preview",), Done.FORK),
        (Forks.LABEL, ("other", f"preview@{HEAD}"), Done.CREATED),
        (Forks.LABEL, (f"preview@{HEAD[:12]}",), Done.FORK),
        (Forks.LABEL, (f"preview@{HEAD[:39]}",), Done.FORK),
        (Forks.LABEL, (f"preview@{HEAD[:12]}{'f' * 28}",), Done.FORK),
        (Forks.LABEL, ("preview@",), Done.FORK),
        (Forks.LABEL, (f"look@{HEAD}",), Done.FORK),
    ],
)
def test_forks_need_a_label_for_the_commit(forks: Forks, labels: tuple[str, ...], done: Done) -> None:
    """The whole id of the commit that somebody has looked at; a later push needs another label."""
    repository = _Repository(_request(7, fork=True, labels=labels), _request(8), forks=forks)

    assert repository.round() == [(8, Done.CREATED), (7, done)]
    assert repository.asked == ([8] if done is Done.FORK else [8, 7])


def test_what_is_pushed_between_list_and_fetch_needs_its_own_label() -> None:
    """The host lists the commit that was let in, and the fetch brings the next one: nothing is told about it."""
    repository = _Repository(_request(7, fork=True, labels=(f"preview@{HEAD}",)))
    repository.pushed = "e" * 40
    assert repository.round() == [(7, Done.FORK)]
    assert repository.threads[7].all == []
    repository.requests = (_request(7, fork=True, head="e" * 40, labels=(f"preview@{HEAD}", f"preview@{'e' * 40}")),)
    assert repository.round() == [(7, Done.CREATED)]


def test_what_does_not_reach_the_policies_is_told_where_we_spoke_already() -> None:
    """Nothing is written for a change of other files; a comment that stands is kept up, also after a restart."""
    repository = _Repository(_request(7))
    repository.touched = False
    assert repository.round() == [(7, Done.UNTOUCHED)]
    assert repository.threads[7].all == []
    repository.touched = True
    assert repository.round(REFRESH) == [(7, Done.CREATED)]
    repository.touched, repository.digest = False, "d2"
    assert repository.round(REFRESH) == [(7, Done.UPDATED)]
    repository.restart()
    repository.digest = "d3"
    assert repository.round(REFRESH) == [(7, Done.UPDATED)]


def test_of_several_policies_only_those_that_change_speak() -> None:
    """One that the change does not reach says nothing, unless it has spoken before; a single one always speaks."""
    repository = _Repository(_request(7), keys=("a", "b"))
    repository.changed = frozenset("b")
    assert [(line.key, line.done) for line in repository.previewer.round()] == [("b", Done.CREATED)]
    repository.changed, repository.digest = frozenset(), "d2"
    repository.now += REFRESH
    assert [(line.key, line.done) for line in repository.previewer.round()] == [("b", Done.UPDATED)]
    alone = _Repository(_request(7))
    alone.changed = frozenset()
    assert alone.round() == [(7, Done.CREATED)]


@pytest.mark.parametrize("forks", [Forks.LABEL, Forks.ALWAYS])
def test_forks_do_not_hide_a_member(forks: Forks) -> None:
    """Two thousand pull requests from forks, and one of a member that the host lists last: it comes first."""
    crowd = [_request(number, fork=True) for number in range(1, 2_001)]
    repository = _Repository(*crowd, _request(9_999), forks=forks)
    lines = repository.round()
    assert lines[0] == (9_999, Done.CREATED)
    assert len(lines) == 2_001
    assert repository.said()[0] == ("info", "Created")


def test_what_is_left_out_is_told() -> None:
    """Lists have an end, and so has the rate limit: both are said, never silently."""
    repository = _Repository(*(_request(number, fork=True) for number in range(1, MOST_REQUESTS + 2)))
    assert len(repository.round()) == MOST_REQUESTS
    assert repository.said() == [("warning", "RequestsLeftOut")]
    repository = _Repository(*(_request(number, fork=True) for number in range(1, 2_001)))
    repository.rate = Quota(remaining=110, limit=1000, reset_seconds=START + 60)
    assert repository.round() == []
    assert repository.said() == [("warning", "RequestsLeftOut"), ("warning", "RateLimitSpared")]
    assert "ends after 1,100:" in repository.text.getvalue()


def test_one_that_is_listed_twice_is_looked_at_once() -> None:
    """It moved while the pages were read."""
    repository = _Repository(_request(7), _request(8), _request(7, head="e" * 40))
    assert repository.round() == [(7, Done.CREATED), (8, Done.CREATED)]


def test_forks_take_turns_in_the_time_of_a_round() -> None:
    """A minute each: five of them, then members are looked at again; the next round goes on with those that waited."""
    repository = _Repository(*(_request(number, fork=True) for number in range(1, 9)), _request(20), forks=Forks.ALWAYS)
    repository.seconds = 60
    done = repository.round()
    assert done[:6] == [(20, Done.CREATED), *((number, Done.CREATED) for number in range(1, 6))]
    assert done[6:] == [(number, Done.WAITS) for number in (6, 7, 8)]
    assert repository.said()[-1] == ("warning", "ForksWait")
    assert repository.asked == [20, 1, 2, 3, 4, 5]
    repository.round()
    assert repository.asked[6:9] == [6, 7, 8]


def test_a_slow_one_comes_last_and_more_seldom() -> None:
    """A preview that was cut short is tried again after four refreshes, or with another commit once all others were looked at."""
    repository = _Repository(_request(1), _request(2))
    repository.cut_short = frozenset({1})
    repository.round()
    assert repository.round(REFRESH) == [(2, Done.UNCHANGED), (1, Done.RECENT)]
    assert repository.round(3 * REFRESH - 1)[1] == (1, Done.RECENT)
    assert repository.round(1) == [(2, Done.RECENT), (1, Done.UNCHANGED)]
    repository.cut_short = frozenset()
    repository.requests = (_request(1, head="f" * 40), _request(2, head="f" * 40))
    assert repository.round(1) == [(2, Done.UNCHANGED), (1, Done.UNCHANGED)]
    assert repository.round(REFRESH) == [(1, Done.UNCHANGED), (2, Done.UNCHANGED)]


def test_a_closed_one_is_forgotten() -> None:
    """Opened again, it is read from its comment as after a restart."""
    repository = _Repository(_request(1), _request(2))
    repository.cut_short = frozenset({1})
    repository.round()
    repository.requests = (_request(2),)
    assert repository.round(1) == [(2, Done.RECENT)]
    repository.requests = (_request(1), _request(2))
    assert repository.round(1) == [(1, Done.RECENT), (2, Done.RECENT)]


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (HostError(HostCode.FORBIDDEN, "the token may only read"), ("warning", "Forbidden")),
        (failed(FaultCode.UNREACHABLE, "cannot fetch"), ("warning", "SourceUnreachable")),
        (ValueError("a defect"), ("error", "PreviewBroken")),
    ],
)
def test_what_is_wrong_with_one_stops_no_other(error: Exception, logged: tuple[str, str]) -> None:
    """It is said with its number, tried again in the next round, and the round does not count as failed."""
    repository = _Repository(_request(1), _request(2))
    repository.errors = {1: error}

    assert repository.round() == [(1, Done.FAILED), (2, Done.CREATED)]
    assert repository.said()[0] == logged
    assert json.loads(repository.text.getvalue().splitlines()[0])["pullRequest"] == 1
    assert repository.previewer.failures == 0
    repository.errors = {}
    assert repository.round(1) == [(1, Done.CREATED), (2, Done.RECENT)]


def test_a_defect_says_where_it_was_met() -> None:
    """The function and line, and the commit to try it on: no traceback."""
    repository = _Repository(_request(1))
    repository.errors = {1: ValueError("a defect")}
    repository.round()
    line = json.loads(repository.text.getvalue())
    assert line["message"] == "#1 could not be previewed: ValueError: a defect"
    assert line["where"].startswith("_previews:")
    assert line["inputs"] == HEAD


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HostError(HostCode.RATE_LIMITED, "too many"), "RateLimited"),
        (HostError(HostCode.UNREACHABLE, "gone"), "Unreachable"),
        (PreviewFailedError("the cluster does not answer"), "ClusterUnreadable"),
    ],
)
def test_what_is_wrong_with_the_host_or_the_cluster_ends_the_round(error: Exception, code: str) -> None:
    """The others would meet it as well. Failed rounds are counted until one succeeds."""
    repository = _Repository(_request(1), _request(2))
    repository.errors = {1: error}

    assert (repository.round(), repository.round()) == ([], [])
    assert repository.asked == [1, 1]
    assert repository.said() == [("warning", code)] * 2
    assert repository.previewer.failures == 2
    repository.errors = {}
    assert repository.round() == [(1, Done.CREATED), (2, Done.CREATED)]
    assert repository.previewer.failures == 0
    repository.down = HostError(HostCode.UNREACHABLE, "gone")
    assert repository.round() == []
    assert repository.previewer.failures == 1


@pytest.mark.parametrize(
    ("remaining", "limit", "reset", "pause"),
    [
        (100, 1000, START + 60, 0),
        (99, 1000, START + 60, 60),
        (99, 1000, START - 1, 0),
        (99, 1000, START + LONGEST_WAIT_SECONDS + 1, LONGEST_WAIT_SECONDS),
        (0, 0, START + 60, 0),
    ],
)
def test_a_tenth_of_the_rate_limit_is_left_for_others(remaining: int, limit: int, reset: int, pause: int) -> None:
    """Below it nothing is asked until the reset, and no longer than an hour."""
    assert LONGEST_WAIT_SECONDS == 3600
    repository = _Repository(_request(1))
    assert repository.previewer.pause_seconds() == 0
    repository.rate = Quota(remaining=remaining, limit=limit, reset_seconds=reset)

    assert repository.round() == ([] if pause else [(1, Done.CREATED)])
    assert repository.previewer.pause_seconds() == pause
    assert repository.said() == [("warning", "RateLimitSpared") if pause else ("info", "Created")]


def test_a_round_ends_when_the_reserve_is_reached() -> None:
    """The rest waits for the next round."""
    repository = _Repository(_request(1), _request(2))
    repository.rate, repository.spent = Quota(remaining=101, limit=1000, reset_seconds=START + 60), 2

    assert repository.round() == [(1, Done.CREATED)]
    repository.rate = Quota(remaining=1000, limit=1000, reset_seconds=START + 60)
    assert repository.round(60) == [(1, Done.RECENT), (2, Done.CREATED)]
