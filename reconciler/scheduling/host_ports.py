"""Host ports in use: which shapes exclude each other, and where they are."""

from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.predicates.node_ports import any_conflict, ports_rejection
from reconciler.scheduling.presence import Presence
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection


class HostPorts:
    """NodePorts over a state. Built when the first pod with a host port is asked about."""

    def __init__(self, bindings: Bindings, shapes: ShapeTable) -> None:
        self._bindings = bindings
        self._shapes = shapes
        self._seen = 0
        self._users: dict[int, Presence] = {}
        self._rivals: dict[int, tuple[int, ...]] = {}

    def excluded(self, shape: int) -> list[int]:
        """Nodes where a port of the shape is taken."""
        return [node for rival in self._conflicting(shape) for node in self._users[rival].counts]

    def rivals(self, shape: int) -> tuple[int, ...]:
        """Shapes with a port that conflicts with one of this shape, itself among them."""
        return self._conflicting(shape)

    def fits(self, shape: int, node: int) -> bool:
        """Are all ports of the shape free on the node?"""
        return not any(node in self._users[rival].counts for rival in self._conflicting(shape))

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What NodePorts says of one node."""
        taken = [
            port
            for rival in self._conflicting(shape)
            if node in self._users[rival].counts
            for port in self._shapes.shapes[rival].host_ports
        ]
        return ports_rejection(self._shapes.shapes[shape].host_ports, taken)

    def _conflicting(self, shape: int) -> tuple[int, ...]:
        if self._seen < len(self._shapes):
            for index in range(self._seen, len(self._shapes)):
                if self._shapes.shapes[index].host_ports:
                    self._users[index] = Presence(self._bindings, index)
            self._seen = len(self._shapes)
            self._rivals.clear()
        found = self._rivals.get(shape)
        if found is None:
            ports = self._shapes.shapes[shape].host_ports
            found = self._rivals[shape] = tuple(
                user for user in self._users if any_conflict(ports, self._shapes.shapes[user].host_ports)
            )
        return found
