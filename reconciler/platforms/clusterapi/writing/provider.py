"""Cluster API as a platform of targets: MachineDeployments, MachineSets without owner, and MachinePools."""

from collections.abc import Callable, Mapping

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.writing.cancellation import ClusterApiCancellations
from reconciler.platforms.clusterapi.writing.pool import BlindRemovals
from reconciler.platforms.clusterapi.writing.removal import ClusterApiRemovals
from reconciler.platforms.clusterapi.writing.resource import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.targets import ClusterApiTargets
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteResult


class ClusterApiProvider:
    """A `TargetProvider` over the API server that holds the Cluster API objects.

    `owner` (the policy's name) stands in the marks on Machines, so that two reconcilers leave each other's alone.
    `platform_chooses` tells the targets without Machines that may shrink though the platform picks the instance that goes.
    """

    def __init__(
        self, api: Api, version: ClusterApiVersion, owner: str, platform_chooses: Callable[[TargetRef], bool] = lambda _: False
    ) -> None:
        self._targets = ClusterApiTargets(api, version)
        self._removals = ClusterApiRemovals(self._targets, owner)
        self._blind = BlindRemovals(self._targets, platform_chooses)
        self._cancellations = ClusterApiCancellations(self._targets, self._removals)

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """By a server-side apply of replicas alone, never forced."""
        return self._targets.resize(target, replicas, bound, annotations)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Others' claims on the field go, then ours is recorded; the value stays."""
        return self._targets.adopt(target, replicas, bound, annotations)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Our annotations and our claim go; the value stays."""
        return self._targets.release(target, bound)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Exactly the machines that never became nodes go."""
        return self._cancellations.cancel(target, machines, replicas, bound)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the machine of the node may be removed, as far as can be told before the node is empty."""
        if not machine:
            return self._blind.may_begin(target, node, bound)
        return self._removals.may_begin(target, machine, node, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Mark the machines, lower replicas once for all of them, or say how far each is."""
        if any(not one.machine for one in leaving):
            return tuple(self._blind.step(target, one.node, floor) for one in leaving)
        return self._removals.step(target, leaving, floor)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Our mark goes, unless replicas were lowered for it."""
        return self._removals.abandon(target, machine) if machine else WriteResult(done=True)

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """The policy that our program's mark names, whichever it is."""
        return self._removals.marked_by(target, machine)
