"""What other autoscalers are told, read from their manifests: flags, objects of platforms' own autoscalers, the priorities of the
priority expander. SOURCE: the Cluster Autoscaler's flags and FAQ."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import readings
from reconciler.cluster.snapshots import texts
from reconciler.cluster.values.raw_part import DECODING_ERRORS, finding
from reconciler.policy.platform_flags import SizedTarget, autoscaler_cloud, autoscaler_object, platform_flags
from reconciler.rendering.imported.chart_wrappers import wrapped_values
from reconciler.rendering.imported.command_line import flags_of_container
from reconciler.rendering.imported.helm_values import Values, read_values, values_in
from reconciler.rendering.imported.other_objects import OtherObject, is_other_object
from reconciler.rendering.imported.priorities import Priorities, PrioritiesError, priorities_of
from reconciler.values.loose_json import Object, mapping_at, mappings_at, text_at

_NAMED = "cluster-autoscaler"
PRIORITIES = "cluster-autoscaler-priority-expander"
_KIND = re.compile(r"(?m)^(?:- )?[{\s]*\"?kind\"?\s*:")
_FLAG = re.compile(r"--?([a-z0-9][a-z0-9-]*)(?:[= ](.*))?")
_WORD = re.compile(r"""(?<![\w-])--?[a-z0-9][a-z0-9-]*(?:=(?:"[^"]*"|'[^']*'|\S*))?""")
_SIZED = frozenset(kind.kind for reading in readings() for kind in reading.kinds if kind.target and kind.plural)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: `--flag` or `spec.path`, its value as text, and the file that says it."""

    name: str
    value: str
    file: str


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """A target with its range, and the file that says it."""

    target: SizedTarget
    file: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found. `priorities` are expressions by priority, the highest first; `annotated` counts targets that carry
    their sizes themselves, `skipped` documents of other kinds. `region` is where a cloud's targets are, as far as it is said;
    `cloud` is the value of `--cloud-provider` that an object means which is one platform's alone. `deployment` names values of a
    Helm chart that say how the autoscaler itself is deployed. `objects` are those of other autoscalers and of tools that make
    their targets."""

    settings: tuple[Setting, ...] = ()
    sized: tuple[Sized, ...] = ()
    priorities: Priorities = ()
    annotated: int = 0
    skipped: int = 0
    region: str = ""
    cloud: str = ""
    deployment: tuple[str, ...] = ()
    objects: tuple[OtherObject, ...] = ()

    def __add__(self, other: "Found") -> "Found":
        return Found(
            settings=self.settings + other.settings,
            sized=self.sized + other.sized,
            priorities=tuple(sorted({**dict(self.priorities), **dict(other.priorities)}.items(), reverse=True)),
            annotated=self.annotated + other.annotated,
            skipped=self.skipped + other.skipped,
            region=self.region or other.region,
            cloud=self.cloud or other.cloud,
            deployment=self.deployment + other.deployment,
            objects=self.objects + other.objects,
        )


class ImportedFileError(Exception):
    """A file that cannot be read; the message says where."""


def found_in(file: str, body: bytes) -> Found:
    """The settings in one file: YAML or JSON manifests, or text with flags. Raises `ImportedFileError`."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportedFileError(f"{file}: no text at byte {error.start}; save it as UTF-8") from None
    words = Found(settings=tuple(_flags(file, (match[0] for match in _WORD.finditer(text)))))
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
    found, read = Found(), manifests
    for item in _objects(documents):
        values = None if "kind" in item else values_in(item)
        read = read or values is not None
        try:
            found += _of_object(file, item) if values is None else _of_values(file, values)
        except PrioritiesError as error:
            raise ImportedFileError(str(error)) from None
    return found if read else words


def _of_values(file: str, values: Values) -> Found:
    read = read_values(values)
    found = Found(
        settings=tuple(_flags(file, (f"--{name}={text}" for name, text in read.flags))),
        priorities=priorities_of(f"{file}: expanderPriorities", read.priorities) if read.priorities is not None else (),
        region=read.region,
        deployment=read.deployment,
    )
    for item in read.objects:
        found += _of_object(file, item)
    return found


def _objects(documents: list[Any]) -> Iterator[Object]:
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            if text_at(document, "kind").endswith("List") and isinstance(items, list):
                yield from (item for item in items if isinstance(item, dict))
            else:
                yield document


def _of_object(file: str, item: Object) -> Found:
    kind = text_at(item, "kind")
    meta = mapping_at(item, "metadata")
    if is_other_object(item):
        return Found(objects=(OtherObject(item=item, file=file),))
    try:
        told = autoscaler_object(item)
    except ValueError as error:
        raise ImportedFileError(f"{file}: {error}") from None
    if told is not None:
        sized = tuple(Sized(target=target, file=file) for target in told.sized)
        return Found(settings=tuple(_paths(file, "spec", told.settings)), sized=sized, cloud=autoscaler_cloud(item))
    if kind == "ConfigMap" and meta.get("name") == PRIORITIES:
        return Found(priorities=_of_config_map(file, mapping_at(item, "data")))
    if wrapped := wrapped_values(item):
        return sum((_of_values(file, values) for values in wrapped), Found())
    if kind in _SIZED:
        return Found(annotated=1) if any("node-group-m" in key for key in mapping_at(meta, "annotations")) else Found(skipped=1)
    containers = _containers(item)
    flags = [word for container in containers for word in flags_of_container(container, meta)]
    return Found(settings=tuple(_flags(file, flags)), region=_region(containers)) if flags else Found(skipped=1)


def _containers(item: Object) -> list[Object]:
    spec = mapping_at(item, "spec")
    pod = mapping_at(mapping_at(spec, "template"), "spec") or spec
    return [
        one for one in mappings_at(pod, "containers") if _NAMED in f"{one.get('name')} {one.get('image')} {one.get('command')}"
    ]


def _region(containers: list[Object]) -> str:
    """What the environment says; the SDK of the cloud reads it there."""
    variables = {name for one in platform_flags() for name in one.place_variables}
    entries = (entry for one in containers for entry in mappings_at(one, "env"))
    return next((str(entry["value"]) for entry in entries if text_at(entry, "name") in variables and entry.get("value")), "")


def _flags(file: str, words: Iterable[str]) -> Iterator[Setting]:
    for word in words:
        match = _FLAG.fullmatch(word)
        if match is not None:
            # A flag of Go without a value is a switch that is on.
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
        raise ImportedFileError(f"{where}: the Cluster Autoscaler reads data.priorities alone, and there is {has}")
    return priorities_of(f"{where}: data.priorities", data["priorities"])
