"""Cluster API as a dialect of what all platforms with Machines have in common."""

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api
from reconciler.platforms.clusterapi.writing.reading import living_machines, machines_of, read_machine, read_target
from reconciler.platforms.clusterapi.writing.resource import ClusterApiVersion
from reconciler.providers.machines.dialect import MachineReading, Reading
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
        """All of one target."""
        return machines_of(api, self._version, facts)

    def living_machines(self, api: Api, facts: TargetFacts) -> frozenset[str]:
        """Those that are not going."""
        return living_machines(api, self._version, facts)


class ClusterApiTargets(MachineTargets):
    """The writes on targets of one management cluster."""

    def __init__(self, api: Api, version: ClusterApiVersion = ClusterApiVersion()) -> None:  # noqa: B008 - a frozen value
        super().__init__(api, ClusterApiDialect(version))
