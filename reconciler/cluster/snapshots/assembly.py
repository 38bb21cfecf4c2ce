"""From all objects that were read to the World."""

import msgspec

from reconciler.cluster.digest import world_digest
from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.platform_reading import Objects, readings
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.snapshots.pod_rows import PodsRead
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.targets.machine_rows import with_nodes
from reconciler.cluster.values.kept_object import ContradictionError
from reconciler.cluster.workloads.autoscaler import HOME, at_work
from reconciler.cluster.world import DaemonPods, Storage, World, WorldProblem

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
_BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def assemble(intake: Intake, manifest: Manifest) -> World:
    """The World of everything in `intake`. Raises `SnapshotError` for objects that contradict each other."""
    intake.close()
    shapes, nodes, problems = _nodes(intake)
    pods = _pods(intake, nodes)
    captured: set[str] = intake.captured | manifest.kinds
    targets, machines = _targets(intake, captured, nodes, shapes)
    controllers = tuple(value for key in sorted(intake.controllers) for value in intake.controllers[key].values())
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
        controllers=controllers,
        rivals=at_work(controllers, _homes(targets)),
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
        device_classes=tuple(intake.device_classes.values()),
        # A kubelet is never newer than its API server, and kube-scheduler is mostly of the API server's version.
        scheduler_version=manifest.version or max((item.kubelet for item in intake.nodes.values() if item.kubelet), default=None),
        captured=tuple(sorted(captured)),
        not_captured=_not_captured(captured, pods),
        skipped=tuple(sorted(intake.skipped.items())),
        problems=tuple(sorted({*problems, *pods.problems})),
    )
    return msgspec.structs.replace(world, digest=world_digest(world))


def _homes(targets: tuple[TargetFacts, ...]) -> frozenset[str]:
    """Where another autoscaler of these targets would run, as a live process looks for one."""
    of_platforms = (home for reading in readings() for home in reading.autoscaler_namespaces)
    return frozenset((HOME, *of_platforms, *(facts.ref.namespace for facts in targets if facts.ref.namespace)))


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


def _targets(
    intake: Intake, captured: set[str], nodes: tuple[Node, ...], shapes: tuple[NodeShape, ...]
) -> tuple[tuple[TargetFacts, ...], tuple[Machine, ...]]:
    targets: list[TargetFacts] = []
    machines: list[Machine] = []
    for reading in readings():
        found = {where[1:]: kept.by_key() for where, kept in intake.of_platforms.items() if where[0] == reading.name}
        own = captured.intersection(kind.known_as for kind in reading.kinds)
        group = reading.group_here(intake.capi_group)
        rows = reading.rows(Objects(group=group, captured=frozenset(own), kept=found, nodes=nodes, shapes=shapes))
        targets.extend(rows.targets)
        machines.extend(rows.machines)
    return tuple(sorted(targets, key=lambda item: item.ref)), with_nodes(machines, nodes)


def _not_captured(captured: set[str], pods: PodsRead) -> tuple[str, ...]:
    needed = list(_NEEDED)
    if any(item.controller and item.controller.kind == "ReplicationController" for item in pods.traits):
        needed.append("ReplicationController")
    used = [reading for reading in readings() if captured.intersection(kind.known_as for kind in reading.kinds)]
    for reading in used or readings()[:1]:
        needed.extend(kind.known_as for kind in reading.kinds if kind.needed)
    return tuple(sorted(set(needed) - captured))
