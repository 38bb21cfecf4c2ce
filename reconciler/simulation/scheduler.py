"""Binds pending pods to nodes, as kube-scheduler would: by priority, then age, then name; no preemption.

Among the nodes that fit, the first by name wins. kube-scheduler scores instead (by default it prefers the emptiest),
with ties broken at random; a fixed order keeps runs repeatable, and packs pods so that a drained pod rarely has to
move twice.
"""

from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.objects import ClusterObjects, PodObject


class Scheduler:
    """Looks again only when something changed since the last look that left pods waiting."""

    def __init__(self, objects: ClusterObjects, scheduler_names: tuple[str, ...]) -> None:
        self._objects = objects
        self._names = scheduler_names
        self._looked_at = -1

    def bind_pending(self, now_seconds: int) -> list[PodObject]:
        """Bind what fits; the pods bound. The others are marked unschedulable from now on."""
        objects = self._objects
        if objects.revision == self._looked_at:
            return []
        waiting = [pod for pod in objects.pending() if objects.pod_shapes[pod.shape].scheduler_name in self._names]
        if not waiting:
            self._looked_at = objects.revision
            return []
        waiting.sort(key=lambda pod: (-objects.pod_shapes[pod.shape].priority, pod.created, pod.namespace, pod.name))
        world = objects.world(now_seconds)
        state = SchedulingState(world)
        nodes = [objects.nodes[node.name] for node in world.nodes]
        for index, node in enumerate(nodes):
            if not node.value.ready or node.value.deleting:
                state.close(index)
        bound: list[PodObject] = []
        full: set[int] = set()
        position = 0
        while position < len(waiting):
            shape, end = waiting[position].shape, position
            while end < len(waiting) and waiting[end].shape == shape:
                end += 1
            run = waiting[position:end]
            position = end
            placed = 0
            if shape not in full and not state.modelled(shape):
                for index, count in state.place(shape, len(run)):
                    for pod in run[placed : placed + count]:
                        objects.bind(pod, nodes[index])
                        bound.append(pod)
                    placed += count
            if placed < len(run):
                full.add(shape)
            for pod in run[placed:]:
                if not pod.unschedulable:
                    pod.unschedulable = now_seconds
                    objects.touch()
        # A pod that asks for company may fit once that company runs; every other refusal stands until nodes change.
        again = bool(bound) and any(pod.node is None and objects.pod_shapes[pod.shape].affinity for pod in waiting)
        self._looked_at = -1 if again else objects.revision
        return bound
