"""From all objects that were read to the World."""

import msgspec

from reconciler.cluster.digest import world_digest
from reconciler.cluster.nodes.machine_rows import machine, pool_instances, with_nodes
from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod_rows import PodsRead
from reconciler.cluster.snapshots.document import AUTO_SCALING_GROUP
from reconciler.cluster.snapshots.intake import CAPI_KINDS, Intake
from reconciler.cluster.snapshots.kept import ContradictionError
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.target import Machine, TargetFacts, TargetKind
from reconciler.cluster.targets import autoscalinggroup, machinedeployment, machinepool, machineset
from reconciler.cluster.targets.clusterapi_view import ClusterApiView, controlling
from reconciler.cluster.world import DaemonPods, Storage, World, WorldProblem

_FACTS = {
    TargetKind.MACHINE_DEPLOYMENT: machinedeployment.facts,
    TargetKind.MACHINE_SET: machineset.facts,
    TargetKind.MACHINE_POOL: machinepool.facts,
}
# What a decision reads besides targets. ReplicationControllers only where a pod has one.
_NEEDED = (
    "Node",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "Namespace",
    "ReplicaSet",
    "StatefulSet",
    "Job",
    "DaemonSet",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
)
_NEEDED_TARGETS = ("MachineDeployment", "MachineSet", "Machine", "Cluster")
_BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def assemble(intake: Intake, manifest: Manifest) -> World:
    """The World of everything in `intake`. Raises `SnapshotError` for objects that contradict each other."""
    intake.close()
    shapes, nodes, problems = _nodes(intake)
    pods = _pods(intake, nodes)
    view = _view(intake)
    targets, machines = _targets(intake, view, nodes)
    captured = intake.captured | manifest.kinds
    seconds = manifest.captured_seconds
    if seconds is None:
        seconds = intake.newest.seconds
        if not seconds:
            message = "no object carries a time and no snapshot.yaml says capturedAt: ages and timers count from 1970"
            problems.append(WorldProblem(code="NoTimestamp", object="", message=message))
    world = World(
        name=manifest.cluster,
        captured_seconds=seconds,
        node_shapes=shapes,
        nodes=nodes,
        pod_shapes=pods.shapes,
        pod_traits=pods.traits,
        pods=pods.table,
        targets=targets,
        machines=machines,
        budgets=tuple(intake.budgets.values()),
        controllers=tuple(value for key in sorted(intake.controllers) for value in intake.controllers[key].values()),
        daemon_pods=tuple(
            DaemonPods(namespace=namespace, name=name, shape=shape)
            for (namespace, name), shape in zip(sorted(intake.daemon_drafts), pods.template_shapes, strict=True)
        ),
        namespaces=tuple((name, labels) for (_, name), labels in intake.namespaces.by_key().items()),
        storage=Storage(
            volumes=tuple(intake.volumes.values()),
            claims=tuple(intake.claims.values()),
            classes=tuple(intake.classes.values()),
            csi_nodes=tuple(intake.csi_nodes.values()),
            csi_drivers=tuple(intake.csi_drivers.values()),
            capacities=tuple(intake.capacities.values()),
            attachments=tuple(intake.attachments.values()),
        ),
        captured=tuple(sorted(captured)),
        not_captured=_not_captured(captured, pods),
        skipped=tuple(sorted(intake.skipped.items())),
        problems=tuple(sorted({*problems, *pods.problems})),
    )
    return msgspec.structs.replace(world, digest=world_digest(world))


def _nodes(intake: Intake) -> tuple[tuple[NodeShape, ...], tuple[Node, ...], list[WorldProblem]]:
    numbers: dict[NodeShape, int] = {}
    nodes: list[Node] = []
    problems: list[WorldProblem] = []
    for item in intake.nodes.values():
        nodes.append(msgspec.structs.replace(item.node, shape=numbers.setdefault(item.shape, len(numbers))))
        problems.extend(
            WorldProblem(code="QuantityOutOfRange", object=f"Node {item.node.name}", message=text) for text in item.problems
        )
    return tuple(numbers), tuple(nodes), problems


def _pods(intake: Intake, nodes: tuple[Node, ...]) -> PodsRead:
    priorities = dict(_BUILT_IN_PRIORITIES)
    for item in intake.priorities.values():
        priorities[item.metadata.name] = item.value
        if item.global_default:
            priorities[""] = item.value
    drafts = tuple(number for _, number in sorted(intake.daemon_drafts.items()))
    try:
        return intake.pods.table({node.name: index for index, node in enumerate(nodes)}, priorities, drafts)
    except ContradictionError as error:
        raise intake.contradiction(error) from None


def _view(intake: Intake) -> ClusterApiView:
    machines = intake.machines.by_key()
    pools = set()
    for (namespace, _), item in machines.items():
        owner = controlling(item.metadata.owner_references)
        if owner and owner.kind == "MachinePool":
            pools.add((namespace, owner.name))
    return ClusterApiView(
        group=intake.capi_group,
        clusters=intake.clusters.by_key(),
        deployments=intake.scalables["MachineDeployment"].by_key(),
        machine_sets=intake.scalables["MachineSet"].by_key(),
        templates={
            (group, kind, namespace, name): item
            for (group, kind), kept in intake.templates.items()
            for (namespace, name), item in kept.by_key().items()
        },
        pools_with_machines=frozenset(pools),
    )


def _targets(
    intake: Intake, view: ClusterApiView, nodes: tuple[Node, ...]
) -> tuple[tuple[TargetFacts, ...], tuple[Machine, ...]]:
    targets = [read(item, view) for kind, read in _FACTS.items() for item in intake.scalables[kind.value].values()]
    machines = [machine(item, view) for item in intake.machines.values()]
    for key, pool in intake.scalables["MachinePool"].by_key().items():
        if key not in view.pools_with_machines:
            machines.extend(pool_instances(pool, nodes))
    aws = intake.aws.view(intake.captured)
    for group in intake.groups.values():
        targets.append(autoscalinggroup.facts(group, aws))
        machines.extend(autoscalinggroup.machines(group))
    return tuple(sorted(targets, key=lambda item: item.ref)), with_nodes(machines, nodes)


def _not_captured(captured: set[str], pods: PodsRead) -> tuple[str, ...]:
    needed = list(_NEEDED)
    if any(item.controller and item.controller.kind == "ReplicationController" for item in pods.traits):
        needed.append("ReplicationController")
    if AUTO_SCALING_GROUP not in captured or captured.intersection(CAPI_KINDS):
        needed.extend(_NEEDED_TARGETS)
    return tuple(sorted(set(needed) - captured))
