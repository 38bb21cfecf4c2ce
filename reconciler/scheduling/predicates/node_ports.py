"""NodePorts: a host port is taken once a node, address and protocol."""

from collections.abc import Collection, Iterable

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.verdict import Rejection

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's own wildcard, nothing is bound here

_Holders = dict[int, int]
_NOBODY: _Holders = {}


class PortHolders:
    """Who holds which host port: nodes, or pod shapes, by index. A question costs as many steps as it has ports.

    Source: framework `HostPortInfo.CheckConflict`: two ports conflict that have the same number and protocol, and the same
    address or either of them every address; no address means every address, no protocol TCP.
    """

    __slots__ = ("_anywhere", "_at")

    def __init__(self) -> None:
        self._anywhere: dict[tuple[int, str], _Holders] = {}
        self._at: dict[tuple[int, str, str], _Holders] = {}

    def add(self, ports: Iterable[HostPort], holder: int, count: int) -> None:
        """The holder has each of the ports `count` times more; fewer when negative."""
        for port in ports:
            number, protocol, address = _slot(port)
            if number > 0:
                _count(self._anywhere.setdefault((number, protocol), {}), holder, count)
                _count(self._at.setdefault((number, protocol, address), {}), holder, count)

    def of(self, port: HostPort) -> tuple[Collection[int], ...]:
        """Holders of a port that conflicts with this one; one can come twice."""
        return tuple(found.keys() for found in self._conflicting(port) if found)

    def has(self, port: HostPort, holder: int) -> bool:
        """Does the holder have a port that conflicts with this one?"""
        return any(holder in found for found in self._conflicting(port))

    def _conflicting(self, port: HostPort) -> tuple[_Holders, ...]:
        number, protocol, address = _slot(port)
        if address == _EVERY_ADDRESS:
            return (self._anywhere.get((number, protocol), _NOBODY),)
        return (
            self._at.get((number, protocol, address), _NOBODY),
            self._at.get((number, protocol, _EVERY_ADDRESS), _NOBODY),
        )


def ports_rejection(ports: Iterable[HostPort], held: PortHolders, node: int) -> Rejection | None:
    """What NodePorts says of a node, naming every port that is taken."""
    found = [port for port in ports if held.has(port, node)]
    if not found:
        return None
    return Rejection("NodePorts", f"host port {', '.join(_text(port) for port in found)} is taken")


def _slot(port: HostPort) -> tuple[int, str, str]:
    return port.port, port.protocol or "TCP", port.host_ip or _EVERY_ADDRESS


def _count(holders: _Holders, holder: int, count: int) -> None:
    total = holders.get(holder, 0) + count
    if total:
        holders[holder] = total
    else:
        del holders[holder]


def _text(port: HostPort) -> str:
    number = f"{port.port}/{port.protocol or 'TCP'}"
    return number if port.host_ip in ("", _EVERY_ADDRESS) else f"{port.host_ip}:{number}"
