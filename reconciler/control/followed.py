"""A policy that is followed from git, a directory or a file, as the live loop takes it: only the leader looks, and keeps the
last good one."""

from collections.abc import Callable
from typing import Protocol

from reconciler.control.policy_source import SourceWatch
from reconciler.gitops.standing import Standing
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

    What is in force is saved before it is used, and only the leader may save: a process that stands by does not look. One that
    leads again begins anew (`follow` makes another one), since another instance may have saved a newer policy.
    `wait_seconds`, given how many looks failed in a row, says when to look again; `looked` is told how the source stands after
    every look.
    """

    def __init__(
        self,
        follow: Callable[[], Followed],
        leads: Callable[[], bool],
        wait_seconds: Callable[[int], float],
        looked: Callable[[Standing], None] = lambda _: None,
    ) -> None:
        self._follow = follow
        self._leads = leads
        self._led = True
        self._looked = looked
        self._policy = follow()
        self._changed: Callable[[], None] = lambda: None
        self._watch = SourceWatch(self, lambda standing: wait_seconds(standing.failures), self._tell)

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` unless `missing` is empty."""
        return self._policy.current()

    def missing(self) -> str:
        """Why there is none, in a sentence."""
        policy = self._policy
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
        if not self._leads():
            self._led = False
            return False
        if not self._led:
            self._led, self._policy = True, self._follow()
        changed = self._policy.poll()
        self._looked(self._policy.standing)
        return changed

    def start(self, changed: Callable[[], None]) -> None:
        """Look from now on; `changed` is called when another policy is in force."""
        self._changed = changed
        self._watch.start()

    def _tell(self) -> None:
        self._changed()

    def notify(self) -> None:
        """Look soon."""
        self._watch.notify()

    def stop(self) -> None:
        """Look no more."""
        self._watch.stop(PATIENCE_SECONDS)
