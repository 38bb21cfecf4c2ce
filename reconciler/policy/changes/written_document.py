"""Documents as they would be written: nested YAML keys over texts, each with the key of its place.

The reverse of reading, by the same field model; for comparing and for showing values to people.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import document_kind
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.quantity import quantity_text

Written = dict[str, Any]
"""YAML keys -> texts, or such again. Items of lists stand below `[name]`, so that one that moves is still the same."""

Path = tuple[str, ...]

_TELLING = ("name", "key", "schedule", "reasons")
_MAPS = (Kind.LABEL_MAP, Kind.STRING_MAP, Kind.QUANTITY_MAP)


class WrittenDocument:
    """One document: `values` as written, `place_keys` from the path of a value to its key in `places`."""

    def __init__(self, document: NodeGroup | NodeGroupPolicy) -> None:
        kind = document_kind(type(document).__name__)
        if kind is None:
            raise TypeError(f"{type(document).__name__} is not a kind of document")
        self.place_keys: dict[Path, str] = {}
        self.values = self._object(kind.root, document, (), "")

    def _object(self, field: Field, struct: object, path: Path, key: str) -> Written:
        written: Written = {}
        for child in field.children:
            if child.kind is Kind.OPAQUE or not _applies(child, struct):
                continue
            child_path, child_key = (*path, child.yaml_key), f"{key}.{child.yaml_key}" if key else child.yaml_key
            if child.attribute:
                value = getattr(struct, child.attribute)
                percent = getattr(struct, "percent", None) if child.kind is Kind.INTEGER_OR_PERCENT else None
                if percent is not None:
                    value = f"{percent}%"
            else:
                value = struct if child.children else None
            shown = self._value(child, value, child_path, child_key)
            # An empty mapping that chooses one of several kinds, such as `clusterAPI: {}`, says something.
            if shown not in (None, {}, [], "") or (shown == {} and child.constants):
                written[child.yaml_key] = shown
                self.place_keys[child_path] = child_key
        return written

    def _value(self, field: Field, value: Any, path: Path, key: str) -> Any:  # noqa: ANN401 - nested, by the field model
        if field.kind in (Kind.OBJECT, Kind.SELECTOR):
            return {} if value is None else self._object(field, value, path, key)
        if value is None:
            return field.enum[0] if field.kind is Kind.DURATION and field.enum else None
        if field.kind in (Kind.LIST, Kind.TAINT_LIST):
            return self._list(field, value, path, key)
        if field.kind in _MAPS:
            return self._map(((name, text) for name, text in value), path, key)
        if field.kind is Kind.RESOURCE_MAP:
            return self._map(((name, quantity_text(name, amount)) for name, amount in value), path, key)
        return scalar_text(field, value)

    def _map(self, pairs: Iterable[tuple[str, str]], path: Path, key: str) -> Written:
        texts = dict(pairs)
        self.place_keys.update({(*path, name): f"{key}.{name}" for name in texts})
        return texts

    def _list(self, field: Field, values: tuple[Any, ...], path: Path, key: str) -> Any:  # noqa: ANN401
        item = field.item
        if item is None:
            raise ValueError(f"{field.path} is a list of nothing")
        if not values and field.yaml_key == "taints":
            return "[]"  # unlike a missing key it says that there are none
        if not item.children:
            return f"[{', '.join(_listed(scalar_text(item, value)) for value in values)}]" if values else None
        items = [self._item(item, value, (), "") for value in values]
        labels = _labels(items)
        return {
            label: self._item(item, value, (*path, label), f"{key}[{index}]")
            for index, (label, value) in enumerate(zip(labels, values, strict=True))
        }

    def _item(self, item: Field, value: object, path: Path, key: str) -> Written:
        if path:
            self.place_keys[path] = key
        return self._object(item, value, path, key)


def _applies(field: Field, struct: object) -> bool:
    """Whether one of several exclusive children is the one that is there."""
    return all(getattr(struct, name) == constant for name, constant in field.constants[:1])


def _labels(items: Sequence[Written]) -> list[str]:
    """What items of a list are called: by name, else by what tells them apart, else by number; never two alike."""
    labels: list[str] = []
    for index, item in enumerate(items):
        telling = next((str(item[key]).strip("[]") for key in _TELLING if item.get(key)), str(index))
        label, number = f"[{telling}]", 1
        while label in labels:
            number += 1
            label = f"[{telling} #{number}]"
        labels.append(label)
    return labels


def _listed(text: str) -> str:
    """A text among others: in quotes where it could be taken for several."""
    return json.dumps(text, ensure_ascii=False) if ", " in text or text.startswith('"') else text


def scalar_text(field: Field, value: Any) -> str:  # noqa: ANN401 - as the struct holds it
    """One value as YAML would show it."""
    if field.kind is Kind.DURATION:
        return duration_text(value)
    if field.kind is Kind.INSTANT:
        return instant_text(value)
    return str(value)
