"""Open pull requests, each previewed and told in a comment: round after round, without any state but these comments.

A marker lets the previewer find its own comment on a pull request. The marker also contains the commit and the time of writing,
so that a restarted previewer writes nothing twice. A comment is left alone while its content has not changed.
"""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from reconciler.control.log import Log
from reconciler.gitops.git.fault import SourceError
from reconciler.gitops.git.tree_names import object_id
from reconciler.gitops.pull_requests.comment import CommentHost, HostCode, HostError, Message, Posted, Standing, post, standing
from reconciler.gitops.pull_requests.open_requests import MOST_REQUESTS, PAGE_REQUESTS, OpenRequest, Quota, RequestHost
from reconciler.rendering.words.wording import count

RESERVE_PERMILLE = 100
"""The part of a host's rate limit that is left for others: below it a round ends, and the next waits for the reset."""
LONGEST_WAIT_SECONDS = 3600
SLOW_REFRESHES = 4
FORK_SECONDS = 300
"""Time of a round that pull requests from forks may take, all together: then the others are looked at again."""


class Forks(StrEnum):
    """Which pull requests from forks are previewed: what a preview tells of the cluster is read by whoever reads the comment."""

    LABEL = "label"
    ALWAYS = "always"
    NEVER = "never"


class Done(StrEnum):
    """What became of one pull request in a round."""

    CREATED = "Created"
    UPDATED = "Updated"
    UNCHANGED = "Unchanged"
    NEWER = "NewerIsThere"
    RECENT = "Recent"
    UNTOUCHED = "Untouched"
    FORK = "ForkNotAllowed"
    WAITS = "WaitsForNextRound"
    FAILED = "Failed"


_POSTED = {
    Posted.CREATED: Done.CREATED,
    Posted.UPDATED: Done.UPDATED,
    Posted.UNCHANGED: Done.UNCHANGED,
    Posted.NEWER: Done.NEWER,
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`branch` is where pull requests go. `keys` name the comments: one per cluster, or one per policy of it. A preview is made
    again `refresh_seconds` after the last one, since demand moves while a pull request is open. `order` is that of the job which
    runs one round (None: the clock). It previews everything again, and its comments are ordered among those of other jobs."""

    branch: str
    keys: tuple[str, ...]
    refresh_seconds: int
    forks: Forks
    fork_label: str
    order: int | None = None


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told under one key about one commit (see `Message`). `changed`: it is more than that nothing differs.
    `cut_short`: the preview took more than one may take, which is what is told."""

    key: str
    digest: str
    head: str
    summary: str
    changed: bool
    markdown: str
    cut_short: bool


class Previews(msgspec.Struct, frozen=True, kw_only=True):
    """`head` is the commit that was previewed. `touched`: whether the change reaches the policies at all; one that does not is
    told only where a comment of ours stands already."""

    head: str
    touched: bool
    tellings: Callable[[], Sequence[Telling]]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One comment, or one pull request that was passed over. `url` where it can be read, `summary` what it says."""

    number: int
    done: Done
    key: str = ""
    url: str = ""
    summary: str = ""


class _Seen(msgspec.Struct, frozen=True):
    head: str
    base: str
    at_seconds: int


class Previewer:
    """`connect` gives the host, again in each round since tokens rotate. `previews` makes the previews of one pull request,
    `base` says what they are compared with now (see `base_stamp`): where that moves, they are made again. Both may raise
    `SourceError` for what cannot be fetched, and `previews` may raise `PreviewFailedError` for a cluster that cannot be read."""

    def __init__(
        self,
        settings: Settings,
        connect: Callable[[], RequestHost],
        previews: Callable[[OpenRequest], Previews],
        base: Callable[[], str],
        now_seconds: Callable[[], int],
        log: Log,
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._previews = previews
        self._base_now = base
        self._base = ""
        self._now_seconds = now_seconds
        self._log = log
        self._seen: dict[int, _Seen] = {}
        self._slow: set[int] = set()
        self.failures = 0
        """Rounds that failed one after the other."""
        self.quota: Quota | None = None
        """The rate limit in the host's last answer."""

    def round(self) -> tuple[Line, ...]:
        """Look at every open pull request once; never raises for what host, repository and cluster do."""
        lines: list[Line] = []
        try:
            host = self._connect()
            requests = self._listed(host)
            self._seen = {number: seen for number, seen in self._seen.items() if number in requests}
            self._slow &= set(requests)
            self.quota = host.quota()
            if requests:
                self._base = self._current_base()
            forks_until = None
            for request in sorted(requests.values(), key=self._turn):
                if self.pause_seconds():
                    self._log.warning("RateLimitSpared", "the rest of the pull requests waits for the host's rate limit")
                    break
                if request.fork and forks_until is None:
                    forks_until = self._now_seconds() + FORK_SECONDS
                if forks_until is not None and self._now_seconds() >= forks_until and self._allowed(request):
                    lines.append(Line(number=request.number, done=Done.WAITS))
                    continue
                lines += self._one(host, request)
                self.quota = host.quota()
            waiting = sum(line.done is Done.WAITS for line in lines)
            if waiting:
                self._log.warning(
                    "ForksWait", f"{count(waiting, 'pull request')} from forks wait for the next round", waiting=waiting
                )
        except HostError as error:
            self.failures += 1
            self._log.warning(error.code, str(error))
        except PreviewFailedError as error:
            self.failures += 1
            self._log.warning("ClusterUnreadable", str(error))
        else:
            self.failures = 0
        return tuple(lines)

    def _current_base(self) -> str:
        """As it was, if the repository does not answer. Each pull request reports what that means for it."""
        try:
            return self._base_now()
        except SourceError as error:
            self._log.warning(error.fault.code, str(error))
            return self._base

    def pause_seconds(self) -> int:
        """How long to ask nothing, so that the reserve is kept; 0: go on."""
        quota = self.quota
        if quota is None or quota.remaining * 1000 >= quota.limit * RESERVE_PERMILLE:
            return 0
        return min(max(quota.reset_seconds - self._now_seconds(), 0), LONGEST_WAIT_SECONDS)

    def _listed(self, host: RequestHost) -> dict[int, OpenRequest]:
        """By number. What is left out is told: who it is cannot be known without asking for it."""
        requests: dict[int, OpenRequest] = {}
        for request in host.open_requests(self._settings.branch):
            if len(requests) == MOST_REQUESTS:
                why = f"more than {MOST_REQUESTS:,} pull requests are open: those that moved least recently are not looked at"
                self._log.warning("RequestsLeftOut", why, looked_at=MOST_REQUESTS)
                break
            requests.setdefault(request.number, request)
            if len(requests) % PAGE_REQUESTS == 0:
                self.quota = host.quota()
                if self.pause_seconds():
                    why = f"the list of open pull requests ends after {len(requests):,}: the host's rate limit is spared"
                    self._log.warning("RequestsLeftOut", why, looked_at=len(requests))
                    break
        return requests

    def _turn(self, request: OpenRequest) -> tuple[bool, bool, int, int]:
        """Members come first. A pull request that took too long waits until all others of its kind have been looked at, whatever
        is pushed to it. Of forks, the one that was looked at longest ago comes first."""
        seen = self._seen.get(request.number) if request.fork else None
        return request.fork, request.number in self._slow, seen.at_seconds if seen is not None else 0, request.number

    def _one(self, host: RequestHost, request: OpenRequest) -> list[Line]:
        """The lines of one; what is wrong with it alone stops no other."""
        if request.fork and not self._allowed(request):
            return [Line(number=request.number, done=Done.FORK)]
        seen = self._seen.get(request.number)
        if seen is not None and self._recent(seen.head, seen.base, seen.at_seconds, request):
            return [Line(number=request.number, done=Done.RECENT)]
        try:
            return self._preview_lines(host, request, restarted=seen is None)
        except HostError as error:
            if error.code in (HostCode.RATE_LIMITED, HostCode.UNREACHABLE):
                raise
            self._log.warning(error.code, str(error), pullRequest=request.number)
        except SourceError as error:
            self._log.warning(error.fault.code, str(error), pullRequest=request.number)
        except PreviewFailedError:
            raise
        except Exception as error:
            # A defect that one pull request meets must not keep the others without their previews.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            message = f"#{request.number} could not be previewed: {type(error).__name__}: {error}"
            where = f"{frame.name}:{frame.lineno}"
            self._log.error("PreviewBroken", message, pullRequest=request.number, where=where, inputs=request.head)
        return [Line(number=request.number, done=Done.FAILED)]

    def _preview_lines(self, host: RequestHost, request: OpenRequest, *, restarted: bool) -> list[Line]:
        comments = host.comments(request.number)
        there: dict[str, Standing] = {}
        if restarted:
            entries = ((key, standing(comments, key)) for key in self._settings.keys)
            there = {key: stand for key, stand in entries if stand is not None}
            if len(there) == len(self._settings.keys) and all(self._stands(stand, request) for stand in there.values()):
                self._seen[request.number] = _Seen(request.head, self._base, min(stand.order for stand in there.values()))
                return [Line(number=request.number, done=Done.RECENT)]
        now = self._now_seconds()
        previews = self._previews(request)
        if request.fork and not self._allowed(msgspec.structs.replace(request, head=previews.head)):
            # Pushed since the host listed it: nobody has let that commit in.
            return [Line(number=request.number, done=Done.FORK)]
        lines: list[Line] = []
        wanted = self._settings.keys if previews.touched else tuple(self._standing(comments, there, restarted=restarted))
        tellings = previews.tellings() if wanted else ()
        (self._slow.add if any(telling.cut_short for telling in tellings) else self._slow.discard)(request.number)
        for telling in tellings:
            # Of several policies, those that the change does not reach say nothing, unless they have spoken before.
            silent = not telling.changed and len(self._settings.keys) > 1
            if telling.key not in wanted or (silent and standing(comments, telling.key) is None):
                continue
            message = Message(
                key=telling.key, digest=telling.digest, head=telling.head, base=self._base,
                order=now if self._settings.order is None else self._settings.order, markdown=telling.markdown,
            )  # fmt: skip
            outcome = post(comments, message)
            done = _POSTED[outcome.posted]
            if done is not Done.UNCHANGED:
                self._log.info(done, telling.summary, pullRequest=request.number, key=telling.key, url=outcome.url)
            lines.append(Line(number=request.number, done=done, key=telling.key, url=outcome.url, summary=telling.summary))
        lines = lines or [Line(number=request.number, done=Done.UNTOUCHED)]
        # The same commit takes as long the next time: it is tried again more seldom.
        later = (SLOW_REFRESHES - 1) * self._settings.refresh_seconds if request.number in self._slow else 0
        self._seen[request.number] = _Seen(request.head, self._base, now + later)
        return lines

    def _standing(self, comments: CommentHost, there: Mapping[str, Standing], *, restarted: bool) -> Iterable[str]:
        """The keys under which a comment of ours stands; those of `there` were asked for already."""
        if restarted:
            return there
        return [key for key in self._settings.keys if standing(comments, key) is not None]

    def _recent(self, head: str, base: str, at_seconds: int, request: OpenRequest) -> bool:
        """Of a slow one `at_seconds` lies ahead, so that it is tried again more seldom."""
        if self._settings.order is not None:
            return False
        return (head, base) == (request.head, self._base) and self._now_seconds() - at_seconds < self._settings.refresh_seconds

    def _stands(self, stand: Standing, request: OpenRequest) -> bool:
        """Whether a comment is recent. What it says of itself may be forged: nothing was told in the future."""
        return stand.order <= self._now_seconds() and self._recent(stand.head, stand.base, stand.order, request)

    def _allowed(self, request: OpenRequest) -> bool:
        forks = self._settings.forks
        return forks is Forks.ALWAYS or (forks is Forks.LABEL and any(self._names(label, request) for label in request.labels))

    def _names(self, label: str, request: OpenRequest) -> bool:
        """`preview@` and a whole id: the label is for the commit that somebody has looked at, not for what is pushed later.
        Another commit with the same first twelve digits is found within minutes."""
        name, _, commit = label.rpartition("@")
        return name == self._settings.fork_label and object_id(commit) is not None and request.head == commit


class PreviewFailedError(Exception):
    """Nothing can be previewed now; the sentence says why."""
