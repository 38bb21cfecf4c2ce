"""Sizes that a change of manifests leaves out where they were declared before."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.policy.manifests.manifest_object import (
    CLUSTER_API,
    Bounds,
    ManifestObject,
    bounds_of,
    entry_of,
    integer,
    manifest_objects,
    pair_of,
    size_annotations,
    text_of,
    texts_of,
)
from reconciler.policy.problems.findings import Findings
from reconciler.policy.text.nodes import Node, Sequence, spot_of, spot_of_entry
from reconciler.policy.text.place import Place
from reconciler.policy.text.yaml_text import compose_documents, read_source

_DEFAULTED = ("MachineDeployment", "MachineSet")
_Key = tuple[str, str, str, str]


class DroppedSize(msgspec.Struct, frozen=True, kw_only=True):
    """An object that declared `before` replicas and declares none now. `entry` is the name in a Cluster's topology (empty: the
    object itself), `bounds` both size annotations of now, or neither; `keys` are those annotations."""

    kind: str
    namespace: str
    name: str
    entry: str
    before: int
    bounds: Bounds
    keys: tuple[str, ...]
    place: Place


class _Sized(msgspec.Struct, frozen=True):
    replicas: int | None
    declared: bool
    bounds: Bounds
    place: Place


def dropped_sizes(base: Mapping[str, bytes], head: Mapping[str, bytes], group: str = CLUSTER_API) -> tuple[DroppedSize, ...]:
    """By kind, namespace and name; objects that are in one of both alone do not count, nor texts that cannot be read.

    Both map a path, as it is to be printed, to its bytes; an object may move from one file to another. `group` is the API
    group of Cluster API.
    """
    earlier = _sizes(base, group)
    later = _sizes(head, group) if any(size.declared for size in earlier.values()) else {}
    return tuple(
        DroppedSize(
            kind=key[0], namespace=key[1], name=key[2], entry=key[3],
            before=size.replicas, bounds=later[key].bounds, keys=size_annotations(group), place=later[key].place,
        )
        for key, size in sorted(earlier.items(), key=lambda item: item[0])
        if size.replicas is not None and key in later and not later[key].declared
    )  # fmt: skip


def _sizes(files: Mapping[str, bytes], group: str) -> dict[_Key, _Sized]:
    found: dict[_Key, _Sized] = {}
    for path in sorted(files):
        if group.encode() not in files[path]:
            continue
        findings = Findings()
        decoded = read_source(path, files[path], findings)
        if decoded is None:
            continue
        for document in compose_documents(*decoded, findings):
            for item in manifest_objects(document, decoded[0], group):
                found.update(_of(item))
    return found


def _of(item: ManifestObject) -> Iterator[tuple[_Key, _Sized]]:
    spec = entry_of(item.node, "spec")
    if item.kind in _DEFAULTED:
        named = entry_of(item.node, "metadata")
        yield (item.kind, item.namespace, item.name, ""), _sized(item, spec, named, item.annotations)
    if item.kind != "Cluster":
        return
    workers = entry_of(entry_of(entry_of(spec, "topology"), "workers"), "machineDeployments")
    for entry in workers.items if isinstance(workers, Sequence) else ():
        annotations = texts_of(entry_of(entry_of(entry, "metadata"), "annotations"))
        yield (item.kind, item.namespace, item.name, text_of(entry, "name")), _sized(item, entry, entry, annotations)


def _sized(item: ManifestObject, spec: Node | None, named: Node | None, annotations: Mapping[str, str]) -> _Sized:
    declared, pair = pair_of(spec, "replicas"), pair_of(named, "name")
    spot = spot_of(item.node) if pair is None else spot_of_entry(*pair)
    replicas = None if declared is None else integer(declared[1])
    return _Sized(replicas, declared is not None, bounds_of(annotations, item.sizes), item.source.place(spot))
