"""The machine controller: makes the machines of a target as many as its replicas, and nodes of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, Node, NodeShape, Taint
from reconciler.cluster.pods.pod import Owner, PodTraits
from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import DaemonPods
from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.decisions.groups.daemons import StaticPod
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.agenda import Agenda
from reconciler.simulation.embedded.drains import Drains
from reconciler.simulation.embedded.durations import Durations, MachineBehaviour
from reconciler.simulation.embedded.journal import Happened, Journal
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_lifecycle import PodLifecycle
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number

MachineKey = tuple[str, str]
# Whoever made the node takes it off once it knows it, and the node may be Ready by then.
UNINITIALIZED = Taint("node.cloudprovider.kubernetes.io/uninitialized", "", "NoSchedule")


class Machines:
    """Machines and their nodes. A machine without a row (a snapshot that captured none) is known by its node alone.

    If replicas fall, the first to go is a machine marked for deletion. Then come failed ones, then those without a node, then the
    youngest. This is Cluster API's order, with the youngest instead of a random one.
    """

    def __init__(
        self,
        objects: ClusterObjects,
        agenda: Agenda,
        durations: Durations,
        behaviours: Mapping[str, MachineBehaviour],
        otherwise: MachineBehaviour,
        pods: PodLifecycle,
        drains: Drains,
        journal: Journal,
        daemon_pods: tuple[DaemonPods, ...],
    ) -> None:
        self._objects = objects
        self._agenda = agenda
        self._durations = durations
        self._behaviours = behaviours
        self._otherwise = otherwise
        self._pods = pods
        self._drains = drains
        self._journal = journal
        self._daemon_pods = daemon_pods
        self._daemons_of: dict[int, tuple[DaemonPods, ...]] = {}
        self._key_of: dict[str, MachineKey] = {machine.node: key for key, machine in objects.machines.items() if machine.node}
        self._numbers = _numbers(objects)
        self._made: dict[TargetRef, int] = {}
        self._dirty: dict[TargetRef, None] = {}
        self.templates: dict[TargetRef, NodeShape] = {}
        self.in_zones: dict[TargetRef, dict[str, NodeShape]] = {}
        self.static_pods: dict[TargetRef, tuple[StaticPod, ...]] = {}

    def behaviour(self, target: TargetRef) -> MachineBehaviour:
        """How machines of a target behave."""
        return self._behaviours.get(target.name, self._otherwise)

    def adopt_waiting(self) -> None:
        """Machines that were on their way when the view was taken: they join in their time."""
        for key, machine in sorted(self._objects.machines.items()):
            if machine.target in self.templates and not machine.node and not machine.failed and not machine.deleting:
                self._expect(key, machine.target, machine.created_seconds)

    def make_missing(self, targets: Iterable[TargetRef]) -> None:
        """Machines that were asked for and have no object yet. More machines than asked for are left alone: whoever
        lowered replicas before the view was taken is on it."""
        counts = self._counts()
        for target in targets:
            facts = self._objects.targets.get(target)
            if facts is not None and (facts.replicas or 0) > counts[target]:
                self._dirty[target] = None

    def resized(self, target: TargetRef) -> None:
        """Replicas of a target changed."""
        self._dirty[target] = None

    def reconcile(self) -> bool:
        """Follow the replicas of targets that changed; whether anything was done."""
        moved = False
        # What is made or deleted for a target changes no other count.
        counts = self._counts() if self._dirty else Counter()
        for target in list(self._dirty):
            del self._dirty[target]
            facts = self._objects.targets.get(target)
            if facts is None or facts.replicas is None:
                continue
            difference = facts.replicas - counts[target]
            for zone in self._next_zones(target, difference):
                self._make(target, zone)
            if difference < 0:
                self._shrink(target, -difference)
            moved = moved or difference != 0
        return moved

    def _counts(self) -> Counter[TargetRef]:
        """How many machines and nodes of each target are there, or on their way, and stay."""
        machines, nodes = self._objects.machines.values(), self._objects.nodes.values()
        deleting = {machine.node for machine in machines if machine.deleting}
        staying = (node for node in nodes if not node.value.deleting and node.name not in deleting)
        counts = Counter(node.target for node in staying if node.target is not None)
        counts.update(one.target for one in machines if one.target is not None and not one.node and not one.deleting)
        return counts

    def _without_node(self, target: TargetRef) -> list[MachineKey]:
        return [
            key
            for key, machine in self._objects.machines.items()
            if machine.target == target and not machine.node and not machine.deleting
        ]

    def _next_zones(self, target: TargetRef, count: int) -> Iterator[str]:
        """The zones of the next machines: each comes in the one with the fewest, empty where the template says where."""
        zones = self.in_zones.get(target)
        if not zones:
            yield from repeat("", count)
            return
        mine = [machine for machine in self._objects.machines.values() if machine.target == target and not machine.deleting]
        nodes = [node for node in self._objects.nodes.values() if node.target == target and not node.value.deleting]
        there = Counter(machine.zone for machine in mine if not machine.node)
        there.update(self._objects.shape_of(node).label(ZONE_LABEL) or "" for node in nodes)
        for _ in range(count):
            zone = min(zones, key=lambda one: (there[one], one))
            there[zone] += 1
            yield zone

    def _make(self, target: TargetRef, zone: str) -> None:
        now = self._agenda.now_seconds
        namespace = target.namespace or target.region
        taken = self._objects.machines
        while True:
            self._numbers[target] = self._numbers.get(target, 0) + 1
            name = f"{target.name}-{self._numbers[target]}"
            if (namespace, name) not in taken and name not in self._objects.nodes:
                break
        key = (namespace, name)
        taken[key] = Machine(namespace=namespace, name=name, target=target, created_seconds=now, phase="Provisioning", zone=zone)
        self._objects.touch()
        self._made[target] = self._made.get(target, 0) + 1
        self._expect(key, target, now)

    def _expect(self, key: MachineKey, target: TargetRef, asked_seconds: int) -> None:
        """Plan what becomes of a machine."""
        behaviour, now = self.behaviour(target), self._agenda.now_seconds
        if self._made.get(target, 0) and self._made[target] <= behaviour.fail_first:
            self._agenda.at(asked_seconds + behaviour.join_seconds, lambda: self._fail(key, "the provider refused to make it"))
            return
        if target not in self.templates:
            self._fail(key, "nothing says what its node would offer")
            return
        start = asked_seconds
        for shortage in sorted(behaviour.shortages, key=lambda shortage: shortage.from_seconds):
            if shortage.from_seconds <= max(start, now) < shortage.until_seconds:
                start = shortage.until_seconds
        self._agenda.at(start + behaviour.join_seconds, lambda: self._join(key))

    def _fail(self, key: MachineKey, why: str) -> None:
        machine = self._objects.machines.get(key)
        if machine is None or machine.deleting:
            return
        self._objects.machines[key] = msgspec.structs.replace(machine, failed=why, phase="Failed")
        self._journal.add(self._agenda.now_seconds, Happened.MACHINE_FAILED, machine.name, detail=why, target=str(machine.target))
        self._objects.touch()

    def _join(self, key: MachineKey) -> None:
        machine = self._objects.machines.get(key)
        if machine is None or machine.deleting or machine.node or machine.target is None:
            return
        now, target = self._agenda.now_seconds, machine.target
        template = self.in_zones.get(target, {}).get(machine.zone, self.templates[target])
        behaviour = self.behaviour(target)
        shape = _without_devices(template) if behaviour.device_seconds else template
        if behaviour.taint_seconds:
            shape = msgspec.structs.replace(shape, taints=tuple(sorted((*shape.taints, UNINITIALIZED))))
        value = Node(
            name=machine.name,
            uid=f"uid-{machine.name}",
            shape=self._objects.node_shape(shape),
            provider_id=f"sim:///{machine.name}",
            created_seconds=now,
            ready_seconds=now,
        )
        node = self._objects.add_node(value, target)
        self._key_of[node.name] = key
        self._objects.machines[key] = msgspec.structs.replace(
            machine, node=machine.name, provider_id=value.provider_id, phase="Running"
        )
        self._journal.add(now, Happened.NODE_JOINED, machine.name, target=str(target), before=machine.created_seconds)
        self._add_daemons(node, template)
        if behaviour.device_seconds:
            self._agenda.after(behaviour.device_seconds, lambda: self._show_devices(node, template))
        if behaviour.taint_seconds:
            self._agenda.after(behaviour.taint_seconds, lambda: self._initialized(node))

    def _show_devices(self, node: NodeObject, template: NodeShape) -> None:
        if self._objects.nodes.get(node.name) is not node:
            return
        shape = self._objects.shape_of(node)
        fresh = msgspec.structs.replace(shape, capacity=template.capacity, allocatable=template.allocatable)
        self._objects.change_node(node, node_shape=fresh)
        self._journal.add(self._agenda.now_seconds, Happened.DEVICES_SHOWN, node.name)

    def _initialized(self, node: NodeObject) -> None:
        if self._objects.nodes.get(node.name) is node:
            shape = self._objects.shape_of(node)
            taints = tuple(taint for taint in shape.taints if taint != UNINITIALIZED)
            self._objects.change_node(node, node_shape=msgspec.structs.replace(shape, taints=taints))

    def _add_daemons(self, node: NodeObject, template: NodeShape) -> None:
        for static in self.static_pods.get(node.target, ()) if node.target is not None else ():
            self._add_own(node, static.namespace, static.name, static.shape, static.traits)
        for daemon in self._daemons(node.value.shape, template):
            traits = self._objects.traits(
                PodTraits(namespace=daemon.namespace, controller=Owner("apps", "DaemonSet", daemon.name), daemonset=True)
            )
            self._add_own(node, daemon.namespace, daemon.name, daemon.shape, traits)

    def _add_own(self, node: NodeObject, namespace: str, name: str, shape: int, traits: int) -> None:
        full_name = f"{name}-{node.name}"
        pod = PodObject(namespace, full_name, f"uid-{full_name}", shape, traits, self._agenda.now_seconds)
        self._pods.created(self._objects.add_pod(pod, node))
        self._pods.bound(pod)

    def _daemons(self, index: int, template: NodeShape) -> tuple[DaemonPods, ...]:
        """Which DaemonSets have a pod on a node of this shape, asked of an otherwise empty node."""
        if not self._daemon_pods:
            return ()
        daemons = self._daemons_of.get(index)
        if daemons is None:
            state = SchedulingState(self._objects.empty_world())
            node = state.add_node("template", template)
            daemons = tuple(daemon for daemon in self._daemon_pods if state.place(daemon.shape, 1, [node]))
            self._daemons_of[index] = daemons
        return daemons

    def _shrink(self, target: TargetRef, count: int) -> None:
        machine_of = {machine.node: machine for machine in self._objects.machines.values() if machine.node}
        waiting = [(key, self._objects.machines[key]) for key in self._without_node(target)]
        waiting.sort(key=lambda item: (not item[1].delete_marked, not item[1].failed, -item[1].created_seconds, item[0]))
        nodes = [node for node in self._objects.nodes.values() if node.target == target and not node.value.deleting]
        nodes = [node for node in nodes if node.name not in machine_of or not machine_of[node.name].deleting]
        nodes.sort(
            key=lambda node: (
                node.name not in machine_of or not machine_of[node.name].delete_marked,
                -node.value.created_seconds,
                node.name,
            )
        )
        marked = [node for node in nodes if node.name in machine_of and machine_of[node.name].delete_marked]
        rest = [node for node in nodes if node not in marked]
        order: list[NodeObject | MachineKey] = [*marked, *(key for key, _ in waiting), *rest]
        for victim in order[:count]:
            if isinstance(victim, NodeObject):
                self.delete(victim)
            else:
                del self._objects.machines[victim]
                self._objects.touch()

    def not_cancellable(self, target: TargetRef, names: tuple[str, ...], replicas: int) -> str:
        """Why machines of a target may not be taken back so that `replicas` remain; empty when they may."""
        for machine in self._objects.machines.values():
            if machine.target == target and machine.name in names and machine.node:
                return f"machine {machine.name} has become node {machine.node}"
        left = self._counts()[target] - sum(1 for key in self._without_node(target) if key[1] in names)
        return f"{target} has {count_text(left, 'machine')} apart from them instead of {replicas}" if left > replicas else ""

    def cancel(self, target: TargetRef, names: tuple[str, ...]) -> None:
        """Machines that have no node are gone; the target follows its replicas."""
        for key in self._without_node(target):
            if key[1] in names:
                del self._objects.machines[key]
                self._objects.touch()
        self.resized(target)

    def delete(self, node: NodeObject) -> None:
        """Delete the machine of a node: the node is drained, then both are gone."""
        key = self._key_of.get(node.name)
        if key is not None:
            self._objects.machines[key] = msgspec.structs.replace(self._objects.machines[key], deleting=True, phase="Deleting")
        self._objects.change_node(node, deleting=True)
        self._drains.begin(node, None, lambda: self._delete_later(node), lambda _: None)

    def _delete_later(self, node: NodeObject) -> None:
        if self._durations.machine_delete_seconds:
            self._agenda.after(self._durations.machine_delete_seconds, lambda: self.gone(node))
        else:
            self.gone(node)

    def gone(self, node: NodeObject) -> None:
        """Machine and node are no more, with everything that still was on the node."""
        if self._objects.nodes.get(node.name) is not node:
            return
        self._drains.forget(node)
        for pod in list(node.pods):
            self._pods.vanish(pod)
        self._objects.remove_node(node)
        key = self._key_of.pop(node.name, None)
        if key is not None:
            del self._objects.machines[key]
        self._journal.add(self._agenda.now_seconds, Happened.NODE_GONE, node.name, target=str(node.target) if node.target else "")
        if node.target is not None:
            self.resized(node.target)


def _numbers(objects: ClusterObjects) -> dict[TargetRef, int]:
    """The highest number that names a machine or node of each target: a name is never used twice."""
    numbers: dict[TargetRef, int] = {}
    named = [(node.target, name) for name, node in objects.nodes.items()]
    named.extend((machine.target, machine.name) for machine in objects.machines.values())
    for target, name in named:
        head, _, tail = name.rpartition("-")
        number = whole_number(tail)
        if target is not None and head == target.name and number is not None:
            numbers[target] = max(numbers.get(target, 0), number)
    return numbers


def _without_devices(shape: NodeShape) -> NodeShape:
    return msgspec.structs.replace(shape, capacity=_no_devices(shape.capacity), allocatable=_no_devices(shape.allocatable))


def _no_devices(amounts: Resources) -> Resources:
    return msgspec.structs.replace(amounts, extended=tuple(item for item in amounts.extended if item[0] not in GPU_RESOURCES))
