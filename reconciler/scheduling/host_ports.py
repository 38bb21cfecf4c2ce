"""Host ports in use: which shapes exclude each other, and on which nodes which port is taken."""

from collections.abc import Collection, Iterable

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.index_set import Holders
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection

# NodePorts: a host port is taken once a node, address and protocol.

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's own wildcard, nothing is bound here


class PortHolders:
    """The users of host ports: nodes, or pod shapes, by index. A question costs as many steps as it has ports.

    Source: framework `HostPortInfo.CheckConflict`. Two ports conflict if they have the same number and protocol, and the same
    address or one of them every address. No address means every address; no protocol means TCP.
    """

    __slots__ = ("_anywhere", "_at")

    def __init__(self) -> None:
        self._anywhere = Holders[tuple[int, str]]()
        self._at = Holders[HostPort]()

    def add(self, ports: Iterable[HostPort], holder: int, count: int) -> None:
        """The holder has each of the ports `count` times more; fewer when negative."""
        for port in ports:
            if port.port > 0:
                full = _in_full(port)
                self._anywhere.add((full.port, full.protocol), holder, count)
                self._at.add(full, holder, count)

    def of(self, port: HostPort) -> tuple[Collection[int], ...]:
        """Holders of a port that conflicts with this one; one can come twice."""
        full = _in_full(port)
        if full.host_ip == _EVERY_ADDRESS:
            return (self._anywhere.of((full.port, full.protocol)),)
        return self._at.of(full), self._at.of(_everywhere(full))

    def has(self, port: HostPort, holder: int) -> bool:
        """Does the holder have a port that conflicts with this one?"""
        full = _in_full(port)
        if full.host_ip == _EVERY_ADDRESS:
            return self._anywhere.has((full.port, full.protocol), holder)
        return self._at.has(full, holder) or self._at.has(_everywhere(full), holder)


def ports_rejection(ports: Iterable[HostPort], held: PortHolders, node: int) -> Rejection | None:
    """What NodePorts says of a node, naming every port that is taken."""
    taken = [port for port in ports if held.has(port, node)]
    if not taken:
        return None
    return Rejection("NodePorts", f"host port {', '.join(_text(port) for port in taken)} is taken")


def _in_full(port: HostPort) -> HostPort:
    """The port with what is left out. Mostly nothing is, and then it is the same object: thousands of them are kept."""
    if port.protocol and port.host_ip:
        return port
    return HostPort(port.port, port.protocol or "TCP", port.host_ip or _EVERY_ADDRESS)


def _everywhere(port: HostPort) -> HostPort:
    return HostPort(port.port, port.protocol, _EVERY_ADDRESS)


def _text(port: HostPort) -> str:
    number = f"{port.port}/{port.protocol or 'TCP'}"
    return number if port.host_ip in ("", _EVERY_ADDRESS) else f"{port.host_ip}:{number}"


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
