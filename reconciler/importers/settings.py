"""Settings of other autoscalers, read from manifests: flags, objects of platforms' own autoscalers, and the priorities of the
priority expander. SOURCE: the Cluster Autoscaler's flags and FAQ.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import readings
from reconciler.cluster.snapshots import yaml_texts
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.importers.container_flags import container_environment, flags_of_container
from reconciler.importers.helm_values import Values, read_values, values_in
from reconciler.importers.other_objects import OtherObject, is_other_object
from reconciler.importers.priorities import Priorities, PrioritiesError, priorities_of
from reconciler.importers.sources import (
    Missing,
    Sources,
    objects_in,
)
from reconciler.importers.wrapped_values import wrapped_values
from reconciler.policy.platform.autoscaler_flags import SizedTarget, autoscaler_cloud, autoscaler_object, platform_flags
from reconciler.values.loose_json import Object, mapping_at, mappings_at, text_at

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
        documents = [msgspec.json.decode(part) for part in yaml_texts.json_parts(body)]
    except yaml_texts.YamlError as error:
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
    known = (pair for one in containers for pair in container_environment(one, meta, sources, []).items())
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
