"""Sizes that a change of manifests leaves out where they were declared before."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.policy.manifests.manifest_object import (
    Bounds,
    ManifestObject,
    bounds_of,
    entry_of,
    integer,
    manifest_objects,
    pair_of,
    text_of,
    texts_of,
    topology_entries,
)
from reconciler.policy.place import Place
from reconciler.policy.platform.manifests import manifests_by_group
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.yaml_nodes import Node, spot_of, spot_of_entry

_Key = tuple[str, str, str, str]


class DroppedSize(msgspec.Struct, frozen=True, kw_only=True):
    """An object that declared `before` replicas and declares none now. `entry` is the name in a Cluster's topology (empty: the
    object itself). `bounds` are the present values of both size annotations, or neither. `keys` are those annotations, empty if
    nothing keeps the size. `target_kind` is the kind of the sized target."""

    kind: str
    target_kind: str
    namespace: str
    name: str
    entry: str
    before: int
    bounds: Bounds
    keys: tuple[str, ...]
    place: Place


class _Sized(msgspec.Struct, frozen=True):
    target_kind: str
    keys: tuple[str, ...]
    replicas: int | None
    declared: bool
    bounds: Bounds
    place: Place


def dropped_sizes(base: Mapping[str, bytes], head: Mapping[str, bytes], group: str = "") -> tuple[DroppedSize, ...]:
    """By kind, namespace and name; objects that are in one of both alone do not count, nor texts that cannot be read.

    Both map a path, as it is to be printed, to its bytes; an object may move from one file to another. `group` is the API
    group that an operator gave the platform of which one may say so (empty: its own).
    """
    earlier = _sizes(base, group)
    later = _sizes(head, group) if any(size.declared for size in earlier.values()) else {}
    return tuple(
        DroppedSize(
            kind=key[0], target_kind=later[key].target_kind, namespace=key[1], name=key[2], entry=key[3],
            before=size.replicas, bounds=later[key].bounds, keys=later[key].keys, place=later[key].place,
        )
        for key, size in sorted(earlier.items(), key=lambda item: item[0])
        if size.replicas is not None and key in later and not later[key].declared
    )  # fmt: skip


def _sizes(files: Mapping[str, bytes], group: str) -> dict[_Key, _Sized]:
    sizes: dict[_Key, _Sized] = {}
    platforms = manifests_by_group(group)
    for path in sorted(files):
        if not any(name.encode() in files[path] for name in platforms):
            continue
        findings = Findings()
        decoded = read_source(path, files[path], findings)
        if decoded is None:
            continue
        for document in compose_documents(*decoded, findings):
            for item in manifest_objects(document, decoded[0], platforms):
                sizes.update(_of(item))
    return sizes


def _of(item: ManifestObject) -> Iterator[tuple[_Key, _Sized]]:
    spec = entry_of(item.node, "spec")
    if item.kept or item.platform.unset:
        named = entry_of(item.node, "metadata")
        yield (item.kind, item.namespace, item.name, ""), _sized(item, item.kind, spec, named, item.annotations)
    if not item.topology:
        return
    for kind, entry in topology_entries(item):
        if kind in item.platform.kept:
            annotations = texts_of(entry_of(entry_of(entry, "metadata"), "annotations"))
            yield (item.kind, item.namespace, item.name, text_of(entry, "name")), _sized(item, kind, entry, entry, annotations)


def _sized(item: ManifestObject, kind: str, spec: Node | None, named: Node | None, annotations: Mapping[str, str]) -> _Sized:
    declared, pair = pair_of(spec, "replicas"), pair_of(named, "name")
    spot = spot_of(item.node) if pair is None else spot_of_entry(*pair)
    replicas = None if declared is None else integer(declared[1])
    keys = item.sizes if item.topology or item.kept else ()
    bounds = bounds_of(annotations, item.sizes) if keys else (None, None)
    return _Sized(item.platform.target_kind(kind), keys, replicas, declared is not None, bounds, item.source.place(spot))
