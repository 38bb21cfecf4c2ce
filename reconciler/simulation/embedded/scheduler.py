"""Binds pending pods to nodes, as kube-scheduler would: by priority, then age, then name, with preemption.

Of the nodes that fit, the first by name wins. kube-scheduler scores instead: by default it prefers the emptiest, with ties broken
at random. A fixed order keeps runs repeatable. It also packs pods so that a drained pod rarely has to move twice.
PodGroups are bound whole or not at all. They displace nobody here.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

import msgspec

from reconciler.decisions.situation.pod_groups import GroupedPods, grouped_pods
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.preemption import Preemption, VictimsByShape, find_victims
from reconciler.simulation.embedded.scheduler_cache import SchedulerCache

Placing = Callable[[SchedulingState, int, int, list[NodeObject]], tuple[tuple[int, int], ...]]
"""Binds up to so many pods of a shape in a state over nodes (by index); (node, pods bound) as `SchedulingState.place` has it."""


class Bindings(msgspec.Struct, frozen=True):
    """What one look at the pending pods led to."""

    bound: tuple[PodObject, ...] = ()
    preemptions: tuple[Preemption, ...] = ()


class Trial:
    """Nodes are known by their index in the World."""

    def __init__(self, state: SchedulingState, cache: SchedulerCache) -> None:
        self._state = state
        self._cache = cache

    def empty(self, pods: Iterable[tuple[int, int]], nodes: Iterable[NodeObject]) -> None:
        """Take pods (node and shape) away from nodes that take no others."""
        there = {node.index: self._cache.place_of(node) for node in nodes}
        counts = Counter(pods)
        left, shapes = array("i", [there[node] for node, _ in counts]), array("i", [shape for _, shape in counts])
        self._state.bind_list(left, shapes, array("i", [-count for count in counts.values()]))
        for place in there.values():
            self._state.close(place)

    def place(self, shape: int, count: int) -> list[tuple[int, int]]:
        """As `SchedulingState.place`."""
        return [(self._cache.nodes[node].index, pods) for node, pods in self._state.place(shape, count)]


class Scheduler:
    """Looks again only when something changed since the last look that left pods waiting."""

    def __init__(self, objects: ClusterObjects, scheduler_names: tuple[str, ...], protected: Callable[[PodObject], str]) -> None:
        """`protected` says why a disruption budget keeps a pod, or is empty."""
        self._objects = objects
        self._names = scheduler_names
        self._protected = protected
        self._looked_at = -1
        self._cache = SchedulerCache(objects)
        self.placing: Placing | None = None
        """Where pods would rather go, instead of the first node by name."""

    def is_for(self, shape: int) -> bool:
        """Do pods of the shape name one of these schedulers?"""
        return self._objects.pod_shapes[shape].scheduler_name in self._names

    @contextmanager
    def trial(self, now_seconds: int, shapes: set[int]) -> Iterator["Trial"]:
        """Where pods of these shapes would go. All that is tried is undone at the end."""
        state = self._cache.state(now_seconds, shapes)
        tried = state.mark()
        try:
            yield Trial(state, self._cache)
        finally:
            state.undo(tried)

    def look(self, now_seconds: int) -> Bindings:
        """Bind what fits, nominate for others where lower ones can give way; the rest is marked unschedulable."""
        objects = self._objects
        if objects.revision == self._looked_at:
            return Bindings()
        waiting = [pod for pod in objects.pending() if self.is_for(pod.shape)]
        if not waiting:
            self._looked_at = objects.revision
            return Bindings()
        waiting.sort(key=lambda pod: (-objects.pod_shapes[pod.shape].priority, pod.created, pod.namespace, pod.name))
        state = self._cache.state(now_seconds, {pod.shape for pod in waiting})
        nodes, tried = self._cache.nodes, state.mark()
        lowest = objects.lowest_priority()
        bound: list[PodObject] = []
        preemptions: list[Preemption] = []
        full: set[int] = set()
        victims = VictimsByShape()
        for needed, runs in self._together(waiting, now_seconds):
            before = state.mark()
            spreads = [self._places(run, state, full) for run in runs]
            if sum(count for spread in spreads for _, count in spread) < needed:
                state.undo(before)
                spreads = [() for _ in runs]
            for run, spread in zip(runs, spreads, strict=True):
                placed = 0
                for index, count in spread:
                    victims.forget(index)
                    for pod in run[placed : placed + count]:
                        objects.bind(pod, nodes[index])
                        bound.append(pod)
                    placed += count
                if placed < len(run):
                    shape = run[0].shape
                    full.add(shape)
                    alone = not objects.pod_shapes[shape].pod_group
                    higher = alone and not state.modelled(shape) and objects.pod_shapes[shape].priority > lowest
                    self._leave(run[placed:], nodes, state, preemptions, victims, now_seconds, higher=higher)
        # What was bound is told to the cache as everything else that moved; room that was kept for somebody is not.
        state.undo(tried)
        # A pod that asks for company may fit once that company runs; every other refusal stands until nodes change.
        again = bool(bound) and any(pod.node is None and objects.pod_shapes[pod.shape].affinity for pod in waiting)
        self._looked_at = -1 if again else objects.revision
        return Bindings(tuple(bound), tuple(preemptions))

    def _places(self, run: list[PodObject], state: SchedulingState, full: set[int]) -> Sequence[tuple[int, int]]:
        """Where pods of one shape go: (node, pods)."""
        shape, wanted = run[0].shape, len(run)
        if shape in full or state.modelled(shape):
            return ()
        return state.place(shape, wanted) if self.placing is None else self.placing(state, shape, wanted, self._cache.nodes)

    def _together(self, waiting: list[PodObject], now_seconds: int) -> Iterator[tuple[int, list[list[PodObject]]]]:
        """Pods in the order in which they are looked at, in runs of one shape each. The number with them says how
        many of them are bound at least, or none. The pods of a PodGroup are looked at when the first of them is."""
        objects = self._objects
        groups: dict[int, GroupedPods] = {}
        if any(objects.pod_shapes[pod.shape].pod_group for pod in waiting):
            world = objects.world(now_seconds)
            groups = {shape: group for group in grouped_pods(world, waiting_pods(world)) for shape in group.shapes}
        of_group: dict[tuple[str, str], list[PodObject]] = {}
        for pod in waiting:
            if pod.shape in groups:
                of_group.setdefault(groups[pod.shape].key, []).append(pod)
        for shape, alike in groupby(waiting, key=lambda pod: pod.shape):
            if shape not in groups:
                yield 0, [list(alike)]
            elif members := of_group.pop(groups[shape].key, None):
                members.sort(key=lambda pod: pod.shape)
                needed = len(members) + 1 if groups[shape].held is not None else groups[shape].needed
                yield needed, [list(run) for _, run in groupby(members, key=lambda pod: pod.shape)]

    def _leave(
        self,
        pods: list[PodObject],
        nodes: list[NodeObject],
        state: SchedulingState,
        preemptions: list[Preemption],
        victims: VictimsByShape,
        now_seconds: int,
        *,
        higher: bool,
    ) -> None:
        """Pods that fit nowhere now: lower ones may give way, and the room that they leave is kept."""
        objects = self._objects
        given_up = {victim for preemption in preemptions for victim in preemption.victims}
        for pod in pods:
            if not pod.unschedulable:
                pod.unschedulable = now_seconds
                objects.touch_pod(pod)
            if pod.nominated is not None and self._is_made_room_for(pod, pod.nominated, state):
                place = self._cache.place_of(pod.nominated)
                state.bind(pod.shape, place)
                victims.forget(place)
                continue
            known = victims.known(pod.shape, state)
            eviction = find_victims(pod, objects, state, nodes, given_up, self._protected, known) if higher else None
            if eviction is None:
                if pod.nominated is not None:
                    pod.nominated = None
                    objects.touch_pod(pod)
                higher = False  # the next one of this shape has no better luck
                continue
            place = self._cache.place_of(eviction.node)
            for victim in eviction.victims:
                state.unbind(victim.shape, place)
            state.bind(pod.shape, place)
            pod.nominated = eviction.node
            objects.touch_pod(pod)
            preemptions.append(eviction)
            given_up.update(eviction.victims)
            victims.forget(place)

    def _is_made_room_for(self, pod: PodObject, node: NodeObject, state: SchedulingState) -> bool:
        """Whether lower ones still end where the pod is to go; not when the node takes no pods any more."""
        shapes = self._objects.pod_shapes
        place = self._cache.place_of(node)
        if place < 0 or state.closed(place) or self._objects.shape_of(node).unschedulable:
            return False
        return any(other.deletion and shapes[other.shape].priority < shapes[pod.shape].priority for other in node.pods)
