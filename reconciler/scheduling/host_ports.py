"""Host ports in use: which shapes exclude each other, and on which nodes which port is taken."""

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.port_holders import PortHolders, ports_rejection
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection

_A_PORT = 20
"""Steps to note who holds a port."""


class HostPorts:
    """NodePorts over a state. Built when the first pod with a host port is asked about.

    Both indexes are by port: to compare each shape with each other, port by port, grows with the square of both.
    """

    def __init__(self, bindings: Bindings, shapes: ShapeTable) -> None:
        self._bindings = bindings
        self._shapes = shapes
        self._seen = 0
        self._users = PortHolders()
        self._nodes = PortHolders()

    def excluded(self, shape: int) -> list[int]:
        """Nodes where a port of the shape is taken."""
        self._learn()
        excluded = [node for port in self._ports(shape) for nodes in self._nodes.of(port) for node in nodes]
        self._shapes.effort.add(len(excluded))
        return excluded

    def rivals(self, shape: int) -> frozenset[int]:
        """Shapes with a port that conflicts with one of this shape, itself among them."""
        self._learn()
        rivals = [user for port in self._ports(shape) for users in self._users.of(port) for user in users]
        self._shapes.effort.add(len(rivals))
        return frozenset(rivals)

    def fits(self, shape: int, node: int) -> bool:
        """Are all ports of the shape free on the node?"""
        self._learn()
        return not any(self._nodes.has(port, node) for port in self._ports(shape))

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What NodePorts says of one node."""
        self._learn()
        return ports_rejection(self._ports(shape), self._nodes, node)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        self._shapes.effort.spend(shape, _A_PORT * len(self._ports(shape)))
        self._nodes.add(self._ports(shape), node, count)

    def _ports(self, shape: int) -> tuple[HostPort, ...]:
        return self._shapes.shapes[shape].host_ports

    def _learn(self) -> None:
        if self._seen == len(self._shapes):
            return
        new = [shape for shape in range(self._seen, len(self._shapes)) if self._ports(shape)]
        self._seen = len(self._shapes)
        for shape, node, count in self._bindings.of(new):
            self.change(shape, node, count)
        for shape in new:
            self._shapes.effort.spend(shape, _A_PORT * len(self._ports(shape)))
            self._users.add(self._ports(shape), shape, 1)
            self._bindings.watchers.watch(shape, self)
