"""Binds pending pods to nodes, as kube-scheduler would: by priority, then age, then name, with preemption.

Of the nodes that fit, the first by name wins. kube-scheduler scores instead: by default it prefers the emptiest, with ties broken
at random. A fixed order keeps runs repeatable. It also packs pods so that a drained pod rarely has to move twice.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import msgspec

from reconciler.scheduling.state import LastingState, SchedulingState
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_lifecycle import Preemption, find_victims
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject

# What the scheduler knows of nodes and pods, kept current between two looks as kube-scheduler's cache is.


class SchedulerCache:
    """`nodes` are the nodes by their index in the state; removed ones keep theirs until everything is read again."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._state: LastingState | None = None
        self._places: dict[NodeObject, int] = {}
        self.nodes: list[NodeObject] = []

    def place_of(self, node: NodeObject) -> int:
        """The index of a node in the state; -1 when it is not there any more."""
        return self._places.get(node, -1)

    def state(self, now_seconds: int, shapes: Iterable[int]) -> LastingState:
        """The state at this instant, for pods of these shapes. What is tried in it has to be undone."""
        state = self._state
        if state is None or not self._keeps(state, shapes) or not self._follow(state):
            state = self._read(now_seconds)
        self._objects.turnover.clear()
        return state

    def _keeps(self, state: LastingState, shapes: Iterable[int]) -> bool:
        """Is what was read still good when it follows what has changed? Volumes are judged by what is bound where in ways that
        nothing follows."""
        objects = self._objects
        if not objects.turnover.lasting or len(objects.pod_shapes) != state.shape_count or objects.serves_devices:
            return False
        return not any(objects.pod_shapes[shape].volumes or objects.pod_shapes[shape].unmodelled for shape in shapes)

    def _follow(self, state: LastingState) -> bool:
        objects, places = self._objects, self._places
        moved = [(places[node], shape, count) for (node, shape), count in objects.turnover.moved.items() if count]
        nodes, shapes, counts = zip(*moved, strict=True) if moved else ((), (), ())
        state.bind_list(array("i", nodes), array("i", shapes), array("i", counts))
        for node in objects.turnover.nodes:
            index = places[node]
            if objects.nodes.get(node.name) is not node:
                state.remove(index)
                del places[node]
                continue
            if not state.alter(index, objects.shape_of(node)):
                return False
            state.open_or_close(index, closed=_takes_none(node))
        return True

    def _read(self, now_seconds: int) -> LastingState:
        objects = self._objects
        world = objects.world(now_seconds)
        state = self._state = LastingState(world)
        self.nodes = [objects.nodes[node.name] for node in world.nodes]
        self._places = {node: index for index, node in enumerate(self.nodes)}
        for index, node in enumerate(self.nodes):
            state.open_or_close(index, closed=_takes_none(node))
        return state


def _takes_none(node: NodeObject) -> bool:
    return not node.value.ready or node.value.deleting


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
        for (node, shape), count in Counter(pods).items():
            self._state.unbind(shape, there[node], count)
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
        position = 0
        while position < len(waiting):
            shape, end = waiting[position].shape, position
            while end < len(waiting) and waiting[end].shape == shape:
                end += 1
            run = waiting[position:end]
            position = end
            placed = 0
            modelled = not state.modelled(shape)
            if shape not in full and modelled:
                wanted = len(run)
                spread = state.place(shape, wanted) if self.placing is None else self.placing(state, shape, wanted, nodes)
                for index, count in spread:
                    for pod in run[placed : placed + count]:
                        objects.bind(pod, nodes[index])
                        bound.append(pod)
                    placed += count
            if placed < len(run):
                full.add(shape)
                higher = modelled and objects.pod_shapes[shape].priority > lowest
                self._leave(run[placed:], nodes, state, preemptions, now_seconds, higher=higher)
        # What was bound is told to the cache as everything else that moved; room that was kept for somebody is not.
        state.undo(tried)
        # A pod that asks for company may fit once that company runs; every other refusal stands until nodes change.
        again = bool(bound) and any(pod.node is None and objects.pod_shapes[pod.shape].affinity for pod in waiting)
        self._looked_at = -1 if again else objects.revision
        return Bindings(tuple(bound), tuple(preemptions))

    def _leave(
        self,
        pods: list[PodObject],
        nodes: list[NodeObject],
        state: SchedulingState,
        preemptions: list[Preemption],
        now_seconds: int,
        *,
        higher: bool,
    ) -> None:
        """Pods that fit nowhere now: lower ones may give way, and the room that they leave is kept."""
        objects = self._objects
        for pod in pods:
            if not pod.unschedulable:
                pod.unschedulable = now_seconds
                objects.touch_pod(pod)
            if pod.nominated is not None and self._is_made_room_for(pod, pod.nominated, state):
                state.bind(pod.shape, self._cache.place_of(pod.nominated))
                continue
            given_up = {victim for preemption in preemptions for victim in preemption.victims}
            eviction = find_victims(pod, objects, state, nodes, given_up, self._protected) if higher else None
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

    def _is_made_room_for(self, pod: PodObject, node: NodeObject, state: SchedulingState) -> bool:
        """Whether lower ones still end where the pod is to go; not when the node takes no pods any more."""
        shapes = self._objects.pod_shapes
        place = self._cache.place_of(node)
        if place < 0 or state.closed(place) or self._objects.shape_of(node).unschedulable:
            return False
        return any(other.deletion and shapes[other.shape].priority < shapes[pod.shape].priority for other in node.pods)
