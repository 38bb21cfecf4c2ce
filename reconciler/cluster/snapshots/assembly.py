"""Builds the World from all objects that were read."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.platform_reading import Objects, objects_of, readings
from reconciler.cluster.pods.pod_shaping import ShapeDraft, daemon_draft
from reconciler.cluster.snapshots.buffer_pods import BufferDraft, buffer_drafts, buffer_pods
from reconciler.cluster.snapshots.daemon_pods import daemon_pods
from reconciler.cluster.snapshots.intake import DEVICES, Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.snapshots.platform_rows import platform_rows
from reconciler.cluster.snapshots.pod_rows import PodsRead
from reconciler.cluster.snapshots.request_pods import RequestDraft, request_drafts, request_pods
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.targets.machine_rows import with_nodes
from reconciler.cluster.unread import Unread, judged
from reconciler.cluster.values.kept_objects import ContradictionError
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.cluster.values.release import Release, release_of
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import admission, pod
from reconciler.cluster.workloads.admission import admitted
from reconciler.cluster.workloads.autoscaler import HOME, at_work
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import Storage, World, WorldProblem
from reconciler.cluster.world_digest import world_digest
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.label_selector import LabelSelector
from reconciler.values.plural import count_text

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
    captured: set[str] = intake.captured | manifest.kinds
    captured -= DEVICES.intersection(intake.skipped)
    captured -= intake.partly_read()
    buffers, requests = _buffers(intake, captured), _requests(intake, captured)
    asked = [(one.buffer, one.draft) for one in buffers if one.draft is not None]
    drafts = [*(draft for _, draft in asked), *(draft for one in requests for draft in one.drafts)]
    # A kubelet is never newer than its API server, and kube-scheduler is mostly of the API server's version.
    version = manifest.version or max((item.kubelet for item in intake.nodes.values() if item.kubelet), default=None)
    pods, numbers = _pods(intake, nodes, drafts, release_of(version, manifest.gates))
    of_buffers = {(buffer.namespace, buffer.name): number for (buffer, _), number in zip(asked, numbers, strict=False)}
    pod_shapes, of_daemon_sets = daemon_pods(sorted(intake.daemon_drafts), pods)
    targets, machines, clusters = _targets(intake, captured, nodes, shapes)
    controllers = tuple(value for key in sorted(intake.controllers) for value in intake.controllers[key].values())
    seconds = manifest.captured_seconds
    if seconds is None:
        seconds = intake.newest.seconds
        if not seconds:
            message = "no object has a time and no snapshot.yaml has capturedAt: ages and timers begin in 1970"
            problems.append(WorldProblem(code="NoTimestamp", object="", message=message))
    if version is None:
        problems.extend(_by_release(pods, intake))
    world = World(
        name=manifest.cluster,
        captured_seconds=seconds,
        node_shapes=shapes,
        nodes=nodes,
        pod_shapes=pod_shapes,
        pod_traits=pods.traits,
        pods=pods.table,
        targets=targets,
        machines=machines,
        clusters=clusters,
        budgets=tuple(sorted((*intake.budgets.values(), *_unread_budgets(intake.unread)))),
        controllers=controllers,
        services=tuple(intake.services.values()),
        rivals=at_work(controllers, _homes(targets)),
        daemon_pods=of_daemon_sets,
        buffers=buffer_pods(buffers, of_buffers, pod_shapes, intake.resource_quotas.values()),
        provisioning_requests=request_pods(requests, numbers[len(asked) :], pod_shapes, intake.resource_quotas.values()),
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
        resource_slices=tuple(intake.resource_slices.values()),
        resource_claims=tuple(intake.resource_claims.values()),
        claim_templates=tuple(intake.claim_templates.values()),
        quotas=tuple(intake.quotas.values()),
        pod_groups=tuple(intake.pod_groups.values()),
        scheduler_version=version,
        feature_gates=manifest.gates,
        captured=tuple(sorted(captured)),
        unread=intake.unread,
        not_captured=_not_captured(captured, pods),
        skipped=tuple(sorted(intake.skipped.items())),
        problems=tuple(sorted({*problems, *pods.problems})),
    )
    return msgspec.structs.replace(world, digest=world_digest(world))


def _by_release(pods: PodsRead, intake: Intake) -> Iterator[WorldProblem]:
    """What hangs on the version of kube-scheduler that nobody tells."""
    grouped = len(intake.pod_groups.values())
    required = sum(item.required for item in intake.csi_drivers.values())
    counts = ((pods.differ_by_release, "pod"), (grouped, "PodGroup"), (required, "CSIDriver"))
    named = [count_text(count, noun) for count, noun in counts if count]
    if named:
        judged = f"Its releases judge {' and '.join(named)} differently, so the stricter rule counts"
        message = f"neither snapshot.yaml nor a node names the version of Kubernetes. {judged}"
        yield WorldProblem(code="KubernetesVersionUnknown", object="", message=message)


def _unread_budgets(unread: Iterable[Unread]) -> Iterator[DisruptionBudget]:
    """What a budget that cannot be read may say at worst: no pod of its namespace may be disrupted."""
    for one in unread:
        if one.kind == "PodDisruptionBudget" and one.name:
            yield DisruptionBudget(
                namespace=one.namespace, name=one.name, selector=LabelSelector(), disruptions_allowed=0, observed=False
            )


def _homes(targets: tuple[TargetFacts, ...]) -> frozenset[str]:
    """Where another autoscaler of these targets would run, as a live process looks for one."""
    of_platforms = (home for reading in readings() for home in reading.autoscaler_namespaces)
    return frozenset((HOME, *of_platforms, *(facts.ref.namespace for facts in targets if facts.ref.namespace)))


def _nodes(intake: Intake) -> tuple[tuple[NodeShape, ...], tuple[Node, ...], list[WorldProblem]]:
    numbers: dict[NodeShape, int] = {}
    nodes: list[Node] = []
    problems: list[WorldProblem] = []
    unread = {one.node: one.sentence() for one in intake.unread if one.node}
    for item in intake.nodes.values():
        why = unread.get(item.node.name, "")
        # Nobody knows how much room such a pod leaves.
        shape = msgspec.structs.replace(item.shape, unschedulable=True) if why else item.shape
        nodes.append(msgspec.structs.replace(item.node, shape=numbers.setdefault(shape, len(numbers)), unread=why))
        problems.extend(
            WorldProblem(code="QuantityOutOfRange", object=f"Node {item.node.name}", message=text) for text in item.problems
        )
    return tuple(numbers), tuple(nodes), problems


def _pods(
    intake: Intake, nodes: tuple[Node, ...], asked: Sequence[ShapeDraft], release: Release
) -> tuple[PodsRead, Sequence[int]]:
    """The pods, with the shapes of DaemonSets as their templates. The numbers of shapes that room is asked for."""
    priorities = dict(_BUILT_IN_PRIORITIES)
    for item in intake.priorities.values():
        priorities[item.metadata.name] = item.value
        if item.global_default:
            priorities[""] = item.value
    drafts = _of_daemon_sets(intake)
    try:
        indices = {node.name: index for index, node in enumerate(nodes)}
        pods = intake.pods.table(indices, priorities, (*drafts, *asked), release)
    except ContradictionError as error:
        raise intake.contradiction(error) from None
    numbers = pods.template_shapes[len(drafts) :]
    return msgspec.structs.replace(pods, template_shapes=pods.template_shapes[: len(drafts)]), numbers


_Admission = Callable[[str, pod.PodTemplate], pod.PodTemplate]


def _admission(intake: Intake) -> _Admission:
    """What the API server writes into pods, by namespace."""
    ranges: dict[str, list[admission.LimitRange]] = {}
    for item in intake.limit_ranges.values():
        ranges.setdefault(item.metadata.namespace, []).append(item)
    classes = {item.metadata.name: item for item in intake.runtime_classes.values()}
    return lambda namespace, template: admitted(template, ranges.get(namespace, ()), classes)


def _of_daemon_sets(intake: Intake) -> tuple[int | ShapeDraft, ...]:
    """What the pods of each DaemonSet ask for, as admission makes them."""
    templates, admit = intake.daemons.by_key(), _admission(intake)
    shapes: list[int | ShapeDraft] = []
    for (namespace, name), number in sorted(intake.daemon_drafts.items()):
        template = templates.get((namespace, name))
        if template is None:
            shapes.append(number)
            continue
        try:
            shapes.append(daemon_draft(namespace, name, admit(namespace, template)))
        except (UnreadableError, *DECODING_ERRORS):
            shapes.append(number)  # the defaults cannot be read, the template can
    return tuple(shapes)


def _buffers(intake: Intake, captured: set[str]) -> tuple[BufferDraft, ...]:
    buffers = intake.buffers.values()
    if not buffers:
        return ()
    known = {
        (group, kind, namespace, name) for (group, kind), kept in intake.controllers.items() for namespace, name in kept.by_key()
    }
    return buffer_drafts(buffers, intake.templates, known, captured, _admission(intake))


def _requests(intake: Intake, captured: set[str]) -> tuple[RequestDraft, ...]:
    requests = intake.requests.values()
    return request_drafts(requests, intake.templates, captured, _admission(intake)) if requests else ()


def _targets(
    intake: Intake, captured: set[str], nodes: tuple[Node, ...], shapes: tuple[NodeShape, ...]
) -> tuple[tuple[TargetFacts, ...], tuple[Machine, ...], tuple[ClusterIdentity, ...]]:
    targets: list[TargetFacts] = []
    machines: list[Machine] = []
    clusters: list[ClusterIdentity] = []
    for reading in readings():
        of_platform = {where[1:]: kept.by_key() for where, kept in intake.of_platforms.items() if where[0] == reading.name}
        if not of_platform:
            continue
        own = captured.intersection(kind.known_as for kind in reading.kinds)
        group = reading.group_here(intake.capi_group)
        objects = Objects(group=group, captured=frozenset(own), kept=of_platform, nodes=nodes, shapes=shapes)
        rows, unread = platform_rows(reading, objects_of(reading.name).rows, objects)
        intake.unread = tuple(sorted({*intake.unread, *unread}))
        targets.extend(judged(intake.unread, reading, intake.capi_group, of_platform, rows.targets))
        machines.extend(rows.machines)
        clusters.extend(rows.clusters)
    return tuple(sorted(targets, key=lambda item: item.ref)), with_nodes(machines, nodes), tuple(sorted(clusters))


def _not_captured(captured: set[str], pods: PodsRead) -> tuple[str, ...]:
    needed = list(_NEEDED)
    if any(item.controller and item.controller.kind == "ReplicationController" for item in pods.traits):
        needed.append("ReplicationController")
    used = [reading for reading in readings() if captured.intersection(kind.known_as for kind in reading.kinds)]
    for reading in used or readings()[:1]:
        needed.extend(kind.known_as for kind in reading.kinds if kind.needed)
    return tuple(sorted(set(needed) - captured))
