"""The default topology spread of kube-scheduler: what it asks of pods that have no constraints of their own.

SOURCE: kube-scheduler 1.36, plugin PodTopologySpread (`getConstraints`, `buildDefaultConstraints`) and `helper.DefaultSelector`.
A pod with any constraint, even one of ScheduleAnyway, gets no defaults. All defaults of a pod have the same selector. It has the
labels of all Services that select the pod. It also has the selector of the controller, if that is a ReplicaSet, StatefulSet or
ReplicationController. A controller that is not there adds nothing. Without a requirement in that selector the pod gets no
defaults, so that pods of Jobs and DaemonSets without a Service have none. ScheduleAnyway only scores, so it never decides
whether a pod fits.
"""

from array import array
from collections import defaultdict

import msgspec

from reconciler.cluster.pods.pod import Owner, PodShape, SpreadConstraint, SpreadFrom
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.workloads.workload import Service
from reconciler.cluster.world import World, with_pod_shapes
from reconciler.policy.documents import NodeGroupPolicy, WhenUnsatisfiable
from reconciler.values.label_selector import LabelSelector, Requirement

SERVICE = "Service"
_MAP_OWNER = ("", "ReplicationController")
_OWNERS = frozenset({("apps", "ReplicaSet"), ("apps", "StatefulSet"), _MAP_OWNER})
_OF_DEFAULTS = (SpreadFrom.SCHEDULER, SpreadFrom.UNKNOWN)

_Labels = tuple[tuple[str, str], ...]


def needs_services(policy: NodeGroupPolicy) -> bool:
    """Whether decisions of this policy read Services: some default constraint says DoNotSchedule."""
    return any(one.when_unsatisfiable == WhenUnsatisfiable.DO_NOT_SCHEDULE for one in policy.scheduler.default_constraints)


def with_default_spread(world: World, policy: NodeGroupPolicy) -> World:
    """The World in which the shapes of pods without constraints have those of the scheduler that the policy describes.

    The numbers of shapes may change, so one World serves everything that compares numbers. The result for a result is itself.
    """
    if not needs_services(policy) and not any(shape.spread_from in _OF_DEFAULTS for shape in world.pod_shapes):
        return world
    defaults = DefaultSpread(world, policy)
    shapes, of_pairs = _judged(world, defaults)
    missing = (SERVICE,) if needs_services(policy) and SERVICE not in world.captured else ()
    named = with_pod_shapes(world, shapes, _renumbered(world, of_pairs), lambda number: of_pairs[number, None])
    return msgspec.structs.replace(named, not_captured=tuple(sorted({*world.not_captured, *missing})))


class DefaultSpread:
    """The default constraints of a policy's scheduler in one cluster."""

    def __init__(self, world: World, policy: NodeGroupPolicy) -> None:
        self._hard = tuple(
            SpreadConstraint(
                topology_key=one.topology_key,
                max_skew=one.max_skew,
                min_domains=one.min_domains,
                selector=None,
                node_affinity_policy=one.node_affinity_policy.value,
                node_taints_policy=one.node_taints_policy.value,
            )
            for one in policy.scheduler.default_constraints
            if one.when_unsatisfiable == WhenUnsatisfiable.DO_NOT_SCHEDULE
        )
        self._schedulers = frozenset(policy.pods.scheduler_names)
        self._captured = frozenset(world.captured)
        self._unread = {(one.kind, one.namespace, one.name) for one in world.unread}
        self._unread_services = {one.namespace for one in world.unread if one.kind == SERVICE}
        self._controllers = {(one.api_group, one.kind, one.namespace, one.name): one.selector for one in world.controllers}
        # By one of the labels that a Service asks for: a pod is compared with few of the Services of its namespace.
        self._services: dict[tuple[str, str, str], list[Service]] = defaultdict(list)
        for service in world.services:
            if service.selector:
                self._services[service.namespace, *service.selector[0]].append(service)

    def of(self, shape: PodShape, controller: Owner | None) -> PodShape:
        """The shape with what the scheduler asks of a pod with this controller."""
        if shape.spread_from is SpreadFrom.POD:
            return shape
        spread, spread_from = self._constraints(shape, controller)
        if spread == shape.spread and spread_from is shape.spread_from:
            return shape
        return msgspec.structs.replace(shape, spread=spread, spread_from=spread_from)

    def _constraints(self, shape: PodShape, controller: Owner | None) -> tuple[tuple[SpreadConstraint, ...], SpreadFrom]:
        if not self._hard or shape.scheduler_name not in self._schedulers:
            return (), SpreadFrom.NOWHERE
        services = SERVICE in self._captured and shape.namespace not in self._unread_services
        if (shape.labels and not services) or not self._knows(controller, shape.namespace):
            return (), SpreadFrom.UNKNOWN
        selector = self._selector(shape, controller)
        if not selector.requirements:
            return (), SpreadFrom.NOWHERE
        constraints = (msgspec.structs.replace(one, selector=selector) for one in self._hard)
        return tuple(sorted(constraints, key=msgspec.json.encode)), SpreadFrom.SCHEDULER

    def _knows(self, controller: Owner | None, namespace: str) -> bool:
        if controller is None or not _is_read(controller):
            return True
        return controller.kind in self._captured and (controller.kind, namespace, controller.name) not in self._unread

    def _selector(self, shape: PodShape, controller: Owner | None) -> LabelSelector:
        labels = dict(self._selected_by(shape.namespace, shape.labels))
        own: tuple[Requirement, ...] = ()
        if controller is not None and _is_read(controller):
            key = (controller.api_group, controller.kind, shape.namespace, controller.name)
            selector = self._controllers.get(key)
            own = selector.requirements if selector is not None else ()
            if key[:2] == _MAP_OWNER:
                # Maps are merged by label, so that this one wins. Selectors of the others are added, whatever they contradict.
                labels |= {one.key: one.values[0] for one in own}
                own = ()
        requirements = {*own, *(Requirement(key, "In", (value,)) for key, value in labels.items())}
        return LabelSelector(tuple(sorted(requirements)))

    def _selected_by(self, namespace: str, labels: _Labels) -> _Labels:
        """The labels that Services of the namespace which select these labels ask for."""
        has = set(labels)
        found: set[tuple[str, str]] = set()
        for key, value in labels:
            for service in self._services.get((namespace, key, value), ()):
                if has.issuperset(service.selector):
                    found.update(service.selector)
        return tuple(sorted(found))


def _is_read(controller: Owner) -> bool:
    """Whether the scheduler reads the selector of this controller."""
    return (controller.api_group, controller.kind) in _OWNERS


def _judged(world: World, defaults: DefaultSpread) -> tuple[tuple[PodShape, ...], dict[tuple[int, Owner | None], int]]:
    """All shapes, and their numbers by old number and controller. None stands for every controller that adds nothing, and for
    pods of templates. Shapes keep their order; what one shape splits into stays together."""
    controllers = [one.controller if one.controller and _is_read(one.controller) else None for one in world.pod_traits]
    owners: dict[int, set[Owner | None]] = defaultdict(set)
    for number, traits in set(zip(world.pods.shape, world.pods.traits, strict=True)):
        owners[number].add(controllers[traits])
    for pods in world.daemon_pods:
        for number in (pods.shape, *pods.others):
            owners[number].add(None)
    for buffer in world.buffers:
        if buffer.shape >= 0:
            owners[buffer.shape].add(None)
    for request in world.provisioning_requests:
        for one in request.sets:
            owners[one.shape].add(None)
    numbers: dict[PodShape, int] = {}
    of_pairs: dict[tuple[int, Owner | None], int] = {}
    for number, shape in enumerate(world.pod_shapes):
        found = owners.get(number)
        if found is None:
            # No pod of a simulation has it at present. Its controller will make one, and that one is like those before.
            keeps = shape.spread_from in _OF_DEFAULTS
            of_pairs[number, None] = numbers.setdefault(shape if keeps else defaults.of(shape, None), len(numbers))
            continue
        for owner in sorted(found, key=lambda one: (one is not None, one or _NOBODY)):
            of_pairs[number, owner] = numbers.setdefault(defaults.of(shape, owner), len(numbers))
    return tuple(numbers), of_pairs


_NOBODY = Owner("", "", "")


def _renumbered(world: World, of_pairs: dict[tuple[int, Owner | None], int]) -> PodTable:
    """The pods with the new numbers of their shapes; the same table where none changes."""
    if all(old == new for (old, _), new in of_pairs.items()):
        return world.pods
    pods = world.pods
    controllers = [one.controller if one.controller and _is_read(one.controller) else None for one in world.pod_traits]
    known: dict[tuple[int, int], int] = {}
    for pair in set(zip(pods.shape, pods.traits, strict=True)):
        known[pair] = of_pairs[pair[0], controllers[pair[1]]]
    column = array("i", map(known.__getitem__, zip(pods.shape, pods.traits, strict=True)))
    return pods.with_columns(shape=column)
