"""A custom resource as a policy text: the form that the reader of files takes, with each value on its own line.

Only the policy's content is written out (identity, labels, spec), so equal policies are equal texts, whatever an API server
adds. Each line maps to a field, so that problems name fields instead of lines that nobody has seen.
"""

import json
from collections.abc import Mapping

import msgspec

from reconciler.kube.custom.custom_object import CustomObject
from reconciler.policy.documents import API_VERSION
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.yaml_nodes import Node
from reconciler.values.shown_text import cut

_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


class CustomText(msgspec.Struct, frozen=True):
    """`name` is the object's name for people (`NodeGroup reconciler/general-a`); `fields` has the field path of each line.
    `policy_ref` is the policy that a NodeGroup names, known without parsing it. `unreadable` states why the text is missing."""

    name: str
    text: bytes
    fields: tuple[str, ...]
    policy_ref: str = ""
    unreadable: str = ""

    @staticmethod
    def of(item: CustomObject) -> "CustomText":
        """The text of an object. Never raises: an unreadable object reports itself, and does not affect others."""
        if item.unreadable:
            return _unreadable(item, item.unreadable)
        try:
            return _of(item)
        except Exception as error:
            version = f"uid {item.uid}, generation {item.generation}"
            return _unreadable(item, f"{type(error).__name__}: {cut(str(error))} ({version})")

    @staticmethod
    def again(name: str, text: bytes) -> "CustomText":
        """A text that was kept. Raises ValueError if it is invalid."""
        return _written(name, json.loads(text))

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.name.partition(" ")[0]

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for none."""
        return self.name.partition(" ")[2].rpartition("/")[0]

    def read(self, findings: Findings) -> tuple[Node, Source] | None:
        """Its only document, in the form for the reader of files; None (with a problem) if it is not a readable text."""
        decoded = read_source(self.name, self.text, findings)
        if decoded is None:
            return None
        documents = compose_documents(*decoded, findings)
        return (documents[0], decoded[0]) if documents else None

    def place(self, place: Place) -> Place:
        """The field instead of the line."""
        known = 0 < place.line <= len(self.fields) and self.fields[place.line - 1]
        return Place(f"{self.name} {known}" if known else self.name, 0, 0)


def placed(problem: Problem, texts: Mapping[str, CustomText]) -> Problem:
    """A problem whose places, including those of related objects, name fields of objects."""

    def field(place: Place) -> Place:
        text = texts.get(place.path)
        return text.place(place) if text is not None else place

    related = tuple((field(place), label) for place, label in problem.related)
    return msgspec.structs.replace(problem, place=field(problem.place), related=related, source="", width=1)


def _of(item: CustomObject) -> CustomText:
    metadata: dict[str, object] = {"name": item.name}
    if item.namespace:
        metadata["namespace"] = item.namespace
    if item.labels:
        metadata["labels"] = dict(item.labels)
    return _written(item.title, {"apiVersion": API_VERSION, "kind": item.kind, "metadata": metadata, "spec": item.spec})


def _unreadable(item: CustomObject, why: str) -> CustomText:
    return CustomText(item.title, why.encode("utf-8", "replace"), (), _policy_ref(item.spec), why)


def _policy_ref(spec: object) -> str:
    reference = spec.get("policyRef") if isinstance(spec, dict) else None
    name = reference.get("name") if isinstance(reference, dict) else None
    return name if isinstance(name, str) else ""


def _written(name: str, document: object) -> CustomText:
    lines: list[str] = []
    fields: list[str] = []
    _write(document, "", "", lines, fields)
    spec = document.get("spec") if isinstance(document, dict) else None
    return CustomText(name, "\n".join(lines).encode(), tuple(fields), _policy_ref(spec))


def _write(value: object, head: str, path: str, lines: list[str], fields: list[str]) -> None:
    """`head` precedes the value on its first line."""
    pairs: list[tuple[str, str, object]] = []
    if isinstance(value, dict):
        pairs = [(f"{_scalar(key)}: ", f"{path}.{cut(key)}" if path else cut(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [("", f"{path}[{index}]", item) for index, item in enumerate(value)]
    if not pairs:
        lines.append(head + _scalar(value))
        fields.append(path)
        return
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    lines.append(head + opening)
    fields.append(path)
    for head_of_item, path_of_item, item in pairs:
        _write(item, head_of_item, path_of_item, lines, fields)
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    lines.append(closing)
    fields.append(path)


def _scalar(value: object) -> str:
    # YAML line breaks that are not line breaks in JSON would shift every later line.
    return json.dumps(value, ensure_ascii=False).translate(_BREAKS)
