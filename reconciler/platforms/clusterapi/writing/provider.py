"""Cluster API as a platform of targets: MachineDeployments, MachineSets without owner, and MachinePools."""

from collections.abc import Callable

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.pool import BlindRemovals
from reconciler.platforms.clusterapi.writing.target_readings import living_machines, machines_of, read_machine, read_target
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets


class ClusterApiDialect:
    """A `MachineDialect` in one group and version."""

    def __init__(self, version: ClusterApiVersion) -> None:
        self._version = version
        self.api_version = version.api_version
        self.delete_marks = (version.delete_machine,)

    def manifest_kind(self, target: TargetRef) -> str:
        """The kind itself."""
        return target.kind

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """As the version says."""
        return self._version.path(kind, namespace, name)

    def read_target(self, api: Api, ref: TargetRef, *, rollout: bool = False) -> Reading:
        """The target, its Cluster and, with `rollout`, its MachineSets."""
        return read_target(api, self._version, ref, rollout=rollout)

    def read_machine(self, api: Api, namespace: str, name: str) -> MachineReading | None:
        """One Machine."""
        return read_machine(api, self._version, namespace, name)

    def machines_of(self, api: Api, facts: TargetFacts) -> dict[str, MachineReading]:
        """All Machines of one target."""
        return machines_of(api, self._version, facts)

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """The Machines that are not being deleted."""
        return living_machines(api, self._version, facts)


class ClusterApiTargets(MachineTargets):
    """The writes on targets of one management cluster."""

    def __init__(self, api: Api, version: ClusterApiVersion = ClusterApiVersion()) -> None:  # noqa: B008 - a frozen value
        super().__init__(api, ClusterApiDialect(version))


class ClusterApiProvider(MachineProvider):
    """A `TargetProvider` over the API server that has the Cluster API objects.

    `platform_chooses` names targets without Machines that may shrink although the platform picks the instance that goes.
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
        """Whether the machine of the node may be removed, as far as that is known before the node is empty."""
        if not machine:
            return self._blind.may_begin(target, node, bound)
        return super().may_begin(target, machine, node, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Mark the machines, lower replicas once for all of them, and report how far each is."""
        if any(not one.machine for one in leaving):
            return tuple(self._blind.step(target, one.node, floor) for one in leaving)
        return super().step(target, leaving, floor)
