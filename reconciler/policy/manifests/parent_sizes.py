"""Sizes that objects of other projects declare for targets their controllers make: Rancher's pools, HyperShift's NodePools."""

from collections.abc import Iterator

import msgspec

from reconciler.policy.manifests.manifest_object import entry_of, objects_of, pair_of, shown, text_of
from reconciler.policy.platform_manifests import ParentSizes, PlatformManifests, platform_manifests
from reconciler.policy.text.nodes import Mapping as MappingNode
from reconciler.policy.text.nodes import Node, Sequence, Spot, spot_of_entry


class ParentSize(msgspec.Struct, frozen=True, kw_only=True):
    """One declared size. `what` names the object, and `value` is as written. The target is of `kind`; its `namespace` is
    empty if the manifest names none."""

    platform: PlatformManifests
    parent: ParentSizes
    what: str
    field: str
    value: str
    kind: str
    namespace: str
    name: str
    spot: Spot


def parent_sizes(node: Node) -> Iterator[ParentSize]:
    """Every size in a document that the controller of a parent kind writes to a target, those of lists included."""
    for item in objects_of(node):
        written = text_of(item, "apiVersion").partition("/")[0], text_of(item, "kind")
        for platform in platform_manifests():
            for parent in platform.parents:
                if (parent.group, parent.kind) == written:
                    yield from _sizes(item, platform, parent)


def _sizes(node: MappingNode, platform: PlatformManifests, parent: ParentSizes) -> Iterator[ParentSize]:
    metadata = entry_of(node, "metadata")
    name, namespace = text_of(metadata, "name"), text_of(metadata, "namespace")
    words = {"name": name, "namespace": namespace, "cluster": text_of(entry_of(node, "spec"), "clusterName")}
    for entry in _entries(node, parent):
        known = words | {"entry": text_of(entry, "name")}
        title = f"{parent.kind} {namespace}/{name}" if namespace else f"{parent.kind} {name}"
        pool = f", pool {known['entry']}," if parent.entries else ""
        for path in parent.sizes:
            *above, last = path
            place: Node | None = entry
            for key in above:
                place = entry_of(place, key)
            pair = pair_of(place, last)
            if pair is not None:
                yield ParentSize(
                    platform=platform, parent=parent, what=f"{title}{pool}", field=".".join(path), value=shown(pair[1]),
                    kind=parent.target_kind, name=parent.target_name.format(**known),
                    namespace=parent.target_namespace.format(**known) if namespace else "", spot=spot_of_entry(*pair),
                )  # fmt: skip


def _entries(node: MappingNode, parent: ParentSizes) -> Iterator[Node]:
    if not parent.entries:
        yield node
        return
    place: Node | None = node
    for key in parent.entries:
        place = entry_of(place, key)
    yield from place.items if isinstance(place, Sequence) else ()
