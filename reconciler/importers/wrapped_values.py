"""Objects with values of the Cluster Autoscaler's Helm chart: HelmRelease, Application, HelmChart, ConfigMap, Secret.

SOURCE: Flux: `HelmRelease.spec.values`. Argo CD: `source.helm`, where `valuesObject` comes before `values` and `parameters`
before both. The Helm controller: `valuesContent` and `set` of `HelmChart` and `HelmChartConfig`. Any of them may take values from
a ConfigMap or a Secret.
"""

from collections.abc import Iterator

from reconciler.importers.helm_values import Values, values_in
from reconciler.importers.sources import (
    Missing,
    Sources,
    argo_sources,
    file_parameters,
    laid_over,
    unhidden,
    value_files,
    values_from,
    values_of,
    values_of_secrets,
    with_paths,
)
from reconciler.values.loose_json import Object, mapping_at, mappings_at, text_at


def wrapped_values(item: Object, sources: Sources, missing: list[Missing]) -> tuple[Values, ...]:
    """The chart's values in an object and in what it refers to; empty if it has none."""
    return tuple(values for candidate in _candidates(item, sources, missing) for values in values_in(candidate))


def _candidates(item: Object, sources: Sources, missing: list[Missing]) -> Iterator[object]:
    spec = mapping_at(item, "spec")
    match item.get("kind"):
        case "HelmRelease":
            yield laid_over(values_from(item, sources, missing), spec.get("values"))
        case "Application" | "ApplicationSet":
            yield from _of_argo(item, sources, missing)
        case "HelmChart" | "HelmChartConfig":
            content = laid_over(values_of(spec.get("valuesContent")), values_of_secrets(item, sources, missing))
            yield with_paths(content, mapping_at(spec, "set").items())
        case "ConfigMap":
            yield from map(values_of, mapping_at(item, "data").values())
        case "Secret":
            yield from map(values_of, mapping_at(item, "stringData").values())
            yield from (values_of(unhidden(text)) for text in mapping_at(item, "data").values())
        case _:
            return


def _of_argo(item: Object, sources: Sources, missing: list[Missing]) -> Iterator[object]:
    name = text_at(mapping_at(item, "metadata"), "name")
    for source in argo_sources(item):
        helm = mapping_at(source, "helm")
        pairs = [(one.get("name"), one.get("value")) for one in mappings_at(helm, "parameters")]
        pairs += file_parameters(name, helm, sources, missing)
        own = helm.get("valuesObject") or values_of(helm.get("values"))
        yield with_paths(laid_over(value_files(name, helm, sources, missing), own), pairs)
