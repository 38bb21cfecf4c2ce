"""A policy that is followed from git or a directory, as the live loop takes it: only the leader keeps the last good one."""

from collections.abc import Callable

from reconciler.control.policy_source import FollowedPolicy
from reconciler.gitops.standing import Standing
from reconciler.policy.documents import PolicySet


class FollowedSource:
    """The `Source` of a live process over a `FollowedPolicy`. A process that stands by does not look: what is in force is
    saved before it is used, and only the leader may save."""

    def __init__(self, policy: FollowedPolicy, leads: Callable[[], bool]) -> None:
        self._policy = policy
        self.leads = leads

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` unless `missing` is empty."""
        return self._policy.current()

    def missing(self) -> str:
        """Why there is none, in a sentence."""
        if self._policy.ready:
            return ""
        fault = self._policy.standing.fault
        return fault.sentence if fault is not None else f"{self._policy.standing.source} was not read yet"

    @property
    def standing(self) -> Standing:
        """How the source stands."""
        return self._policy.standing

    def poll(self) -> bool:
        """Look, if this process leads; whether another policy is in force now."""
        return self.leads() and self._policy.poll()
