"""The policy in force, followed from its source: the last good one, whatever happens there. Failures change nothing."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import msgspec

from reconciler.control.policy.policy_in_force import PolicyInForce
from reconciler.gitops.sources.acceptance import accepted, restored
from reconciler.gitops.sources.bounded_tree import BoundedTreeReader, TreeReader
from reconciler.gitops.sources.last_good import LastGood, LastGoodStore
from reconciler.gitops.sources.source import Fetched, Source
from reconciler.gitops.sources.standing import SourceEvent, Standing
from reconciler.policy.documents import PolicySet
from reconciler.policy.neighbours import InForce, Neighbour, UnreadFile
from reconciler.rendering.words.wording import count

_MOST_NAMED = 20


class FollowedPolicy(PolicyInForce):
    """A `PolicySource` over trees of files. History and groups are always judged against what was really in force."""

    def __init__(
        self,
        source: Source,
        store: LastGoodStore,
        clock: Callable[[], int],
        *,
        name: str | None = None,
        allow_no_groups: bool = False,
        tell: Callable[[SourceEvent], None] | None = None,
        read: TreeReader | None = None,
    ) -> None:
        """`clock` gives Unix time in whole seconds; `name` chooses one of several policies; `tell` is given what happens. `read`
        reads trees, without it in a child process with bounds."""
        super().__init__(source.name, store, clock, tell)
        self._source = source
        self._name = name
        self._read = read or BoundedTreeReader()
        self._allow_no_groups = allow_no_groups
        self._last_good: LastGood | None = None
        self._unread: tuple[UnreadFile, ...] = ()
        self._neighbours: tuple[str, ...] = ()
        self._not_approved: frozenset[str] = frozenset()

    def _look(self, now_seconds: int) -> tuple[str, str]:
        known = self._last_good
        # The history of another repository, branch or place tells nothing about this one.
        revision = known.revision if known is not None and known.source == self._source.name else None
        fetched = self._source.fetch(revision, known.read_seconds if known is not None and revision is not None else 0)
        files = known.files if known is not None else None
        taken = self._policy is not None and revision == fetched.revision and files == fetched.files
        if not taken or fetched.problems or fetched.unread != self._unread:
            judged = accepted(
                fetched, self._source.name, self._name, now_seconds, self._policy, self._read,
                allow_no_groups=self._allow_no_groups, in_force=self._in_force(known) if revision is not None else None,
            )  # fmt: skip
            self._take(judged.policy, judged.last_good)
            self._last_good, self._unread = judged.last_good, fetched.unread
            self._tell_neighbours(judged.neighbours)
        self._allow(fetched)
        return fetched.revision, fetched.signer

    def _in_force(self, known: LastGood | None) -> InForce | None:
        return InForce.after((self._policy,), known.unread) if known is not None and self._policy is not None else None

    def _tell_neighbours(self, neighbours: tuple[Neighbour, ...]) -> None:
        """Once per set of them: other files next to the policies are not an error, but somebody may have meant one as a
        policy."""
        paths = tuple(dict.fromkeys(one.path for one in neighbours))
        if paths and paths != self._neighbours:
            shown = ", ".join(paths[:_MOST_NAMED]) + (f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else "")
            message = f"{count(len(paths), 'file')} next to the policies skipped: {shown}"
            self._tell(SourceEvent(type="Normal", reason="NeighboursSkipped", message=message))
        self._neighbours = paths

    def _allow(self, fetched: Fetched) -> None:
        """The approvals of now belong to the policy in force, however long it has been."""
        if self._policy is not None and self._policy.approvals != fetched.approvals:
            self._policy = msgspec.structs.replace(self._policy, approvals=fetched.approvals)
        for sentence in fetched.not_approved:
            if sentence not in self._not_approved:
                self._tell(SourceEvent(type="Warning", reason="ApprovalRefused", message=sentence))
        self._not_approved = frozenset(fetched.not_approved)

    def _read_again(self, kept: LastGood) -> PolicySet:
        # Also where it cannot be read any more: the history goes on from its revision.
        self._last_good = kept
        return restored(kept, self._name, self._read)


class Polled(Protocol):
    """What a watch looks at."""

    @property
    def standing(self) -> Standing:
        """How the source stands."""

    def poll(self) -> bool:
        """Look once; whether another policy is in force now."""


class SourceWatch:
    """Polls on a thread of its own, at the interval and whenever `notify` is called. `changed` is called after a poll that
    brought another policy into force, `broken` with what a poll or `changed` raised: the thread goes on."""

    def __init__(
        self,
        policy: Polled,
        wait_seconds: Callable[[Standing], float],
        changed: Callable[[], None],
        broken: Callable[[Exception], None],
    ) -> None:
        """`wait_seconds` gives the time to the next poll (see `gitops/polling.py`, randomness included)."""
        self._policy = policy
        self._wait_seconds = wait_seconds
        self._changed = changed
        self._broken = broken
        self._due = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="policy-source", daemon=True)

    def start(self) -> None:
        """Begin; the first poll is at once."""
        self._thread.start()

    def notify(self) -> None:
        """Look soon: somebody says that there is something new. Cheap, from any thread; many calls make one poll."""
        self._due.set()

    def stop(self, patience_seconds: float | None = None) -> None:
        """End after a poll that is going on, or when it has taken longer than that."""
        self._stopped = True
        self._due.set()
        if self._thread.ident is not None:
            self._thread.join(patience_seconds)

    def _run(self) -> None:
        while not self._stopped:
            self._due.clear()
            try:
                if self._policy.poll():
                    self._changed()
            except Exception as error:
                # Without this thread the policy in force would stay for ever while the process looks alive.
                with suppress(Exception):
                    self._broken(error)
            self._due.wait(self._wait_seconds(self._policy.standing))
