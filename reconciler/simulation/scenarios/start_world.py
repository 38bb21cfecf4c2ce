"""The World of an inline start.

Its targets have the first registered kind: a scenario needs some kind, and no line of it depends on which. Snapshots bring
targets of any platform into a simulation.
"""

from collections.abc import Iterator

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.platform_reading import readings, target_kinds
from reconciler.cluster.pods.pod import Owner, Pod, PodShape, PodTraits, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, Machine, OwnerEvidence, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.workloads.capacity_buffer import ACTIVE
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from reconciler.cluster.world import BufferPods, World
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, TOPOLOGY_MANAGER
from reconciler.simulation.scenarios.scenario import (
    Start,
    StartBudget,
    StartGroup,
)
from reconciler.values.label_selector import LabelSelector, Requirement

NAMESPACE = "prod"
START_SECONDS = 1_795_219_200
"""2026-11-21T00:00:00Z: inline scenarios begin here, so that windows and schedules fall on known hours."""

_AGE_SECONDS = 86_400
_API_GROUPS = {"Job": "batch", "ReplicationController": ""}
_CAPTURED = (
    "CapacityBuffer",
    "CapacityQuota",
    "DaemonSet",
    "Deployment",
    "Job",
    "Namespace",
    "Node",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
)


def start_world(start: Start) -> World:
    """Targets in namespace `prod` with their nodes, a day old; all pods pending, for the scheduler to place."""
    groups = sorted(start.groups, key=lambda group: group.name)
    templates = [_template(group) for group in groups]
    node_shapes = tuple(dict.fromkeys(templates))
    nodes: list[Node] = []
    machines: list[Machine] = []
    for group, template in zip(groups, templates, strict=True):
        for number in range(1, group.nodes + 1):
            name = f"{group.name}-{number}"
            nodes.append(_node(name, node_shapes.index(template)))
            machines.append(_machine(name, _ref(group)))
    workloads = sorted(start.workloads, key=lambda workload: workload.name.split("/"))
    shapes: dict[PodShape, int] = {}
    traits: dict[PodTraits, int] = {}
    rows = [
        pod_row(
            workload,
            str(number),
            shapes.setdefault(_shape(workload), len(shapes)),
            traits.setdefault(_traits(workload), len(traits)),
            START_SECONDS,
        )
        for workload in workloads
        for number in range(1, workload.replicas + 1)
    ]
    rows.sort(key=lambda row: (row.namespace, row.name))
    buffers = tuple(
        _buffer(buffer, shapes.setdefault(_shape(buffer), len(shapes)))
        for buffer in sorted(start.buffers, key=lambda stated: stated.name.split("/"))
    )
    return World(
        name="scenario",
        captured_seconds=START_SECONDS,
        node_shapes=node_shapes,
        nodes=tuple(sorted(nodes, key=lambda node: node.name)),
        pod_shapes=tuple(shapes),
        pod_traits=tuple(traits),
        pods=PodTable(rows),
        targets=tuple(_target(group, template) for group, template in zip(groups, templates, strict=True)),
        machines=tuple(sorted(machines)),
        buffers=buffers,
        budgets=tuple(sorted((disruption_budget(budget) for budget in start.budgets), key=lambda b: (b.namespace, b.name))),
        controllers=tuple(sorted(controller_of(workload) for workload in workloads)),
        namespaces=tuple((name, ()) for name in sorted({workload.name.split("/")[0] for workload in workloads})),
        captured=tuple(sorted((*_CAPTURED, *_needed()))),
    )


def _buffer(stated: StatedWorkload, shape: int) -> BufferPods:
    namespace, _, name = stated.name.partition("/")
    return BufferPods(
        namespace=namespace,
        name=name,
        created_seconds=START_SECONDS - _AGE_SECONDS,
        strategy=ACTIVE,
        shape=shape,
        asked=stated.replicas,
        count=stated.replicas,
    )


def pod_of(workload: StatedWorkload) -> tuple[PodShape, PodTraits]:
    """What the pods of an inline workload are like."""
    return _shape(workload), _traits(workload)


def disruption_budget(budget: StartBudget) -> DisruptionBudget:
    """The budget over pods labelled `app: NAME`; its status is for the disruption controller to fill in."""
    namespace, _, name = budget.name.partition("/")
    return DisruptionBudget(
        namespace=namespace,
        name=name,
        selector=LabelSelector((Requirement("app", "In", (name,)),)),
        disruptions_allowed=0,
        min_available=budget.min_available,
        max_unavailable=budget.max_unavailable,
    )


def _ref(group: StartGroup) -> TargetRef:
    return TargetRef(kind=_target_kind(), namespace=NAMESPACE, name=group.name)


def _target_kind() -> str:
    return target_kinds()[0]


def _needed() -> Iterator[str]:
    """The kinds that a decision on such targets needs."""
    return (kind.known_as for kind in readings()[0].kinds if kind.needed)


def _template(group: StartGroup) -> NodeShape:
    size = Resources(
        cpu_milli=group.cpu.milli,
        memory_bytes=group.memory.milli // 1000,
        pods=group.pods,
        extended=(("nvidia.com/gpu", group.gpu),) if group.gpu else (),
    )
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "pool": group.name, **group.labels}
    return NodeShape(labels=tuple(sorted(labels.items())), taints=_taints(group), capacity=size, allocatable=size)


def _taints(group: StartGroup) -> tuple[Taint, ...]:
    taints = []
    for text in group.taints:
        pair, _, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        taints.append(Taint(key, value, effect))
    return tuple(sorted(taints))


def _node(name: str, shape: int) -> Node:
    created = START_SECONDS - _AGE_SECONDS
    return Node(
        name=name, uid=f"uid-{name}", shape=shape, provider_id=f"sim:///{name}", created_seconds=created, ready_seconds=created
    )


def _machine(name: str, target: TargetRef) -> Machine:
    return Machine(
        namespace=NAMESPACE,
        name=name,
        target=target,
        node=name,
        provider_id=f"sim:///{name}",
        created_seconds=START_SECONDS - _AGE_SECONDS,
        phase="Running",
    )


def _target(group: StartGroup, template: NodeShape) -> TargetFacts:
    since = START_SECONDS - _AGE_SECONDS
    replicas = group.nodes
    evidence = OwnerEvidence(owners=(FieldOwner(manager=OUR_MANAGER, operation="Apply", time_seconds=since),))
    if group.topology_replicas is not None:
        replicas = group.topology_replicas
        owners = (FieldOwner(manager=TOPOLOGY_MANAGER, operation="Apply", time_seconds=since),)
        evidence = OwnerEvidence(
            owners=owners, topology_owned=True, topology_deployment=group.name, topology_replicas=group.topology_replicas
        )
    elif group.owner is not None:
        entry = FieldOwner(manager=group.owner.manager, operation=group.owner.operation, time_seconds=since)
        evidence = OwnerEvidence(owners=(entry,))
    return TargetFacts(
        ref=_ref(group),
        uid=f"uid-{group.name}",
        resource_version="1",
        generation=1,
        replicas=replicas,
        owner=evidence,
        template=TargetTemplate(
            capacity=template.capacity,
            allocatable=template.allocatable,
            labels=template.labels,
            taints=template.taints,
            architecture="amd64",
            origins=("scenario",),
        ),
    )


def _shape(workload: StatedWorkload) -> PodShape:
    namespace, _, name = workload.name.partition("/")
    requests = Resources(
        cpu_milli=workload.cpu.milli,
        memory_bytes=workload.memory.milli // 1000,
        pods=1,
        extended=(("nvidia.com/gpu", workload.gpu),) if workload.gpu else (),
    )
    return PodShape(
        namespace=namespace,
        labels=tuple(sorted((workload.labels or {"app": name}).items())),
        requests=requests,
        node_selector=tuple(sorted(workload.node_selector.items())),
        tolerations=tuple(Toleration(key, "Exists", "", "") for key in sorted(workload.tolerations)),
        priority=workload.priority,
    )


def _traits(workload: StatedWorkload) -> PodTraits:
    namespace, _, name = workload.name.partition("/")
    return PodTraits(namespace=namespace, controller=Owner(_API_GROUPS.get(workload.kind, "apps"), workload.kind, name))


def controller_of(workload: StatedWorkload) -> Controller:
    """The controller of stated pods. It selects them by all their labels."""
    namespace, _, name = workload.name.partition("/")
    return Controller(
        api_group=_API_GROUPS.get(workload.kind, "apps"),
        kind=workload.kind,
        namespace=namespace,
        name=name,
        replicas=workload.replicas,
        selector=LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in _shape(workload).labels)),
    )


def pod_row(workload: StatedWorkload, suffix: str, shape: int, traits: int, created_seconds: int) -> Pod:
    """A pending pod of stated ones; `shape` and `traits` are positions in the World."""
    namespace, _, name = workload.name.partition("/")
    return Pod(
        namespace=namespace,
        name=f"{name}-{suffix}",
        uid=f"uid-{namespace}-{name}-{suffix}",
        shape=shape,
        traits=traits,
        created_seconds=created_seconds,
    )
