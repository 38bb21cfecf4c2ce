"""What input objects refer to: ConfigMaps, Secrets and files of values, found among the inputs or reported as not read.

SOURCE: Flux applies `HelmRelease.spec.valuesFrom` in order, and then `spec.values` over all of them; `targetPath` puts one text
at a path. Argo CD applies `helm.valueFiles` in order, then `values` over them, and `fileParameters` over everything. Also the
Helm controller's `valuesSecrets`, and Kubernetes `envFrom` and `valueFrom`.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from reconciler.cluster.snapshots import yaml_texts
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.values.loose_json import Object, list_at, mapping_at, mappings_at, text_at

VALUES_KEY = "values.yaml"
_KINDS = ("ConfigMap", "Secret")
NOT_THERE = "it is not among the files, so nothing of it was read: also name its file"


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """An object refers to this, but no input has it: where it is written, and what it is."""

    name: str
    value: str


class Sources:
    """The data of ConfigMaps and Secrets, and the files, of all inputs."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Files that are not YAML have no objects."""
        self._files = files
        self._data: dict[tuple[str, str], list[tuple[str, dict[str, str]]]] = {}
        self._items = {file: tuple(objects_in(decoded(body) or ())) for file, body in files.items()}
        objects = [(file, item) for file, items in self._items.items() for item in items]
        for _, item in objects:
            if (kind := text_at(item, "kind")) in _KINDS:
                meta = mapping_at(item, "metadata")
                kept = self._data.setdefault((kind, text_at(meta, "name")), [])
                kept.append((text_at(meta, "namespace"), _texts(item)))
        self._referred = frozenset(one for _, item in objects for one in _references(item))
        self._paths = frozenset(path for _, item in objects for path in _file_references(item))

    def referred(self, item: Object) -> bool:
        """Whether another object includes this one, so that it has no effect by itself."""
        meta = mapping_at(item, "metadata")
        kind, place, name = text_at(item, "kind"), text_at(meta, "namespace"), text_at(meta, "name")
        return any(one[0] == kind and one[2] == name and (not place or one[1] in ("", place)) for one in self._referred)

    def taken_in(self, file: str) -> bool:
        """Whether an object includes the file as values or as a text."""
        return any(_same(file, path) for path in self._paths)

    def fully_taken_in(self, file: str) -> bool:
        """Whether all content of the file is read through other objects."""
        items = self._items.get(file, ())
        whole = bool(items) and all(text_at(item, "kind") in _KINDS and self.referred(item) for item in items)
        return whole or self.taken_in(file)

    def data(self, kind: str, namespace: str, name: str) -> Mapping[str, str] | None:
        """Texts by key; None if no input has it. Without a namespace, an object is in the one that it is applied to."""
        objects = self._data.get((kind, name), [])
        return next((data for place, data in objects if not place or not namespace or place == namespace), None)

    def text(self, path: str) -> str | None:
        """The text of the file with that path, compared from its end; None if no input matches."""
        content = next((body for file, body in self._files.items() if _same(file, path)), None)
        return None if content is None else content.decode("utf-8", "replace")


def decoded(body: bytes) -> list[Any] | None:
    """The documents of a text; None if it is neither YAML nor JSON."""
    try:
        return [msgspec.json.decode(part) for part in yaml_texts.json_parts(body)]
    except (yaml_texts.YamlError, *DECODING_ERRORS):
        return None


def values_of(text: object) -> object:
    """The one document of a text; None if it has none, or several."""
    values = decoded(text.encode()) if isinstance(text, str) else None
    return values[0] if values is not None and len(values) == 1 else None


def objects_in(documents: Iterable[Any]) -> Iterator[Object]:
    """The objects of documents, those of lists included."""
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            if text_at(document, "kind").endswith("List") and isinstance(items, list):
                yield from (item for item in items if isinstance(item, dict))
            else:
                yield document


def laid_over(below: object, above: object) -> object:
    """Values over values, as Helm merges them: mappings key by key, everything else as a whole."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return below if above is None else above
    return {**below, **{key: laid_over(below.get(key), value) for key, value in above.items()}}


def with_paths(values: object, pairs: Iterable[tuple[Any, Any]]) -> object:
    """The values with `a.b=value` put in; an escaped dot belongs to the key."""
    objects = dict(values) if isinstance(values, dict) else {}
    for path, value in pairs:
        *above, last = (key.replace("\0", ".") for key in str(path).replace("\\.", "\0").split("."))
        tree = objects
        for key in above:
            inner = tree.get(key)
            tree[key] = dict(inner) if isinstance(inner, dict) else {}
            tree = tree[key]
        tree[last] = value
    return objects


def values_from(item: Object, sources: Sources, missing: list[Missing]) -> object:
    """The result of `spec.valuesFrom` of a HelmRelease."""
    meta, values = mapping_at(item, "metadata"), None
    for number, one in enumerate(mappings_at(mapping_at(item, "spec"), "valuesFrom")):
        kind, name = text_at(one, "kind"), text_at(one, "name")
        key = text_at(one, "valuesKey") or VALUES_KEY
        text = (sources.data(kind, text_at(meta, "namespace"), name) or {}).get(key)
        if text is None:
            where = f"HelmRelease {text_at(meta, 'name')} spec.valuesFrom[{number}]"
            missing.append(Missing(name=where, value=f"{kind} {name}, key {key}"))
        elif path := text_at(one, "targetPath"):
            read = values_of(text)
            values = with_paths(values, [(path, text if isinstance(read, dict | list) or read is None else read)])
        else:
            values = laid_over(values, values_of(text))
    return values


def values_of_secrets(item: Object, sources: Sources, missing: list[Missing]) -> object:
    """The result of `spec.valuesSecrets` of a HelmChart."""
    meta, values = mapping_at(item, "metadata"), None
    for number, one in enumerate(mappings_at(mapping_at(item, "spec"), "valuesSecrets")):
        data = sources.data("Secret", text_at(meta, "namespace"), text_at(one, "name")) or {}
        for key in list_at(one, "keys"):
            text = data.get(str(key))
            if text is None:
                where = f"{text_at(item, 'kind')} {text_at(meta, 'name')} spec.valuesSecrets[{number}]"
                missing.append(Missing(name=where, value=f"Secret {text_at(one, 'name')}, key {key}"))
            values = laid_over(values, values_of(text))
    return values


def value_files(name: str, helm: Object, sources: Sources, missing: list[Missing]) -> object:
    """The result of `valueFiles` of a source of an Application."""
    values: object = None
    for path in _paths(list_at(helm, "valueFiles")):
        text = sources.text(path)
        if text is None:
            missing.append(Missing(name=f"Application {name} helm.valueFiles", value=path))
        values = laid_over(values, values_of(text))
    return values


def file_parameters(name: str, helm: Object, sources: Sources, missing: list[Missing]) -> Iterator[tuple[Any, Any]]:
    """`fileParameters`, each with the text of its file."""
    for one in mappings_at(helm, "fileParameters"):
        path = text_at(one, "path")
        text = sources.text(path)
        if text is None:
            missing.append(Missing(name=f"Application {name} helm.fileParameters {text_at(one, 'name')}", value=path))
        else:
            yield one.get("name"), text


def environment_from(
    container: Object, metadata: Object, sources: Sources, missing: list[Missing]
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """The variables of `envFrom`; those of `env` override them."""
    for number, one in enumerate(mappings_at(container, "envFrom")):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if name := text_at(mapping_at(one, key), "name"):
                data = sources.data(kind, text_at(metadata, "namespace"), name)
                if data is None:
                    where = f"container {text_at(container, 'name')} envFrom[{number}]"
                    missing.append(Missing(name=where, value=f"{kind} {name}"))
                yield from ((f"{text_at(one, 'prefix')}{variable}", text) for variable, text in (data or {}).items())


def variable_from(source: Object, metadata: Object, sources: Sources) -> tuple[str | None, str]:
    """The value of `valueFrom`, and what it refers to. A pod's name is not its Deployment's, but its namespace is."""
    if text_at(mapping_at(source, "fieldRef"), "fieldPath") == "metadata.namespace":
        return text_at(metadata, "namespace") or None, ""
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if name := text_at(mapping_at(source, key), "name"):
            data = sources.data(kind, text_at(metadata, "namespace"), name) or {}
            wanted = text_at(mapping_at(source, key), "key")
            return data.get(wanted), f"{kind} {name}, key {wanted}"
    return None, ""


def _texts(item: Object) -> dict[str, str]:
    """The data of a ConfigMap or Secret as texts."""
    plain = {**mapping_at(item, "data"), **mapping_at(item, "stringData")}
    if item.get("kind") == "Secret":
        plain = {**{key: unhidden(text) for key, text in mapping_at(item, "data").items()}, **mapping_at(item, "stringData")}
    return {str(key): text for key, text in plain.items() if isinstance(text, str)}


def unhidden(text: object) -> str | None:
    """The text of a value of a Secret; None if it has none."""
    try:
        return base64.b64decode(str(text), validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _references(item: Object) -> Iterator[tuple[str, str, str]]:
    """Kind, namespace and name of what an object takes values from."""
    spec, namespace = mapping_at(item, "spec"), text_at(mapping_at(item, "metadata"), "namespace")
    match item.get("kind"):
        case "HelmRelease":
            yield from ((text_at(one, "kind"), namespace, text_at(one, "name")) for one in mappings_at(spec, "valuesFrom"))
        case "HelmChart" | "HelmChartConfig":
            yield from (("Secret", namespace, text_at(one, "name")) for one in mappings_at(spec, "valuesSecrets"))
        case _:
            for container in mappings_at(mapping_at(mapping_at(spec, "template"), "spec") or spec, "containers"):
                for one in mappings_at(container, "envFrom"):
                    for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                        yield kind, namespace, text_at(mapping_at(one, key), "name")
                for one in mappings_at(container, "env"):
                    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
                        yield kind, namespace, text_at(mapping_at(mapping_at(one, "valueFrom"), key), "name")


def _file_references(item: Object) -> Iterator[str]:
    for source in argo_sources(item):
        helm = mapping_at(source, "helm")
        yield from _paths(list_at(helm, "valueFiles"))
        yield from (text_at(one, "path") for one in mappings_at(helm, "fileParameters"))


def argo_sources(item: Object) -> Sequence[Object]:
    """The sources of an Application or ApplicationSet."""
    spec = mapping_at(item, "spec")
    match item.get("kind"):
        case "ApplicationSet":
            spec = mapping_at(mapping_at(spec, "template"), "spec")
        case "Application":
            pass
        case _:
            return ()
    return (mapping_at(spec, "source"), *mappings_at(spec, "sources"))


def _paths(items: Iterable[Any]) -> Iterator[str]:
    return (item for item in items if isinstance(item, str))


def _same(file: str, path: str) -> bool:
    """Whether an input is the file of a path whose base is unknown here: `$values/` is the top of a source."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..") and not part.startswith("$")]
    return bool(parts) and file.replace("\\", "/").split("/")[-len(parts) :] == parts
