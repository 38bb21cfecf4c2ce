"""Cluster API as a platform of targets: MachineDeployments, MachineSets without owner, and MachinePools."""

from collections.abc import Callable

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.writing.pool import BlindRemovals
from reconciler.platforms.clusterapi.writing.resource import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.targets import ClusterApiTargets
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteResult
from reconciler.providers.machines.hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider


class ClusterApiProvider(MachineProvider):
    """A `TargetProvider` over the API server that holds the Cluster API objects.

    `platform_chooses` tells the targets without Machines that may shrink though the platform picks the instance that goes.
    """

    def __init__(
        self,
        api: Api,
        version: ClusterApiVersion,
        owner: str,
        platform_chooses: Callable[[TargetRef], bool] = lambda _: False,
        hearing: PlatformHearing = PlatformHearing(),  # noqa: B008 - it keeps no state
    ) -> None:
        super().__init__(ClusterApiTargets(api, version), owner, hearing)
        self._blind = BlindRemovals(self._targets, platform_chooses)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the machine of the node may be removed, as far as can be told before the node is empty."""
        if not machine:
            return self._blind.may_begin(target, node, bound)
        return super().may_begin(target, machine, node, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Mark the machines, lower replicas once for all of them, or say how far each is."""
        if any(not one.machine for one in leaving):
            return tuple(self._blind.step(target, one.node, floor) for one in leaving)
        return super().step(target, leaving, floor)
