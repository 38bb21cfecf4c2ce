"""The providers of one live process: for its own policy, and for those that it takes over from."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.control.live.target_marks import FormerPolicy
from reconciler.kube.connection.api import Api
from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.providers.contract import (
    TargetProvider,
)
from reconciler.providers.live_platforms import Surroundings, providers


class LiveProviders:
    """Made of connections that write while the process leads: one to the cluster whose nodes are drained, and what platforms are
    given to work with."""

    def __init__(self, workload: Api, surroundings: Surroundings) -> None:
        self._workload = workload
        self._surroundings = surroundings

    def of(self, policy: str) -> Mapping[str, TargetProvider]:
        """Providers by kind of target, whose marks name this policy."""
        return providers(msgspec.structs.replace(self._surroundings, owner=policy))

    def former(self, ended: EndedPolicies, now_seconds: Callable[[], int]) -> Callable[[str], FormerPolicy | None]:
        """What takes back the marks of a policy by its name; None while it has not ended."""

        def of(policy: str) -> FormerPolicy | None:
            if not ended.ended(policy):
                return None
            return FormerPolicy(self.of(policy), NodeDrain(self._workload, policy, now_seconds))

        return of
