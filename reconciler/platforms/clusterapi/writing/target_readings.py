"""Reads one target now, with all objects that its ownership depends on."""

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api, ApiError
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView, controlling
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_SET
from reconciler.platforms.clusterapi.objects import FACTS
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.values.decoding import decoder


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
