"""Sizes that objects of other projects declare for targets that their controllers make, read the same way from texts and
snapshots.

Documents are YAML with places or JSON. `Reader` finds an entry in either.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class ParentSizes(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of another project whose objects declare the sizes of targets that its controller makes.

    `owner` is the project, `group` and `kind` are those of the object. `entries` is the path to a list of pools; without it the
    object is the only entry. `sizes` are paths below an entry. `target_kind` is the kind of the created object, `target_name` and
    `target_namespace` its name and namespace. In these, `{name}` and `{namespace}` are those of the object, `{entry}` is the
    entry's name, and `{cluster}` is its `spec.clusterName`. `mark` is a label or annotation, with its value, that the controller
    sets on created objects. `mark_cluster` is the cluster in which the mark counts (empty: any).
    """

    owner: str
    group: str
    kind: str
    entries: tuple[str, ...] = ()
    sizes: tuple[tuple[str, ...], ...]
    target_kind: str
    target_name: str
    target_namespace: str
    mark: tuple[str, str] = ("", "")
    mark_cluster: str = ""

    @property
    def known_as(self) -> str:
        """Its kind and API group, which no other kind has."""
        return f"{self.kind}.{self.group}"


class Reader(msgspec.Struct, Generic[T], frozen=True):
    """How a document is read: the value under a key (None: not there, or null), the items of a list, a value's text."""

    entry: Callable[[T | None, str], T | None]
    items: Callable[[T | None], Iterable[T]]
    text: Callable[[T | None], str]


class DeclaredSize(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One size that an object declares. `title` is its name, with its namespace if it has one. `pool` is the entry's name.
    `field` is the path below the entry, and `path` the one from the top. `above` has the last key of it. `target_name` and
    `target_namespace` (empty: none) name the target. `mark` and `mark_cluster` are as in `ParentSizes`, filled in."""

    parent: ParentSizes
    title: str
    pool: str
    field: tuple[str, ...]
    path: str
    above: T | None
    value: T
    target_name: str
    target_namespace: str
    mark: tuple[str, str]
    mark_cluster: str

    @property
    def field_path(self) -> str:
        """`field` as a text."""
        return ".".join(self.field)

    def sizes(self, kind: str, namespace: str, name: str, marks: Mapping[str, str] | None = None, cluster: str = "") -> bool:
        """Whether its controller makes the object of that kind and name. `marks` are the labels and annotations of one that is
        there, `cluster` is its cluster."""
        if kind != self.parent.target_kind:
            return False
        key, value = self.mark
        here = self.target_namespace in ("", namespace)
        if key and marks and key in marks and (not self.mark_cluster or (here and cluster == self.mark_cluster)):
            return marks[key] == value
        return here and name == self.target_name


def declared_sizes(parent: ParentSizes, item: T, reader: Reader[T]) -> Iterator[DeclaredSize[T]]:
    """Every size that an object of the kind `parent` declares."""
    metadata = reader.entry(item, "metadata")
    name, namespace = (reader.text(reader.entry(metadata, key)) for key in ("name", "namespace"))
    cluster = reader.text(reader.entry(reader.entry(item, "spec"), "clusterName"))
    for entry in reader.items(_at(item, parent.entries, reader)) if parent.entries else (item,):
        pool = reader.text(reader.entry(entry, "name")) if parent.entries else ""
        words = {"name": name, "namespace": namespace, "cluster": cluster, "entry": pool}
        top = f"{'.'.join(parent.entries)}[name={pool}]." if parent.entries else ""
        for field in parent.sizes:
            above = _at(entry, field[:-1], reader)
            value = reader.entry(above, field[-1])
            if value is None:
                continue
            yield DeclaredSize(
                parent=parent, title=f"{namespace}/{name}" if namespace else name, pool=pool, field=field,
                path=f"{top}{'.'.join(field)}", above=above, value=value, target_name=parent.target_name.format(**words),
                target_namespace=parent.target_namespace.format(**words) if namespace else "",
                mark=(parent.mark[0], parent.mark[1].format(**words)), mark_cluster=parent.mark_cluster.format(**words),
            )  # fmt: skip


def _at(item: T, path: tuple[str, ...], reader: Reader[T]) -> T | None:
    place: T | None = item
    for key in path:
        place = reader.entry(place, key)
    return place
