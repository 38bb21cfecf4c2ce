"""How the Cluster Autoscaler's settings name targets of Cluster API.

SOURCE: its Cluster API provider (`Kind/namespace/name`; `clusterapi:namespace=…,clusterName=…,label=value`) and its Helm chart.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.policy.documents import Discovery
from reconciler.policy.platform_parts import NamedTarget, PlatformFlags
from reconciler.values.loose_json import mappings_at

# Cluster Autoscaler's `--node-group-auto-discovery=clusterapi:…` as discovery items of a policy.
#
# SOURCE: its Cluster API provider. Only the keys `namespace` and `clusterName` have a meaning; every other key is a label. Items
# of one flag are AND-ed, several flags are OR-ed. Here, several flags may name several namespaces. Upstream then watches only the
# first one, and silently finds nothing in the others.

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


_CLOUD = "clusterapi"


def _named(text: str, _: Callable[[], str]) -> NamedTarget | None:
    kind, _slash, rest = text.partition("/")
    namespace, slash, name = rest.partition("/")
    if not slash:
        return None
    return NamedTarget(
        target={"clusterAPI": {"kind": kind, "namespace": namespace, "name": name}}, name=name, namespace=namespace
    )


def _discovered(text: str, _: Callable[[], str]) -> Mapping[str, Any] | None:
    """One flag as discovery. Also takes a flag without any provider, which is an error of this provider upstream."""
    if text.partition(":")[0] != _CLOUD and ":" in text:
        return None
    discovery = discovery_of(text)
    item: dict[str, Any] = {}
    if discovery.namespaces:
        item["namespaces"] = list(discovery.namespaces)
    if discovery.cluster_name:
        item["clusterName"] = discovery.cluster_name
    if discovery.labels:
        item["labels"] = dict(discovery.labels)
    return {"clusterAPI": item}


def _chart_discovery(values: Mapping[str, Any]) -> str:
    parts = [f"namespace={values['namespace']}"] if values.get("namespace") else []
    parts += [f"clusterName={values['clusterName']}"] if values.get("clusterName") else []
    for label in mappings_at(values, "labels"):
        parts += [f"{key}={value}" for key, value in label.items()]
    return f"{_CLOUD}:{','.join(parts)}" if parts else ""


FLAGS = PlatformFlags(
    clouds=(_CLOUD,),
    provider="clusterAPI",
    named=_named,
    discovered=_discovered,
    elsewhere={
        "cloud-config": "run --management-kubeconfig",
        "clusterapi-cloud-config-authoritative": "run --management-kubeconfig",
    },
    chart_discovery=_chart_discovery,
)
