"""Settings of other autoscalers, read from manifests: flags, objects of platforms' own autoscalers, and the priorities of the
priority expander. SOURCE: the Cluster Autoscaler's flags and FAQ.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import readings
from reconciler.cluster.snapshots import texts
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.importers.other_objects import OtherObject, is_other_object
from reconciler.importers.priorities import Priorities, PrioritiesError, priorities_of
from reconciler.importers.sources import (
    Missing,
    Sources,
    argo_sources,
    environment_from,
    file_parameters,
    laid_over,
    objects_in,
    unhidden,
    value_files,
    values_from,
    values_of,
    values_of_secrets,
    variable_from,
    with_paths,
)
from reconciler.policy.platform_parts import SizedTarget, autoscaler_cloud, autoscaler_object, flags_of, platform_flags
from reconciler.values.loose_json import Object, list_at, mapping_at, mappings_at, text_at

# Values of the Helm chart `cluster-autoscaler`, as the settings that the chart derives from them.
#
# SOURCE: the chart's values.yaml and Deployment template (chart 9.x). `extraArgs` are flags; a `_` in a key, and everything after
# it, is removed. `autoDiscovery` and `autoscalingGroups` become `--node-group-auto-discovery` and `--nodes`.

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


# Objects with values of the Cluster Autoscaler's Helm chart: HelmRelease, Application, HelmChart, ConfigMap, Secret.
#
# SOURCE: Flux `HelmRelease.spec.values`; Argo CD `source.helm` (`valuesObject` before `values`, `parameters` over both); the
# Helm controller's `HelmChart` and `HelmChartConfig` (`valuesContent`, `set`); values that any of them takes from a ConfigMap
# or Secret.


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


# The flags on a container's command line, as the process sees them: through a shell, as two words, with variables filled in.
#
# SOURCE: in command and arguments, Kubernetes replaces `$(NAME)` by the container's own environment, and keeps a name that it
# does not know. The Cluster Autoscaler takes only flags, so a word after a flag is its value.

_SHELL = re.compile(r"-[a-z]*c")
_FLAG_INSIDE = re.compile(r"\s--?[a-z]")
_NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?")
_NO_VALUE = re.compile(r"[0-9]*[<>|&].*")
_VARIABLE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_VARIABLE_OF_SHELL = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def flags_of_container(
    container: Mapping[str, Any], metadata: Mapping[str, Any], sources: Sources, missing: list[Missing]
) -> tuple[str, ...]:
    """`--flag` and `--flag=value`, in order. `metadata` is the object's: a variable may stand for its name and namespace. Unknown
    variables stay as they are written, and `$$` is a `$` that begins no variable."""
    known = _environment(container, metadata, sources, missing)
    words = [*list_at(container, "command"), *list_at(container, "args")]
    return tuple(_joined(_unwrapped([_expanded(str(word), known) for word in words], known)))


def _expanded(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: "$" if match[0] == "$$" else _filled(match, known), text)


def _environment(
    container: Mapping[str, Any], metadata: Mapping[str, Any], sources: Sources, missing: list[Missing]
) -> dict[str, str]:
    """`env` over `envFrom`; a value may name variables before it. Variables of flags that no input has are missing."""
    known = dict(environment_from(container, metadata, sources, missing))
    named = {match[1] for word in (*list_at(container, "command"), *list_at(container, "args")) for match in _named_in(str(word))}
    for entry in mappings_at(container, "env"):
        name, source = str(entry.get("name")), entry.get("valueFrom")
        value, origin = (entry.get("value"), "") if source is None else variable_from(
            mapping_at(entry, "valueFrom"), metadata, sources
        )  # fmt: skip
        if value is not None:
            known[name] = _expanded(str(value), known) if source is None else str(value)
        elif origin and name in named:
            missing.append(Missing(name=f"container {text_at(container, 'name')} env {name}", value=origin))
    return known


def _named_in(word: str) -> Iterator[re.Match[str]]:
    return (match for pattern in (_VARIABLE, _VARIABLE_OF_SHELL) for match in pattern.finditer(word) if match[1])


def _filled(match: re.Match[str], known: Mapping[str, str]) -> str:
    return known.get(match[1], match[0])


def _unwrapped(words: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """A shell's command is split as a shell does."""
    for before, word in zip(["", *words], words, strict=False):
        if _SHELL.fullmatch(before) and _FLAG_INSIDE.search(word):
            filled = _VARIABLE_OF_SHELL.sub(lambda match: _filled(match, known), word)
            try:
                yield from shlex.split(filled)
            except ValueError:
                yield from filled.split()
        elif not _SHELL.fullmatch(word):
            yield word


def _joined(words: Iterable[str]) -> Iterator[str]:
    """A flag and its value in one word."""
    flag = ""
    for word in words:
        starts = word.startswith("-") and not _NUMBER.fullmatch(word)
        if flag and not starts and not _NO_VALUE.fullmatch(word):
            yield f"{flag}={word}"
            flag = ""
            continue
        if flag:
            yield flag
        flag = word if starts and "=" not in word else ""
        if starts and not flag:
            yield word
    if flag:
        yield flag


_NAMED = "cluster-autoscaler"
PRIORITIES = "cluster-autoscaler-priority-expander"
_KIND = re.compile(r"(?m)^(?:- )?[{\s]*\"?kind\"?\s*:")
_FLAG = re.compile(r"--?([a-z0-9][a-z0-9-]*)(?:[= ](.*))?")
_WORD = re.compile(r"""(?<![\w-])--?[a-z0-9][a-z0-9-]*(?:=(?:"[^"]*"|'[^']*'|\S*))?""")
_SIZED = frozenset(kind.kind for reading in readings() for kind in reading.kinds if kind.target and kind.plural)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: `--flag` or `spec.path`, its value as text, and its file."""

    name: str
    value: str
    file: str


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """A target with its range, and its file."""

    target: SizedTarget
    file: str


class ImportedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All findings. `priorities` are expressions by priority, the highest first. `annotated` counts targets with sizes in their
    own annotations, `skipped` documents of other kinds. `region` is where a cloud's targets are, if known. `cloud` is the value
    of `--cloud-provider` that an object of a single platform implies.

    `deployment` names values of a Helm chart about the deployment of the autoscaler itself. `objects` are those of other
    autoscalers and of tools that make their targets. `missing` is what objects refer to and no input has."""

    settings: tuple[Setting, ...] = ()
    sized: tuple[Sized, ...] = ()
    priorities: Priorities = ()
    annotated: int = 0
    skipped: int = 0
    region: str = ""
    cloud: str = ""
    deployment: tuple[str, ...] = ()
    objects: tuple[OtherObject, ...] = ()
    missing: tuple[Setting, ...] = ()

    def __add__(self, other: "ImportedSettings") -> "ImportedSettings":
        return ImportedSettings(
            settings=self.settings + other.settings,
            sized=self.sized + other.sized,
            priorities=tuple(sorted({**dict(self.priorities), **dict(other.priorities)}.items(), reverse=True)),
            annotated=self.annotated + other.annotated,
            skipped=self.skipped + other.skipped,
            region=self.region or other.region,
            cloud=self.cloud or other.cloud,
            deployment=self.deployment + other.deployment,
            objects=self.objects + other.objects,
            missing=self.missing + other.missing,
        )


class ImportedFileError(Exception):
    """A file that cannot be read; the message states where."""


def settings_in(file: str, body: bytes, sources: Sources) -> ImportedSettings:
    """The settings in one file: YAML or JSON manifests, or text with flags. What another object of `sources` includes is read
    there. Raises `ImportedFileError`."""
    if sources.taken_in(file):
        return ImportedSettings()
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportedFileError(f"{file}: invalid text at byte {error.start}. Save it as UTF-8") from None
    words = ImportedSettings(settings=tuple(_flags(file, (match[0] for match in _WORD.finditer(text)))))
    manifests = _KIND.search(text) is not None
    try:
        documents = [msgspec.json.decode(part) for part in texts.json_parts(body)]
    except texts.YamlError as error:
        if not manifests:
            return words
        raise ImportedFileError(f"{file}: {error.item} {error.message}") from None
    except DECODING_ERRORS as error:
        if not manifests:
            return words
        raise ImportedFileError(f"{file}: {finding(error)}") from None
    settings, read = ImportedSettings(), manifests
    for item in objects_in(documents):
        values = values_in(item)
        read = read or bool(values)
        try:
            settings += (
                sum((_of_values(file, one, sources) for one in values), ImportedSettings())
                if values
                else _of_object(file, item, sources)
            )
        except PrioritiesError as error:
            raise ImportedFileError(str(error)) from None
    return settings if read else words


def _of_values(file: str, values: Values, sources: Sources) -> ImportedSettings:
    read = read_values(values)
    settings = ImportedSettings(
        settings=tuple(_flags(file, (f"--{name}={text}" for name, text in read.flags))),
        priorities=priorities_of(f"{file}: expanderPriorities", read.priorities) if read.priorities is not None else (),
        region=read.region,
        deployment=read.deployment,
    )
    for item in read.objects:
        settings += _of_object(file, item, sources)
    return settings


def _of_object(file: str, item: Object, sources: Sources) -> ImportedSettings:
    kind = text_at(item, "kind")
    meta = mapping_at(item, "metadata")
    if is_other_object(item):
        return ImportedSettings(objects=(OtherObject(item=item, file=file),))
    try:
        autoscaler = autoscaler_object(item)
    except ValueError as error:
        raise ImportedFileError(f"{file}: {error}") from None
    if autoscaler is not None:
        sized = tuple(Sized(target=target, file=file) for target in autoscaler.sized)
        return ImportedSettings(
            settings=tuple(_paths(file, "spec", autoscaler.settings)), sized=sized, cloud=autoscaler_cloud(item)
        )
    if kind == "ConfigMap" and meta.get("name") == PRIORITIES:
        return ImportedSettings(priorities=_of_config_map(file, mapping_at(item, "data")))
    if kind in ("ConfigMap", "Secret") and sources.referred(item):
        return ImportedSettings()
    missing: list[Missing] = []
    wrapped = wrapped_values(item, sources, missing)
    if wrapped or missing:
        return sum((_of_values(file, values, sources) for values in wrapped), ImportedSettings(missing=_missing(file, missing)))
    if kind in _SIZED:
        return (
            ImportedSettings(annotated=1)
            if any("node-group-m" in key for key in mapping_at(meta, "annotations"))
            else ImportedSettings(skipped=1)
        )
    containers = _containers(item)
    flags = [word for container in containers for word in flags_of_container(container, meta, sources, missing)]
    if not flags:
        return ImportedSettings(skipped=1)
    region = _region(containers, meta, sources)
    return ImportedSettings(settings=tuple(_flags(file, flags)), region=region, missing=_missing(file, missing))


def _missing(file: str, missing: Iterable[Missing]) -> tuple[Setting, ...]:
    return tuple(Setting(name=one.name, value=one.value, file=file) for one in missing)


def _containers(item: Object) -> list[Object]:
    spec = mapping_at(item, "spec")
    pod = mapping_at(mapping_at(spec, "template"), "spec") or spec
    return [
        one for one in mappings_at(pod, "containers") if _NAMED in f"{one.get('name')} {one.get('image')} {one.get('command')}"
    ]


def _region(containers: list[Object], meta: Object, sources: Sources) -> str:
    """The region in the environment, where the cloud's SDK reads it."""
    variables = {name for one in platform_flags() for name in one.place_variables}
    known = (pair for one in containers for pair in _environment(one, meta, sources, []).items())
    return next((value for name, value in known if name in variables and value), "")


def _flags(file: str, words: Iterable[str]) -> Iterator[Setting]:
    for word in words:
        match = _FLAG.fullmatch(word)
        if match is not None:
            # A Go flag without a value is a switch that is on.
            value = "true" if match[2] is None else match[2].strip("\"'")
            yield Setting(name=f"--{match[1]}", value=value, file=file)


def _paths(file: str, path: str, value: Any) -> Iterator[Setting]:  # noqa: ANN401 - JSON of any form
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _paths(file, f"{path}.{key}", part)
    elif isinstance(value, list):
        for part in value:
            text = part if isinstance(part, str) else msgspec.json.encode(part).decode()
            yield Setting(name=path, value=text, file=file)
    elif value is not None:
        yield Setting(name=path, value=str(value).lower() if isinstance(value, bool) else str(value), file=file)


def _of_config_map(file: str, data: Object) -> Priorities:
    where = f"{file}: ConfigMap {PRIORITIES}"
    if "priorities" not in data:
        has = ", ".join(sorted(data)) or "nothing"
        raise ImportedFileError(f"{where}: the Cluster Autoscaler reads only data.priorities, but found {has}")
    return priorities_of(f"{where}: data.priorities", data["priorities"])
