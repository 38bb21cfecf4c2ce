"""The scheduler's cache of nodes and pods, kept current between two runs."""

from array import array
from collections.abc import Iterable

from reconciler.scheduling.lasting_state import LastingState
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject


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
