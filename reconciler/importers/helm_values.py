"""Values of the Helm chart `cluster-autoscaler`, as the settings that the chart derives from them.

SOURCE: the chart's values.yaml and Deployment template (chart 9.x). `extraArgs` are flags; a `_` in a key, and everything after
it, is removed. `autoDiscovery` and `autoscalingGroups` become `--node-group-auto-discovery` and `--nodes`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reconciler.policy.platform.autoscaler_flags import flags_of, platform_flags
from reconciler.values.loose_json import mapping_at, mappings_at

Values = Mapping[str, Any]
CHART = "cluster-autoscaler"
_OF_THIS_CHART = ("autoDiscovery", "autoscalingGroups", "expanderPriorities")


class HelmValues(msgspec.Struct, frozen=True, kw_only=True):
    """What the chart would pass on: flags with their values, priorities as text or as a mapping, and the region. Also the names
    of values about its own Deployment. `objects` are the additional objects of the chart."""

    flags: tuple[tuple[str, str], ...]
    priorities: str | Mapping[str, Any] | None
    region: str
    deployment: tuple[str, ...]
    objects: tuple[Mapping[str, Any], ...] = ()


def values_in(document: object) -> tuple[Values, ...]:
    """The chart's values in a document without a kind. They are at its top, or in a chart that depends on this one, below the
    chart's name. They may also be below an alias. An alias is recognized by values that only this chart has."""
    if not isinstance(document, dict) or "kind" in document:
        return ()
    below = [part for name, part in document.items() if isinstance(part, dict) and _of_the_chart(name, part)]
    if below and not any(key in document for key in _OF_THIS_CHART):
        return tuple(below)
    return (document,) if any(key in document for key in _known()) else tuple(below)


def _of_the_chart(name: str, part: Values) -> bool:
    return any(key in part for key in (_known() if name == CHART else _OF_THIS_CHART))


def read_values(values: Values) -> HelmValues:
    """The settings in these values; empty values are skipped."""
    provider, known = str(values.get("cloudProvider") or _default_cloud()), _known()
    places = (str(values.get(one.chart_place) or "") for one in flags_of(provider))
    priorities = values.get("expanderPriorities") or None
    return HelmValues(
        flags=(("cloud-provider", provider), *_discovery(values, provider), *_groups(values), *_extra_args(values)),
        priorities=priorities if isinstance(priorities, str | dict) else None,
        region=next((place for place in places if place), ""),
        deployment=tuple(sorted(key for key, value in values.items() if key not in known and value not in (None, {}, [], ""))),
        objects=tuple(mappings_at(values, "extraObjects")),
    )


def _default_cloud() -> str:
    return next((one.clouds[0] for one in platform_flags() if one.chart_default), "")


def _extra_args(values: Values) -> Iterator[tuple[str, str]]:
    for key, value in mapping_at(values, "extraArgs").items():
        text = str(value).lower() if isinstance(value, bool) else "true" if value is None else str(value)
        yield str(key).partition("_")[0], text


def _groups(values: Values) -> Iterator[tuple[str, str]]:
    for group in mappings_at(values, "autoscalingGroups"):
        yield "nodes", f"{group.get('minSize', '')}:{group.get('maxSize', '')}:{group.get('name', '')}"


def _discovery(values: Values, provider: str) -> Iterator[tuple[str, str]]:
    discovery = mapping_at(values, "autoDiscovery")
    texts = (one.chart_discovery(discovery) for one in flags_of(provider))
    yield from (("node-group-auto-discovery", text) for text in texts if text)


def _known() -> frozenset[str]:
    """Values that affect its decisions."""
    own = ("autoDiscovery", "autoscalingGroups", "extraArgs", "expanderPriorities", "extraObjects", "cloudProvider")
    return frozenset((*own, *(one.chart_place for one in platform_flags() if one.chart_place)))
