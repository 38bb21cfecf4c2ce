"""Lets a scenario happen on a simulated cluster: every event at its instant."""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.platform_reading import readings, target_kinds
from reconciler.cluster.pods.pod import Owner, Pod, PodShape, PodTraits, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, Machine, OwnerEvidence, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.workloads.capacity_buffer import ACTIVE
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from reconciler.cluster.world import BufferPods, World
from reconciler.policy.documents import PolicySet
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.simulation.embedded.agenda import Happened, MachineBehaviour, Shortage
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, TOPOLOGY_MANAGER
from reconciler.simulation.scenarios.scenario import (
    NodeChange,
    ScenarioText,
    Start,
    StartBudget,
    StartGroup,
    TimedEvent,
    WriteEvent,
)
from reconciler.values.label_selector import LabelSelector, Requirement

# The World that an inline start describes. Its targets have the first registered kind: a scenario needs some kind, and no line of
# it depends on which. Snapshots bring targets of any platform into a simulation.

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


ANY_GROUP = "*"


def behaviours(text: ScenarioText, start_seconds: int) -> tuple[dict[str, MachineBehaviour], MachineBehaviour]:
    """By target name, and for all others."""
    by_target = {
        rule.group: MachineBehaviour(
            join_seconds=rule.join_after.seconds,
            fail_first=rule.fail_first,
            shortages=tuple(
                Shortage(from_seconds=start_seconds + gap.from_.seconds, until_seconds=start_seconds + gap.to.seconds)
                for gap in rule.out_of_stock
            ),
            device_seconds=rule.gpu_delay.seconds,
        )
        for rule in text.scenario.spec.machines
    }
    return by_target, by_target.pop(ANY_GROUP, MachineBehaviour())


class ScenarioPlay:
    """The events of a scenario on the agenda of a cluster. `on_policy` is called when the policy changes.

    Raises `DocumentError` with the place of an event that names an unknown target, node or controller.
    """

    def __init__(
        self,
        text: ScenarioText,
        cluster: SimulatedCluster,
        policies: dict[str, PolicySet],
        on_policy: Callable[[PolicySet], None],
    ) -> None:
        self._text = text
        self._cluster = cluster
        self._policies = policies
        self._on_policy = on_policy
        self._targets = _targets_by_name(cluster.world())
        for workload in text.scenario.spec.start.workloads:
            namespace, _, name = workload.name.partition("/")
            cluster.workloads.define(workload.kind, namespace, name, *pod_of(workload))
        start = cluster.now_seconds
        for index, event in enumerate(text.scenario.spec.events):
            path = f"$.spec.events[{index}]"
            step = self._step(event, path)
            cluster.agenda.at(start + event.at.seconds, step)

    def _step(self, event: TimedEvent, path: str) -> Callable[[], None]:
        """The event as something to do; what it names is checked now."""
        if event.scale is not None:
            namespace, _, name = event.scale.workload.partition("/")
            if self._cluster.workloads.named(namespace, name) is None:
                raise self._text.error(f"{path}.scale.workload", f"unknown controller {event.scale.workload} at the start")
            return partial(self._scale, namespace, name, event.scale.replicas)
        if event.budget is not None:
            return partial(self._budget, event.budget)
        if event.write is not None:
            target = self._target(event.write.target, f"{path}.write.target")
            return partial(self._write, target, event.write, event.write.times)
        if event.hold is not None:
            target = self._target(event.hold.target, f"{path}.hold.target")
            return partial(self._hold, target, event.hold.reason)
        if event.node is not None:
            return partial(self._node, event.node.name, event.node.becomes)
        return partial(self._policy, event.policy or "")

    def _target(self, name: str, path: str) -> TargetRef:
        target = self._targets.get(name)
        if target is None:
            raise self._text.error(
                path, f"unknown target {name!r} at the start", f"write one of {', '.join(sorted(self._targets))}"
            )
        return target

    def _scale(self, namespace: str, name: str, replicas: int) -> None:
        cluster = self._cluster
        workload = cluster.workloads.named(namespace, name)
        if workload is None:
            return
        cluster.journal.add(
            cluster.now_seconds,
            Happened.DEMAND_CHANGED,
            f"{namespace}/{name}",
            detail=f"{namespace}/{name} scales from {workload.desired} to {replicas} pods",
            before=workload.desired,
            after=replicas,
        )
        cluster.workloads.scale(workload, replicas)
        above = cluster.objects.controllers.get(("Deployment", namespace, name))
        if above is not None:
            cluster.objects.controllers["Deployment", namespace, name] = msgspec.structs.replace(above, replicas=replicas)
        cluster.disruption.scaled(namespace)
        cluster.objects.touch()

    def _budget(self, budget: StartBudget) -> None:
        cluster = self._cluster
        fresh = disruption_budget(budget)
        before = cluster.objects.budgets.get((fresh.namespace, fresh.name))
        if before is not None:
            fresh = msgspec.structs.replace(before, min_available=budget.min_available, max_unavailable=budget.max_unavailable)
        cluster.objects.budgets[fresh.namespace, fresh.name] = fresh
        cluster.disruption.index()
        cluster.disruption.scaled(fresh.namespace)
        bound = f"minAvailable {budget.min_available}" if budget.min_available else f"maxUnavailable {budget.max_unavailable}"
        self._tell(budget.name, f"PodDisruptionBudget {budget.name} now says {bound}")

    def _write(self, target: TargetRef, event: WriteEvent, times: int) -> None:
        self._tell(str(target), f"{event.manager} writes {event.replicas} replicas to {target}")
        self._cluster.write_replicas(target, event.replicas, event.manager, event.via)
        if times > 1:
            self._cluster.agenda.after(max(1, event.every.seconds), partial(self._write, target, event, times - 1))

    def _hold(self, target: TargetRef, reason: str) -> None:
        self._tell(str(target), f"{target} is held: {reason}" if reason else f"the hold of {target} ends")
        self._cluster.hold(target, reason)

    def _node(self, name: str, becomes: NodeChange) -> None:
        self._tell(name, f"node {name} becomes {becomes.value}")
        if becomes is NodeChange.GONE:
            self._cluster.kill_node(name)
        else:
            self._cluster.set_ready(name, ready=becomes is NodeChange.READY)

    def _policy(self, path: str) -> None:
        policy = self._policies[path]
        self._tell(path, f"the policy is now {path}")
        self._cluster.follow(policy)
        self._on_policy(policy)

    def _tell(self, subject: str, what: str) -> None:
        self._cluster.journal.add(self._cluster.now_seconds, Happened.SCENARIO, subject, detail=what)


def _targets_by_name(world: World) -> dict[str, TargetRef]:
    """Targets by their own name; those that another target controls (MachineSets of a MachineDeployment) are not meant."""
    return {facts.ref.name: facts.ref for facts in world.targets if not facts.owner.controller}
