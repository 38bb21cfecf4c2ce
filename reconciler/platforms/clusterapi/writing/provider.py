"""Cluster API as a platform of targets: MachineDeployments, MachineSets without owner, and MachinePools."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api, ApiError
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.view import CAPI_GROUP, ClusterApiView, controlling
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from reconciler.platforms.clusterapi.reading import FACTS
from reconciler.platforms.clusterapi.writing.pool import BlindRemovals
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteResult
from reconciler.providers.machines.marks import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineReading, MachineTargets, Reading
from reconciler.values.decoding import decode, decoder

# Which version of Cluster API is used, and the paths of its objects.

_PLURALS = {
    MACHINE_DEPLOYMENT: "machinedeployments",
    MACHINE_SET: "machinesets",
    MACHINE_POOL: "machinepools",
    "Machine": "machines",
    "Cluster": "clusters",
}
_VERSION = re.compile(r"v([0-9]{1,9})(?:(alpha|beta)([0-9]{1,9}))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


class ClusterApiVersion(msgspec.Struct, frozen=True):
    """A group and a version, as `CAPI_GROUP` and `CAPI_VERSION` name them upstream. The group is also the prefix of the
    size annotations, of `delete-machine`, `cluster-name` and `paused`."""

    group: str = CAPI_GROUP
    version: str = "v1beta2"

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    @property
    def delete_machine(self) -> str:
        """The annotation that makes a Machine the first to go when its set shrinks. Only its key counts."""
        return f"{self.group}/delete-machine"

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """The path of an object, or of the collection of a namespace."""
        collection = f"/apis/{self.api_version}/namespaces/{namespace}/{_PLURALS[kind]}"
        return f"{collection}/{name}" if name else collection


def newest(versions: Iterable[str]) -> str:
    """The version that Kubernetes would prefer: v2 before v1, v1 before v1beta2, beta before alpha; empty without any.

    SOURCE: version priority of CustomResourceDefinitions. Names of another form come last, in alphabetical order.
    """
    there = sorted(versions)
    known = [version for version in there if _VERSION.fullmatch(version)]
    return max(known, key=_rank, default=next(iter(there), ""))


def _rank(version: str) -> tuple[int, list[int]]:
    """The stage and the numbers of a version in Kubernetes form."""
    _, major, stage, minor = _VERSION.split(version)[:4]
    return _STAGES[stage], [int(number) for number in (major, minor) if number]


def served_version(api: Api, environment: Mapping[str, str]) -> ClusterApiVersion | None:
    """The group and version to use with this server; None if it does not serve the group.

    `CAPI_VERSION` in `environment` pins the version, else the newest served one is used. `CAPI_GROUP` names another group. Raises
    `UnreachableError`, and `ApiError` for anything but an unknown group.
    """
    group = environment.get("CAPI_GROUP") or CAPI_GROUP
    if pinned := environment.get("CAPI_VERSION"):
        return ClusterApiVersion(group, pinned)
    try:
        body = api.get(f"/apis/{group}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    version = newest(item.version for item in decode(body, _Group).versions)
    return ClusterApiVersion(group, version) if version else None


class _Served(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Served]


# One target at this moment, read with everything that its ownership is judged by.


class _Sets(msgspec.Struct):
    items: list[wire.Scalable]


class _Machines(msgspec.Struct):
    items: list[wire.Machine]


_scalable = decoder(wire.Scalable)
_cluster = decoder(wire.Cluster)
_machine = decoder(wire.Machine)
_sets = decoder(_Sets)
_machines = decoder(_Machines)


def read_target(api: Api, version: ClusterApiVersion, ref: TargetRef, *, rollout: bool = False) -> Reading:
    """The target and its Cluster, by the functions that read a snapshot. With `rollout`, also the MachineSets of a
    MachineDeployment, so that `rolling_out` is known.

    Raises `ApiError` and `UnreachableError`, also for a Cluster that this account may not read. A missing Cluster is left to the
    ownership rules. Raises `msgspec.ValidationError` for a malformed body."""
    body = api.get(version.path(ref.kind, ref.namespace, ref.name))
    item = _scalable.decode(body)
    name = item.spec.cluster_name or (item.metadata.labels or {}).get(f"{version.group}/cluster-name", "")
    view = ClusterApiView(
        group=version.group,
        clusters=_clusters(api, version, ref.namespace, name),
        machine_sets=_sets_of(api, version, ref) if rollout and ref.kind == MACHINE_DEPLOYMENT else {},
    )
    return Reading(FACTS[ref.kind](item, view), body)


def _clusters(api: Api, version: ClusterApiVersion, namespace: str, name: str) -> dict[tuple[str, str], wire.Cluster]:
    if not name:
        return {}
    try:
        return {(namespace, name): _cluster.decode(api.get(version.path("Cluster", namespace, name)))}
    except ApiError as error:
        if error.status == 404:
            return {}
        raise


def _sets_of(api: Api, version: ClusterApiVersion, ref: TargetRef) -> dict[tuple[str, str], wire.Scalable]:
    query = {"labelSelector": f"{version.group}/deployment-name={ref.name}"}
    body = api.get(version.path(MACHINE_SET, ref.namespace), query)
    return {(item.metadata.namespace, item.metadata.name): item for item in _sets.decode(body).items}


def read_machine(api: Api, version: ClusterApiVersion, namespace: str, name: str) -> MachineReading | None:
    """The Machine, or None if it is gone. Raises as `read_target` does."""
    try:
        body = api.get(version.path("Machine", namespace, name))
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    return _reading(_machine.decode(body), version)


def _reading(item: wire.Machine, version: ClusterApiVersion) -> MachineReading:
    reference = item.status.node_ref if item.status else None
    return MachineReading(
        name=item.metadata.name,
        resource_version=item.metadata.resource_version,
        deleting=item.metadata.deletion_timestamp is not None,
        mark=(item.metadata.annotations or {}).get(version.delete_machine),
        node=reference.name if reference else "",
    )


def machines_of(api: Api, version: ClusterApiVersion, facts: TargetFacts) -> dict[str, MachineReading]:
    """The target's Machines by name, including those that are being deleted. Raises as `read_target` does."""
    return {item.metadata.name: _reading(item, version) for item in _listed(api, version, facts)}


def living_machines(api: Api, version: ClusterApiVersion, facts: TargetFacts) -> frozenset[str]:
    """The names of the target's Machines that are not being deleted. Raises as `read_target` does."""
    return frozenset(item.metadata.name for item in _listed(api, version, facts) if item.metadata.deletion_timestamp is None)


def _listed(api: Api, version: ClusterApiVersion, facts: TargetFacts) -> list[wire.Machine]:
    target = facts.ref
    if target.kind == MACHINE_DEPLOYMENT:
        label = f"{version.group}/deployment-name={target.name}"
    else:
        # If the name of a set or pool is long, its Machines' labels have a hash of it.
        label = f"{version.group}/cluster-name={facts.cluster_name}"
    machines = []
    for item in _machines.decode(api.get(version.path("Machine", target.namespace), {"labelSelector": label})).items:
        owner = controlling(item.metadata.owner_references)
        mine = target.kind == MACHINE_DEPLOYMENT or (owner is not None and (owner.kind, owner.name) == (target.kind, target.name))
        if mine:
            machines.append(item)
    return machines


# Cluster API as a dialect of what all platforms with Machines share.


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
