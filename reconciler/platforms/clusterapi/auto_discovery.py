"""Cluster Autoscaler's `--node-group-auto-discovery=clusterapi:…` as discovery items of a policy.

SOURCE: its Cluster API provider. Only the keys `namespace` and `clusterName` have a meaning; every other key is a label. Items
of one flag are AND-ed, several flags are OR-ed. Here, several flags may name several namespaces. Upstream then watches only the
first one, and silently finds nothing in the others.
"""

from reconciler.policy.documents import Discovery

_PROVIDER = "clusterapi"


class DiscoverySpecError(ValueError):
    """The flag cannot be read. The message states the fault."""


def discovery_of(flag: str, name: str = _PROVIDER) -> Discovery:
    """One flag as one discovery item. Raises `DiscoverySpecError`."""
    provider, colon, rest = flag.partition(":")
    if not colon:
        raise DiscoverySpecError(f'"{flag}" has no provider: write {_PROVIDER}:namespace=NAME,clusterName=NAME,label=value')
    if provider != _PROVIDER:
        raise DiscoverySpecError(f'"{flag}" is for provider {provider}, not for {_PROVIDER}')
    namespaces: tuple[str, ...] = ()
    cluster_name = ""
    labels: list[tuple[str, str]] = []
    for position, item in enumerate((item for item in rest.split(",") if rest), 1):
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise DiscoverySpecError(f'"{flag}": invalid item {position} "{item}": write key=value')
        if key == "namespace":
            namespaces = (value,) if value else ()
        elif key == "clusterName":
            cluster_name = value
        else:
            labels.append((key, value))
    return Discovery(
        name=name, provider="clusterAPI", namespaces=namespaces, cluster_name=cluster_name, labels=tuple(sorted(labels))
    )
