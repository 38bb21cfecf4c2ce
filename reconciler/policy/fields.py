"""The field model: every key of a policy document with its meaning. Reader, schemas, CRDs and the reference table walk it.

The structs of `documents` are the truth about values; this tree says how they are written. A test holds the two equal:
every attribute of every struct is fed by exactly one field.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

import msgspec

from reconciler.policy import documents
from reconciler.policy.field import Field, Kind, Written, rooted, structs_in, walk
from reconciler.policy.field_tables.node_group_policy import NODE_GROUP, NODE_GROUP_POLICY
from reconciler.policy.platform_parts import platform_keys
from reconciler.values.duration import duration_text

# What applies if a key is left out, as the reference shows it. It comes from the type that the field feeds.
#
# A default is written once. If only the policy can have the value, the default is in the type of `documents`, and the row of the
# field table has none. If several levels can have it for a group, the default is in the row. The type then has None, which means:
# not set at this level.


def with_built_in(field: Field, struct: type[msgspec.Struct]) -> Field:
    """The field with the defaults of the struct that it feeds, and those of the structs inside it, written as in YAML.

    Raises TypeError for a default that stands in the row, too.
    """
    infos = {info.name: info for info in msgspec.structs.fields(struct)}
    return msgspec.structs.replace(field, children=tuple(_child(child, struct, infos) for child in field.children))


def _child(field: Field, struct: type[msgspec.Struct], infos: Mapping[str, msgspec.structs.FieldInfo]) -> Field:
    if not field.attribute:
        return with_built_in(field, struct)
    info = infos[field.attribute]
    inner = structs_in(info.type)
    if inner and field.item is not None:
        return msgspec.structs.replace(field, item=with_built_in(field.item, inner[0]))
    if inner:
        return with_built_in(field, inner[0])
    written = _written(field, info.default)
    if written is None:
        return field
    if field.default is not None:
        raise TypeError(
            f"the default of {field.path} stands in its row and in {struct.__name__}.{field.attribute}: take one away"
        )
    return msgspec.structs.replace(field, default=written)


def _written(field: Field, value: object) -> Written | None:
    """None where the type says nothing: no default, an empty text or list."""
    if isinstance(value, tuple) and value:
        return tuple(str(item) for item in value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, int):
        return duration_text(value) if field.kind is Kind.DURATION else value
    return value if isinstance(value, str) and value else None


# What objects of platforms say for the same setting: each platform has its names.

_LEVELS = re.compile(r"spec\.(tiers\[\]\.)?(defaults\.)?(windows\[\]\.)?")


def with_other_names(field: Field) -> Field:
    """The field and all below it with the names that platforms have for them."""
    path = _LEVELS.sub("", field.path, count=1)
    names = {keys.provider: keys.elsewhere.names.get(path, "") for keys in platform_keys() if keys.elsewhere is not None}
    return msgspec.structs.replace(
        field,
        elsewhere={provider: name for provider, name in names.items() if name},
        item=with_other_names(field.item) if field.item is not None else None,
        children=tuple(with_other_names(child) for child in field.children),
    )


__all__ = ["DocumentKind", "Field", "Kind", "Written", "document_kind", "document_kinds", "walk"]


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
        root=with_other_names(with_built_in(rooted(NODE_GROUP_POLICY, ""), documents.NodeGroupPolicy)),
    )
    group = DocumentKind(
        kind="NodeGroup",
        plural="nodegroups",
        scope="Namespaced",
        short_names=("ng",),
        description=NODE_GROUP.description,
        root=with_other_names(with_built_in(rooted(NODE_GROUP, ""), documents.NodeGroup)),
    )
    return (policy, group)


def document_kind(kind: str) -> DocumentKind | None:
    """The kind of that name, or None."""
    return next((one for one in document_kinds() if one.kind == kind), None)
