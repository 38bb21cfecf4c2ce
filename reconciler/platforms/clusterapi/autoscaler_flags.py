"""How the Cluster Autoscaler's settings name targets of Cluster API.

SOURCE: its Cluster API provider (`Kind/namespace/name`; `clusterapi:namespace=…,clusterName=…,label=value`) and its Helm chart.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.platforms.clusterapi.auto_discovery import discovery_of
from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlatformFlags
from reconciler.values.loose_json import mappings_at

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
