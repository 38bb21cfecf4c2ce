"""A policy with its mode replaced by Observe."""

from typing import Protocol

import msgspec

from reconciler.policy.documents import Mode, PolicySet


class Policies(Protocol):
    """Where the policy in force comes from."""

    def current(self) -> PolicySet:
        """The policy in force."""


class ObservingPolicy:
    """What a process that only reads decides by: the plan is the same, and says that nothing is written."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    def current(self) -> PolicySet:
        """The policy in force, with mode Observe."""
        policy_set = self._policies.current()
        return msgspec.structs.replace(policy_set, policy=msgspec.structs.replace(policy_set.policy, mode=Mode.OBSERVE))
