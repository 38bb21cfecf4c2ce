"""A source of policy that is read again and again: git, a directory or a file. Only the leader reads it and stores the last good
policy.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from reconciler.control.policy.policy_source import SourceWatch
from reconciler.gitops.sources.standing import SourceEvent, Standing
from reconciler.policy.documents import PolicySet

PATIENCE_SECONDS = 2.0
"""A fetch that is under way when the process ends gets so long; what it brings may not be saved any more."""


class Followed(Protocol):
    """What is followed: a `FollowedPolicy`, or custom resources in the same way."""

    @property
    def ready(self) -> bool:
        """Whether there is a policy to decide by."""

    @property
    def standing(self) -> Standing:
        """How the source stands."""

    def current(self) -> PolicySet:
        """The policy in force."""

    def poll(self) -> bool:
        """Look once; whether another policy is in force now."""


class FollowedSource:
    """The `Source` of a live process over something `Followed`.

    What is in force is saved before it is used, and only the leader may save: a standby process does not look. One that leads
    again begins again (`follow` makes another one), since another instance may have saved a newer policy. Until it has looked, it
    has no policy. `term` is the number of the time that this process leads, 0 while it does not. `wait_seconds`, given how many
    looks failed in a row, says when to look again. After every look, `looked` are given the state of the source, and `tell` what
    happens to them. If one of them fails, the others and the looking go on.
    """

    def __init__(
        self,
        follow: Callable[[], Followed],
        term: Callable[[], int],
        wait_seconds: Callable[[int], float],
        looked: Sequence[Callable[[Standing], None]] = (),
        tell: Callable[[SourceEvent], None] = lambda _: None,
    ) -> None:
        self._follow = follow
        self._term = term
        self._read_in: int | None = None
        self._looked = looked
        self._say = tell
        self._reported = ""
        self._policy = follow()
        self._changed: Callable[[], None] = lambda: None
        self._watch = SourceWatch(self, lambda standing: wait_seconds(standing.failures), self._tell, self._broke)

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` unless `missing` is empty."""
        return self._policy.current()

    def missing(self) -> str:
        """Why there is none, in a sentence."""
        policy, term = self._policy, self._term()
        if term and self._read_in is not None and term != self._read_in:
            return f"{policy.standing.source} is read again, since another instance may have led"
        if policy.ready:
            return ""
        fault = policy.standing.fault
        return fault.sentence if fault is not None else f"{policy.standing.source} was not read yet"

    @property
    def standing(self) -> Standing:
        """How the source stands."""
        return self._policy.standing

    def poll(self) -> bool:
        """Look, if this process leads; whether another policy is in force now."""
        term = self._term()
        if not term:
            self._read_in = 0
            return False
        policy = self._policy if self._read_in in (None, term) else self._follow()
        changed = policy.poll()
        # A turn that is under way keeps what it has until there is something else; one that begins sees in `missing` what it is.
        self._policy, self._read_in = policy, term
        broken: Exception | None = None
        for looked in self._looked:
            try:
                looked(self._policy.standing)
            except Exception as error:
                # What tells of a look may fail: the policy that it brought is in force all the same.
                broken = error
        if broken is not None:
            self._broke(broken)
        else:
            self._reported = ""
        return changed

    def start(self, changed: Callable[[], None]) -> None:
        """Look from now on; `changed` is called when another policy is in force."""
        self._changed = changed
        self._watch.start()

    def _tell(self) -> None:
        self._changed()

    def _broke(self, error: Exception) -> None:
        """Once, until something else breaks or nothing does."""
        message = f"the work after a look at {self._policy.standing.source} ended by a defect: {type(error).__name__}: {error}"
        if message != self._reported:
            self._reported = message
            self._say(SourceEvent(type="Warning", reason="LookBroken", message=message))

    def notify(self) -> None:
        """Look soon."""
        self._watch.notify()

    def stop(self) -> None:
        """Look no more."""
        self._watch.stop(PATIENCE_SECONDS)
