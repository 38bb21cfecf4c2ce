"""NodePorts: a host port is used once per node, address and protocol."""

from collections.abc import Collection, Iterable

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.index_sets.holders import Holders
from reconciler.scheduling.verdict import Rejection

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
