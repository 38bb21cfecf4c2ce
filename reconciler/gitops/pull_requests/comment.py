"""One comment for one cluster on a pull request: found by a hidden marker, written, updated, or left alone.

SOURCE: the marker is an HTML comment in the first line, where cutting a text short cannot lose it. GitHub accepts 65,536
characters, and answers 422 if there are more. Hosts let people with the right permissions edit the comments of others, so the
author counts too.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol
from urllib.parse import quote, unquote

import msgspec

from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT, length

_STAMP = re.compile(r"<!-- reconciler-stamp digest=(\S+) head=(\S*)(?: base=([0-9a-f]*))? order=(\d{1,18}) -->")
_MOST_FOOT = 1000
_TOO_LONG = "\n\n<sub>This comment was too long and ends here. The log of the job has the whole preview.</sub>\n"
MOST_AHEAD = 10**12
"""How far beyond ours the order of a comment may be. Another workflow may write with the same login and any claim. So an order
from the far future, 10^9 runs of the host from now, does not count."""
STAMP_ROOM = 400
"""The most characters of marker and stamp; the text above them gets the rest."""


class HostCode(StrEnum):
    """Why a host did not do it. Pull requests from forks get Forbidden: their token may only read."""

    FORBIDDEN = "Forbidden"
    NOT_FOUND = "NotFound"
    TOO_LONG = "TooLong"
    REFUSED = "Refused"
    RATE_LIMITED = "RateLimited"
    UNREACHABLE = "Unreachable"


class HostError(Exception):
    """A call that a host refused or did not answer."""

    def __init__(self, code: HostCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def silence_words(error: Exception) -> str:
    """Why no answer came, in a few words; the exception of the client has a name that says nothing to readers."""
    import requests  # noqa: PLC0415 - only where a host is asked

    kinds = (
        (requests.exceptions.Timeout, "no answer in time"),
        (requests.exceptions.SSLError, "its certificate cannot be verified"),
        (requests.exceptions.ProxyError, "the proxy does not connect"),
        (requests.exceptions.RetryError, "it failed on each retry"),
        (requests.exceptions.ConnectionError, "no connection"),
    )
    return next((words for kind, words in kinds if isinstance(error, kind)), "the request cannot be sent or its answer read")


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """One comment on the host; `author` is a login, `url` its page."""

    id: int
    author: str
    body: str
    url: str


class CommitStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit, or its pull request, is marked with. `context` names the cluster, `description` is one line. `failed`: the
    change cannot be used, or its policy tests fail. `url` is the page of our comment, or empty."""

    commit: str
    context: str
    description: str
    failed: bool
    url: str = ""


class Approvals(msgspec.Struct, frozen=True, kw_only=True):
    """Who approves the head of a pull request as it is. `names` are names of people, in lower case, and those teams `@group/team`
    that were asked about and have one of these people. `caveat` is a sentence about what the host does not tell, or empty."""

    names: frozenset[str] = frozenset()
    caveat: str = ""


def with_teams(people: Iterable[str], teams: Iterable[str], members: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """The people, and the teams that have one of them. `members` gets `group/team`. Raises `HostError` for a team that the token
    does not see: whoever is on it may be the one who is missing."""
    found = {name.casefold() for name in people if name}
    if not found:
        return frozenset()
    for team in teams:
        try:
            there = {name.casefold() for name in members(team[1:])}
        except HostError as error:
            if error.code not in (HostCode.FORBIDDEN, HostCode.NOT_FOUND):
                raise
            raise HostError(error.code, f"the team {team} does not exist, or the token may not see its members") from None
        if there & found:
            found.add(team.casefold())
    return frozenset(found)


def as_is(text: str) -> str:
    """For hosts that keep a text as it was sent."""
    return text


class CommentHost(Protocol):
    """The comments of one pull request, the status of its commit, and its approvals. Everything may raise `HostError`. A comment
    has at most `limit` UTF-16 units. `shown` is the form in which the host keeps the text of one, marker and stamp apart."""

    limit: int

    @property
    def shown(self) -> Callable[[str], str]:
        """See above."""

    def author(self) -> str:
        """The login with which we write."""

    def comments(self) -> Iterator[Comment]:
        """All comments, the oldest first."""

    def create(self, body: str) -> Comment:
        """Write a new one."""

    def update(self, comment: Comment, body: str) -> Comment:
        """Replace the text of one."""

    def delete(self, comment: Comment) -> None:
        """Delete one."""

    def set_status(self, status: CommitStatus) -> None:
        """Set the status, or replace the one of the same context."""

    def approvals(self, head: str, teams: Sequence[str]) -> Approvals:
        """Who approves the commit `head`. The author does not count, nor does an approval that was withdrawn, dismissed or given
        to an earlier commit. `teams` are those to ask about."""


class Posted(StrEnum):
    """What was done."""

    CREATED = "Created"
    UPDATED = "Updated"
    UNCHANGED = "Unchanged"
    NEWER = "NewerIsThere"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for the comment, and its address."""

    posted: Posted
    url: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a comment. `key` names the cluster (and policy). `digest` is over the text. `head` is the commit, and `base`
    is what it was compared with (see `base_stamp`). `order` grows with time, so that a slow run does not overwrite the text of a
    later one."""

    key: str
    digest: str
    head: str
    order: int
    markdown: str
    base: str = ""


def base_stamp(name: str, content: str) -> str:
    """The base of the comparison, in the stamp's form: its name, and the id of the policies there."""
    return hashlib.sha256(f"{name}\0{content}".encode()).hexdigest()[:32]


def marker(key: str) -> str:
    """The first line: no character of the key can end it."""
    return f"<!-- reconciler-preview {quote(key, safe='')} -->"


def body(message: Message, limit: int = GITHUB_LIMIT) -> str:
    """Marker, stamp and text within `limit` UTF-16 units.

    The text is rendered for the available room, with details dropped in its own order. If it is still longer, it is cut at a
    line.
    """
    base = f" base={message.base}" if message.base else ""
    facts = f"digest={quote(message.digest, safe=':')} head={quote(message.head)}{base} order={message.order}"
    stamp = f"<!-- reconciler-stamp {facts} -->"
    top = f"{marker(message.key)}\n{stamp}\n"
    room = limit - length(top)
    return top + (message.markdown if length(message.markdown) <= room else _cut(message.markdown, room))


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What our comment about one key records: see `Message`. All empty if somebody edited its second line away."""

    digest: str = ""
    head: str = ""
    base: str = ""
    order: int = 0


def standing(host: CommentHost, key: str) -> Standing | None:
    """What we last wrote about `key`; None if we have not. Raises `HostError`."""
    ours = _ours(host.comments(), host.author(), marker(key))
    if not ours:
        return None
    stamp = _STAMP.search(ours[0].body.partition("\n")[2].partition("\n")[0])
    if stamp is None:
        return Standing()
    return Standing(digest=unquote(stamp[1]), head=unquote(stamp[2]), base=stamp[3] or "", order=int(stamp[4]))


def post(host: CommentHost, message: Message) -> Outcome:
    """Bring the pull request to exactly one comment of ours about `message.key`. Raises `HostError`."""
    us, text = host.author(), body(message, host.limit)
    ours = _ours(host.comments(), us, marker(message.key))
    if not ours:
        return Outcome(posted=Posted.CREATED, url=host.create(text).url)
    first, *others = ours
    newest = max(_stamp(comment.body)[2] for comment in ours)
    if message.order < newest <= message.order + MOST_AHEAD:
        return Outcome(posted=Posted.NEWER, url=first.url)
    # Two concurrent runs may each have found none and written one.
    for comment in others:
        host.delete(comment)
    # The digest alone may have been copied onto another text. With another base, the footer names the commit.
    same = _stamp(first.body)[:2] == (quote(message.digest, safe=":"), message.base)
    if same and _compared_lines(first.body) == _compared_lines(host.shown(text)):
        return Outcome(posted=Posted.UNCHANGED, url=first.url)
    return Outcome(posted=Posted.UPDATED, url=host.update(first, text).url)


def _ours(comments: Iterable[Comment], us: str, mark: str) -> list[Comment]:
    return [comment for comment in comments if comment.author == us and comment.body.partition("\n")[0].strip() == mark]


def _compared_lines(text: str) -> list[str]:
    """The lines below marker and stamp, in the form that hosts keep; of a footer, which names commits, only whether it exists."""
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()][2:]
    if lines and lines[-1].startswith("<sub>") and len(lines[-1]) <= _MOST_FOOT:
        lines[-1] = "<sub>"
    return lines


def _stamp(text: str) -> tuple[str, str, int]:
    """Digest, base and order of a comment of ours; empty if somebody has edited them away."""
    stamp = _STAMP.search(text.partition("\n")[2].partition("\n")[0])
    return (stamp[1], stamp[3] or "", int(stamp[4])) if stamp else ("", "", 0)


def _cut(markdown: str, room: int) -> str:
    """As many whole lines from the start as fit, with open fences and folds closed."""
    kept: list[str] = []
    closing, fence, folds = "", "", 0
    left = room - length(_TOO_LONG)
    for line in markdown.splitlines(keepends=True):
        opened = re.match("`{3,}", line)
        if fence:
            fence = "" if line.rstrip() == fence else fence
        elif opened:
            fence = opened[0]
        else:
            folds += line.count("<details>") - line.count("</details>")
        then = (f"\n{fence}\n" if fence else "") + "\n</details>" * max(0, folds)
        left -= length(line)
        if left < length(then):
            break
        kept.append(line)
        closing = then
    return "".join(kept) + closing + _TOO_LONG
