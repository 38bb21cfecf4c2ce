"""The providers of one live process, for its own policy and for those that it takes over from."""

from collections.abc import Callable, Mapping

from reconciler.cluster.target import TargetKind, TargetRef
from reconciler.control.live.left_marks import FormerPolicy
from reconciler.kube.connection.api import Api
from reconciler.kube.draining.drain import NodeDrain
from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.providers.clusterapi import ClusterApiProvider
from reconciler.providers.clusterapi_resource import ClusterApiVersion
from reconciler.providers.contract import TargetProvider

_KINDS = (TargetKind.MACHINE_DEPLOYMENT, TargetKind.MACHINE_SET, TargetKind.MACHINE_POOL)


class LiveProviders:
    """Made of connections that write while the process leads: one to the cluster whose nodes are drained, one to that of the
    targets."""

    def __init__(
        self,
        workload: Api,
        management: Api,
        version: ClusterApiVersion,
        platform_chooses: Callable[[TargetRef], bool] = lambda _: False,
    ) -> None:
        """`platform_chooses` as `ClusterApiProvider` asks it."""
        self._workload = workload
        self._management = management
        self._version = version
        self._platform_chooses = platform_chooses

    def of(self, policy: str) -> Mapping[TargetKind, TargetProvider]:
        """Providers by kind of target, whose marks name this policy."""
        provider = ClusterApiProvider(self._management, self._version, policy, self._platform_chooses)
        return dict.fromkeys(_KINDS, provider)

    def former(self, ended: EndedPolicies, now_seconds: Callable[[], int]) -> Callable[[str], FormerPolicy | None]:
        """What takes back the marks of a policy by its name; None while it has not ended."""

        def of(policy: str) -> FormerPolicy | None:
            if not ended.ended(policy):
                return None
            return FormerPolicy(self.of(policy), NodeDrain(self._workload, policy, now_seconds))

        return of
