"""What every object carries, pruned to what is read."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw

Int64 = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number of the API. JSON may have a larger one, which an API server refuses."""
EMPTY = Raw(b"")
"""A field that is not there. Parts that are equal for many objects are kept as bytes and decoded once a distinct value."""


def api_group(api_version: str) -> str:
    """The group of an `apiVersion`: `apps` of `apps/v1`, empty of `v1`."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


class OwnerReference(msgspec.Struct, rename="camel", gc=False):
    """One `metadata.ownerReferences` item."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool | None = None


class ManagedField(msgspec.Struct, rename="camel", gc=False):
    """One `metadata.managedFields` item; its field set stays undecoded until it is asked for."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str | None = None
    fields_v1: Raw = msgspec.field(default=EMPTY, name="fieldsV1")


class ObjectMeta(msgspec.Struct, rename="camel"):
    """Metadata of objects that are few; field sets of managers are skipped."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class TargetMeta(ObjectMeta, rename="camel"):
    """Metadata of objects whose field owners matter."""

    managed_fields: list[ManagedField] | None = None


class Condition(msgspec.Struct, rename="camel", gc=False):
    """One `status.conditions` item."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    severity: str = ""
    last_transition_time: str | None = None


class LabelRequirement(msgspec.Struct, rename="camel", gc=False):
    """One `matchExpressions` item of a selector."""

    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(msgspec.Struct, rename="camel"):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelRequirement] | None = None
