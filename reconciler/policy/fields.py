"""The field model: every key of a policy document with its meaning. Reader, schemas, CRDs and the reference table walk it.

The structs of `documents` are the truth about values; this tree says how they are written. A test holds the two equal:
every attribute of every struct is fed by exactly one field.
"""

from functools import cache

import msgspec

from reconciler.policy import documents
from reconciler.policy.built_in import with_built_in
from reconciler.policy.field import Equivalents, Field, Kind, Written, rooted, walk
from reconciler.policy.field_tables.node_group import NODE_GROUP
from reconciler.policy.field_tables.node_group_policy import NODE_GROUP_POLICY

__all__ = ["DocumentKind", "Equivalents", "Field", "Kind", "Written", "document_kind", "document_kinds", "walk"]


class DocumentKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of document. `plural` and `scope` are what a CRD needs; `root` is the field tree from the document's root."""

    kind: str
    plural: str
    scope: str
    short_names: tuple[str, ...]
    description: str
    root: Field


@cache
def document_kinds() -> tuple[DocumentKind, ...]:
    """The kinds of document, NodeGroupPolicy first."""
    policy = DocumentKind(
        kind="NodeGroupPolicy",
        plural="nodegrouppolicies",
        scope="Cluster",
        short_names=("ngp",),
        description=NODE_GROUP_POLICY.description,
        root=with_built_in(rooted(NODE_GROUP_POLICY, ""), documents.NodeGroupPolicy),
    )
    group = DocumentKind(
        kind="NodeGroup",
        plural="nodegroups",
        scope="Namespaced",
        short_names=("ng",),
        description=NODE_GROUP.description,
        root=with_built_in(rooted(NODE_GROUP, ""), documents.NodeGroup),
    )
    return (policy, group)


def document_kind(kind: str) -> DocumentKind | None:
    """The kind of that name, or None."""
    return next((one for one in document_kinds() if one.kind == kind), None)
