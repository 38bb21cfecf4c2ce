"""What a decision scenario gives -> a World and a policy."""

from collections.abc import Mapping

import msgspec
import yaml

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import AffinityTerm, Owner, SpreadConstraint, VolumeUse
from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts, TargetTemplate
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import PersistentVolume, PersistentVolumeClaim
from reconciler.cluster.world import Storage, World
from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree
from reconciler.values.duration import parse_duration
from reconciler.values.label_selector import Requirement
from tests.builders import ClusterBuilder, machine_deployment, selector
from tests.scenarios.documents import Given, GivenGroup, GivenPods, GivenVolume, ScenarioFileError

OUR_MANAGER = "nodegroup-reconciler"
API_VERSION = "reconciler.dev/v1alpha1"


def after(given: Given, change: Given) -> Given:
    """The state with the parts that a step replaces."""
    named = {name: value for name in Given.__struct_fields__ if (value := getattr(change, name)) is not None}
    return msgspec.structs.replace(given, **named)


def policy_of(given: Given, now: int) -> PolicySet:
    """The policy as the product reads it from YAML: the written specs, with what every document needs around them."""
    documents: list[dict[str, object]] = [
        {
            "apiVersion": API_VERSION,
            "kind": "NodeGroupPolicy",
            "metadata": {"name": "test"},
            "spec": {"mode": "Enforce", **(given.policy or {})},
        }
    ]
    for group in given.groups or []:
        target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod", "name": group.name}}
        spec = {"policyRef": {"name": "test"}, "target": target, "size": {"min": 0, "max": 100}, **group.spec}
        metadata = {"name": group.name, "namespace": "reconciler"}
        documents.append({"apiVersion": API_VERSION, "kind": "NodeGroup", "metadata": metadata, "spec": spec})
    tree = read_tree({"policy.yaml": yaml.safe_dump_all(documents).encode()}, now_seconds=now)
    if not tree.sets:
        raise ScenarioFileError("; ".join(f"{problem.message} {problem.hint}" for problem in tree.problems))
    return tree.sets[0]


def world_of(given: Given, now: int, generation: int) -> World:
    """The cluster at `now`; ages count from there. `generation` is that of every target."""
    cluster = ClusterBuilder(now=now)
    for group in given.groups or []:
        _add_group(cluster, group, now)
    for node in given.nodes or []:
        for number in range(1, node.count + 1):
            name = node.name if node.count == 1 else f"{node.name}-{number}"
            cluster.node(
                name,
                node.cpu,
                node.memory,
                labels={**node.labels, **({"pool": node.group} if node.group else {})},
                taints=node.taints,
                ready=node.ready,
                gpu=node.gpu,
            )
            if node.group:
                cluster.machine(name, machine_deployment(node.group), node=name)
    for machine in given.machines or []:
        created = now - parse_duration(machine.age)
        cluster.machine(machine.name, machine_deployment(machine.group), created=created, failed=machine.failed)
    for pods in given.pods or []:
        _add_pods(cluster, pods)
    _check_names(given, cluster)
    world = cluster.world(storage=_storage(given.volumes or []))
    written = {group.name: group for group in given.groups or []}
    targets = tuple(_stated(facts, written[facts.ref.name], generation) for facts in world.targets)
    return msgspec.structs.replace(world, targets=targets)


def _check_names(given: Given, cluster: ClusterBuilder) -> None:
    """A pod on a node, or a machine of a group, that is not there would silently mean something else."""
    nodes = {node.name for node in cluster.world().nodes}
    for pods in given.pods or []:
        for name in [pods.node] if isinstance(pods.node, str) else pods.node or []:
            if name not in nodes:
                raise ScenarioFileError(f"given.pods {pods.name}: no node {name!r}, there are {', '.join(sorted(nodes))}")
    groups = {group.name for group in given.groups or []}
    for what, name in [
        *((node.name, node.group) for node in given.nodes or []),
        *((m.name, m.group) for m in given.machines or []),
    ]:
        if name and name not in groups:
            raise ScenarioFileError(f"given: {what} is of group {name!r}, there are {', '.join(sorted(groups))}")


def _add_group(cluster: ClusterBuilder, group: GivenGroup, now: int) -> None:
    labels = {**group.labels, **({ZONE_LABEL: group.zone} if group.zone else {})}
    created = now - parse_duration(group.age)
    names = cluster.group(
        group.name,
        nodes=group.nodes,
        cpu=group.cpu,
        memory=group.memory,
        replicas=group.replicas,
        labels=labels,
        taints=group.taints,
        gpu=group.gpu,
        created=created,
    )
    for position, name in enumerate(names):
        if position < group.unready or group.devices_missing:
            cluster.node(
                name,
                group.cpu,
                group.memory,
                labels={"pool": group.name, **labels},
                taints=group.taints,
                ready=position >= group.unready,
                gpu=0 if group.devices_missing else group.gpu,
                created=created,
            )


def _stated(facts: TargetFacts, group: GivenGroup, generation: int) -> TargetFacts:
    owners = tuple(FieldOwner(manager=name, operation="Update") for name in group.managers)
    owner = OwnerEvidence(owners=owners or facts.owner.owners, paused=group.paused)
    template = facts.template if group.template else TargetTemplate()
    changes: Mapping[str, object] = {"owner": owner, "template": template, "rolling_out": group.rolling_out}
    return msgspec.structs.replace(facts, generation=generation, **changes)


def _add_pods(cluster: ClusterBuilder, pods: GivenPods) -> None:
    shape: dict[str, object] = {}
    if pods.alone_per_node:
        term = AffinityTerm(topology_key="kubernetes.io/hostname", selector=selector(app=pods.name), namespaces=("shop",))
        shape["anti_affinity"] = (term,)
    if pods.zone_spread:
        shape["spread"] = (SpreadConstraint(topology_key=ZONE_LABEL, max_skew=1, selector=selector(app=pods.name)),)
    if pods.claim:
        shape["volumes"] = (VolumeUse(kind="PersistentVolumeClaim", claim=pods.claim),)
    cluster.pods(
        pods.name,
        pods.count,
        cpu=pods.cpu,
        memory=pods.memory,
        on=pods.node,
        node_selector=pods.node_selector,
        tolerations=pods.tolerations,
        shape=shape,
        owner=None if pods.orphaned else "ReplicaSet",
        traits={"controller": Owner("apps", "ReplicaSet", pods.name, "uid-gone")} if pods.orphaned else None,
        **({"gpu": pods.gpu} if pods.gpu else {}),
    )


def _storage(volumes: list[GivenVolume]) -> Storage:
    return Storage(
        volumes=tuple(
            PersistentVolume(
                name=f"pv-{volume.claim}",
                phase="Bound",
                driver="disk.csi.example.com",
                handle=volume.claim,
                capacity_bytes=1 << 30,
                access_modes=("ReadWriteOnce",),
                claim=f"shop/{volume.claim}",
                required_terms=(NodeSelectorTerm((Requirement(ZONE_LABEL, "In", (volume.zone,)),)),),
            )
            for volume in volumes
        ),
        claims=tuple(
            PersistentVolumeClaim(
                namespace="shop",
                name=volume.claim,
                volume=f"pv-{volume.claim}",
                bind_completed=True,
                phase="Bound",
                requested_bytes=1 << 30,
                access_modes=("ReadWriteOnce",),
            )
            for volume in volumes
        ),
    )
