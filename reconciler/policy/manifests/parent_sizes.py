"""Sizes that objects of other projects declare for targets their controllers make: Rancher's pools, HyperShift's NodePools."""

from collections.abc import Iterator

import msgspec

from reconciler.policy.manifests.manifest_object import (
    entry_of,
    objects_of,
    pair_of,
    text_of,
)
from reconciler.policy.platform.manifests import PlatformManifests, platform_manifests
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, Spot, spot_of, spot_of_entry
from reconciler.values.parent_sizes import DeclaredSize, Reader, declared_sizes

_READER = Reader[Node](
    entry=entry_of,
    items=lambda node: node.items if isinstance(node, Sequence) else (),
    text=lambda node: node.text if isinstance(node, Scalar) else "",
)


class ParentSize(msgspec.Struct, frozen=True, kw_only=True):
    """One declared size, with the platform of its target and where it is written."""

    platform: PlatformManifests
    declared: DeclaredSize[Node]
    spot: Spot

    @property
    def what(self) -> str:
        """The object, in words."""
        pool = f", pool {self.declared.pool}," if self.declared.parent.entries else ""
        return f"{self.declared.parent.kind} {self.declared.title}{pool}"


def parent_sizes(node: Node) -> Iterator[ParentSize]:
    """Every size in a document that the controller of a parent kind writes to a target, those of lists included."""
    for item in objects_of(node):
        written = text_of(item, "apiVersion").partition("/")[0], text_of(item, "kind")
        for platform in platform_manifests():
            for parent in platform.parents:
                if (parent.group, parent.kind) == written:
                    for declared in declared_sizes(parent, item, _READER):
                        pair = pair_of(declared.above, declared.field[-1])
                        spot = spot_of(item) if pair is None else spot_of_entry(*pair)
                        yield ParentSize(platform=platform, declared=declared, spot=spot)
