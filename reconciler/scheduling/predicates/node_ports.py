"""NodePorts: a host port is taken once a node, address and protocol."""

from collections.abc import Iterable

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.verdict import Rejection

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's own wildcard, nothing is bound here


def conflicts(one: HostPort, other: HostPort) -> bool:
    """Can the two not be on one node?

    Source: framework `HostPortInfo.CheckConflict`: same port and protocol, and the same address or either of them on
    every address; no address means every address, no protocol TCP.
    """
    if one.port != other.port or one.port <= 0 or (one.protocol or "TCP") != (other.protocol or "TCP"):
        return False
    first, second = one.host_ip or _EVERY_ADDRESS, other.host_ip or _EVERY_ADDRESS
    return first == second or _EVERY_ADDRESS in (first, second)


def any_conflict(ports: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Does any of the ports collide with one that is taken?"""
    known = tuple(taken)
    return any(conflicts(port, other) for port in ports for other in known)


def ports_rejection(ports: Iterable[HostPort], taken: Iterable[HostPort]) -> Rejection | None:
    """What NodePorts says, naming every port that is taken."""
    known = tuple(taken)
    found = [port for port in ports if any(conflicts(port, other) for other in known)]
    if not found:
        return None
    return Rejection("NodePorts", f"host port {', '.join(_text(port) for port in found)} is taken")


def _text(port: HostPort) -> str:
    number = f"{port.port}/{port.protocol or 'TCP'}"
    return number if port.host_ip in ("", _EVERY_ADDRESS) else f"{port.host_ip}:{number}"
