"""How rows are read, from what the orchard's own command prints: `{"TreeRows": [...]}`."""

import msgspec

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.platform_reading import Key, KindObjects, Objects, PlatformObjects, Rows
from reconciler.cluster.target import FieldOwner, Machine, OwnerEvidence, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.values.resources import Resources
from tests.providers.example_platform.reading import KIND

_TREE_CPU_MILLI, _TREE_MEMORY_BYTES = 4000, 16 << 30


class Tree(msgspec.Struct):
    """One machine."""

    id: str
    felled: bool = False


class Written(msgspec.Struct):
    """Who has set `wanted`; `keeps`: who sets it again whatever comes."""

    by: str
    keeps: bool = False


class TreeRow(msgspec.Struct):
    """One row; `wanted` is how many trees it is to have. `version` moves with every write."""

    row: str
    field: str
    wanted: int
    least: int
    most: int
    trees: list[Tree] = []
    kind: str = ""
    version: int = 0
    written: list[Written] = []


def ref(item: TreeRow) -> TargetRef:
    """The row by field and name."""
    return TargetRef(kind=KIND, region=item.field, name=item.row)


def rows(objects: Objects) -> Rows:
    """Rows and their trees."""
    found: list[TreeRow] = list(objects.of(KIND).values())
    return Rows(
        targets=[facts(item) for item in found],
        machines=[machine for item in found for machine in _machines(item, objects.nodes)],
    )


def facts(item: TreeRow) -> TargetFacts:
    """What a row says."""
    return TargetFacts(
        ref=ref(item),
        replicas=item.wanted,
        min_size=item.least,
        max_size=item.most,
        size_origin="least and most of the row",
        template=TargetTemplate(
            capacity=Resources.of({"cpu": _TREE_CPU_MILLI, "memory": _TREE_MEMORY_BYTES, "pods": 110}), origins=("every tree",)
        ),
        owner=OwnerEvidence(
            owners=tuple(FieldOwner(manager=one.by, operation="Apply" if one.keeps else "Update") for one in item.written)
        ),
        generation=item.version,
        resource_version=str(item.version),
        unrecorded_owner="an orchard records nobody as the owner of a row",
    )


def _machines(item: TreeRow, nodes: tuple[Node, ...]) -> list[Machine]:
    there = {node.provider_id: node.name for node in nodes}
    return [
        Machine(
            namespace=item.field,
            name=tree.id,
            target=ref(item),
            provider_id=f"orchard://{tree.id}",
            node=there.get(f"orchard://{tree.id}", ""),
            deleting=tree.felled,
        )
        for tree in item.trees
    ]


def _key(item: TreeRow) -> Key:
    return item.field, item.row


OBJECTS = PlatformObjects(kinds={KIND: KindObjects(type=TreeRow, key=_key)}, rows=rows)
