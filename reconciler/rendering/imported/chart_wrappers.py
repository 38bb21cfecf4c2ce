"""Objects that carry values of the Cluster Autoscaler's Helm chart: HelmRelease, Application, HelmChart, ConfigMap, Secret.

SOURCE: Flux `HelmRelease.spec.values`; Argo CD `source.helm` (`valuesObject` before `values`, `parameters` over both); the Helm
controller's `HelmChart` and `HelmChartConfig` (`valuesContent`, `set`); values that any of them takes from a ConfigMap or Secret.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from reconciler.cluster.snapshots import texts
from reconciler.cluster.values.raw_part import DECODING_ERRORS
from reconciler.rendering.imported.helm_values import Values, values_in
from reconciler.values.loose_json import Object, mapping_at, mappings_at


def wrapped_values(item: Object) -> tuple[Values, ...]:
    """The chart's values in an object; empty where it carries none."""
    return tuple(values for candidate in _candidates(item) if (values := values_in(candidate)) is not None)


def _candidates(item: Object) -> Iterator[object]:
    spec = mapping_at(item, "spec")
    match item.get("kind"):
        case "HelmRelease":
            yield spec.get("values")
        case "Application":
            yield from _of_argo(spec)
        case "ApplicationSet":
            yield from _of_argo(mapping_at(mapping_at(spec, "template"), "spec"))
        case "HelmChart" | "HelmChartConfig":
            yield _merged(_read(spec.get("valuesContent")), mapping_at(spec, "set").items())
        case "ConfigMap":
            yield from map(_read, mapping_at(item, "data").values())
        case "Secret":
            yield from map(_read, mapping_at(item, "stringData").values())
            yield from (_read(_decoded(text)) for text in mapping_at(item, "data").values())
        case _:
            return


def _of_argo(spec: Object) -> Iterator[object]:
    for source in (mapping_at(spec, "source"), *mappings_at(spec, "sources")):
        helm = mapping_at(source, "helm")
        pairs = [(one.get("name"), one.get("value")) for one in mappings_at(helm, "parameters")]
        yield _merged(helm.get("valuesObject") or _read(helm.get("values")), pairs)


def _merged(values: object, pairs: Any) -> object:  # noqa: ANN401 - pairs of JSON
    """The values with `a.b=value` put in; a dot that is escaped belongs to the key."""
    found = dict(values) if isinstance(values, dict) else {}
    for path, value in pairs:
        *above, last = (key.replace("\0", ".") for key in str(path).replace("\\.", "\0").split("."))
        tree = found
        for key in above:
            inner = tree.get(key)
            tree[key] = dict(inner) if isinstance(inner, dict) else {}
            tree = tree[key]
        tree[last] = value
    return found


def _read(text: object) -> object:
    if not isinstance(text, str):
        return None
    try:
        documents = [msgspec.json.decode(part) for part in texts.json_parts(text.encode())]
    except (texts.YamlError, *DECODING_ERRORS):
        return None
    return documents[0] if len(documents) == 1 else None


def _decoded(text: object) -> object:
    try:
        return base64.b64decode(str(text), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
