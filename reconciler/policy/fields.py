"""The field model: every key of a policy document with its meaning. Reader, schemas, CRDs and the reference table walk it.

The structs of `documents` state their keys (`keys.Key`). Platforms add those of their targets.
"""

import re
from functools import cache

import msgspec

from reconciler.policy import documents
from reconciler.policy.balancing import presets
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Field, Kind, Written, rooted, walk
from reconciler.policy.keys import keys_of
from reconciler.policy.platform.policy_keys import platform_keys

_IN_METADATA = ("name", "namespace", "labels")
_ADDED = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""What API servers add is accepted, so that an exported object can be checked."""


def _document(kind: str, description: str, settings: str, fields: tuple[Field, ...]) -> Field:
    """The root of a document of `kind`, whose attributes have these fields. `settings` describes its spec."""
    added = tuple(
        Field(yaml_key=key, kind=Kind.OPAQUE, description="Written by the API server or by other software, and ignored.")
        for key in _ADDED
    )
    metadata = Field(
        yaml_key="metadata",
        kind=Kind.OBJECT,
        description="Name and labels of the object.",
        required=True,
        children=(*(field for field in fields if field.attribute in _IN_METADATA), *added),
    )
    spec = Field(
        yaml_key="spec",
        kind=Kind.OBJECT,
        description=settings,
        required=True,
        children=tuple(_with_platforms(field) for field in fields if field.attribute not in _IN_METADATA),
    )
    version = "API group and version of this document."
    children = (
        Field(yaml_key="apiVersion", kind=Kind.STRING, description=version, enum=(documents.API_VERSION,), required=True),
        Field(yaml_key="kind", kind=Kind.STRING, description="The kind of this document.", enum=(kind,), required=True),
        metadata,
        spec,
        Field(yaml_key="status", kind=Kind.OPAQUE, description="Written by the loop, and ignored in a policy tree."),
    )
    return Field(yaml_key="", kind=Kind.OBJECT, description=description, required=True, children=children)


def _with_platforms(field: Field) -> Field:
    """The field with what platforms add to it: the keys of their targets, the names of their presets."""
    platforms = platform_keys()
    discovering = tuple(keys.discovery for keys in platforms if keys.discovery is not None)
    match field.yaml_key:
        case "target":
            return _choosing(field, tuple(keys.target for keys in platforms))
        case "discovery" if field.item is not None:
            return msgspec.structs.replace(field, item=_choosing(field.item, discovering))
        case "balancing":
            return msgspec.structs.replace(field, children=tuple(_with_platforms(child) for child in field.children))
        case "presets" if field.item is not None:
            return msgspec.structs.replace(field, item=msgspec.structs.replace(field.item, enum=tuple(presets())))
    return field


def _choosing(field: Field, platforms: tuple[Field, ...]) -> Field:
    """The field with the keys of platforms, of which exactly one is there."""
    names = tuple(one.yaml_key for one in platforms)
    return msgspec.structs.replace(field, children=(*field.children, *platforms), exactly_one_of=names)


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
    described = "The policy of one cluster: mode, tiers, limits, discovery, budgets and defaults of its node groups."
    policy = _document("NodeGroupPolicy", described, "The policy.", keys_of(documents.NodeGroupPolicy))
    of_group = "A node group: which target it sizes, and how."
    own = tuple(field for field in keys_of(documents.NodeGroup) if field not in GROUP_FIELDS)
    group = _document("NodeGroup", of_group, "The settings of the group.", (*own, *GROUP_FIELDS))
    return (
        DocumentKind(
            kind="NodeGroupPolicy",
            plural="nodegrouppolicies",
            scope="Cluster",
            short_names=("ngp",),
            description=described,
            root=with_other_names(rooted(policy, "")),
        ),
        DocumentKind(
            kind="NodeGroup",
            plural="nodegroups",
            scope="Namespaced",
            short_names=("ng",),
            description=of_group,
            root=with_other_names(rooted(group, "")),
        ),
    )


def document_kind(kind: str) -> DocumentKind | None:
    """The kind of that name, or None."""
    return next((one for one in document_kinds() if one.kind == kind), None)
