"""Values of the Helm chart `cluster-autoscaler`, as the settings that the chart makes of them.

SOURCE: the chart's values.yaml and Deployment template (chart 9.x): `extraArgs` are flags, a `_` in a key and what follows it is
cut; `autoDiscovery` and `autoscalingGroups` become `--node-group-auto-discovery` and `--nodes`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

Values = Mapping[str, Any]
CHART = "cluster-autoscaler"
_KNOWN = ("autoDiscovery", "autoscalingGroups", "extraArgs", "expanderPriorities", "cloudProvider", "awsRegion")
_AWS_TAGS = ("k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/{{ .Values.autoDiscovery.clusterName }}")
_CLUSTER_NAME = "{{ .Values.autoDiscovery.clusterName }}"


class HelmValues(msgspec.Struct, frozen=True, kw_only=True):
    """What the chart would pass on: flags with their values, priorities as text or as a mapping, the region, and the names of
    values that say how its Deployment runs."""

    flags: tuple[tuple[str, str], ...]
    priorities: str | Mapping[str, Any] | None
    region: str
    deployment: tuple[str, ...]


def values_in(document: object) -> Values | None:
    """The chart's values in a document without a kind: at its top, or below the chart's name as in a chart that depends on it."""
    if not isinstance(document, dict) or "kind" in document:
        return None
    inner = document.get(CHART)
    for candidate in (inner, document):
        if isinstance(candidate, dict) and any(key in candidate for key in _KNOWN):
            return candidate
    return None


def read_values(values: Values) -> HelmValues:
    """The settings of these values; what is empty says nothing."""
    provider = str(values.get("cloudProvider") or "aws")
    priorities = values.get("expanderPriorities") or None
    return HelmValues(
        flags=(("cloud-provider", provider), *_discovery(values, provider), *_groups(values), *_extra_args(values)),
        priorities=priorities if isinstance(priorities, str | dict) else None,
        region=str(values.get("awsRegion") or "") if provider == "aws" else "",
        deployment=tuple(sorted(key for key, value in values.items() if key not in _KNOWN and value not in (None, {}, [], ""))),
    )


def _extra_args(values: Values) -> Iterator[tuple[str, str]]:
    args = values.get("extraArgs")
    for key, value in args.items() if isinstance(args, dict) else ():
        text = str(value).lower() if isinstance(value, bool) else "true" if value is None else str(value)
        yield str(key).partition("_")[0], text


def _groups(values: Values) -> Iterator[tuple[str, str]]:
    groups = values.get("autoscalingGroups")
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, dict):
            yield "nodes", f"{group.get('minSize', '')}:{group.get('maxSize', '')}:{group.get('name', '')}"


def _discovery(values: Values, provider: str) -> Iterator[tuple[str, str]]:
    found = values.get("autoDiscovery")
    discovery: Values = found if isinstance(found, dict) else {}
    name = str(discovery.get("clusterName") or "")
    if provider == "clusterapi":
        parts = [f"namespace={discovery['namespace']}"] if discovery.get("namespace") else []
        parts += [f"clusterName={name}"] if name else []
        labels = discovery.get("labels")
        for label in labels if isinstance(labels, list) else ():
            parts += [f"{key}={value}" for key, value in label.items()] if isinstance(label, dict) else []
        if parts:
            yield "node-group-auto-discovery", f"clusterapi:{','.join(parts)}"
    elif provider == "aws" and name:
        tags = discovery.get("tags") or _AWS_TAGS
        keys = ",".join(str(tag).replace(_CLUSTER_NAME, name) for tag in tags)
        yield "node-group-auto-discovery", f"asg:tag={keys}"
