"""Who else sizes a target, apart from field managers: objects of other projects that declare its size."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Objects
from reconciler.cluster.target import OtherWriter
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.parents import PARENTS
from reconciler.values.parent_sizes import DeclaredSize, Reader, declared_sizes

STRUCTS: Mapping[str, type[msgspec.Struct]] = {
    "provisioning.cattle.io": wire.RancherCluster,
    "hypershift.openshift.io": wire.NodePool,
    "infrastructure.cluster.x-k8s.io": wire.ManagedPool,
}
"""The fields that are read of a parent, by its API group."""

_READER = Reader[Any](
    entry=lambda item, key: item.get(key) if isinstance(item, dict) else None,
    items=lambda item: item if isinstance(item, list) else (),
    text=lambda item: item if isinstance(item, str) else "",
)


def sizes_declared(objects: Objects) -> Iterator[DeclaredSize[Any]]:
    """The sizes that all captured parents declare."""
    for parent in PARENTS:
        for item in objects.of(parent.known_as).values():
            yield from declared_sizes(parent, msgspec.to_builtins(item), _READER)


def writers(item: wire.Scalable, kind: str, view: ClusterApiView, cluster: str) -> tuple[OtherWriter, ...]:
    """The projects that declare the size of one target, each with the path of the declaration."""
    meta = item.metadata
    marks = {**(meta.annotations or {}), **(meta.labels or {})}
    sizes = (size for size in view.declared if size.sizes(kind, meta.namespace, meta.name, marks, cluster))
    return tuple(sorted(_writer(size) for size in sizes))


def _writer(size: DeclaredSize[Any]) -> OtherWriter:
    evidence = f"{size.parent.known_as} {size.title} declares {size.path}: {size.value}"
    return OtherWriter(by=size.parent.owner, evidence=evidence)
