"""The wrappers of a list and a watch around objects."""

import msgspec
from msgspec import Raw


class Event(msgspec.Struct, gc=False):
    """One line of a watch: `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, `object` the object or a Status."""

    type: str
    object: Raw


class ListMeta(msgspec.Struct, rename="camel", gc=False):
    """`metadata` of a list; `more` is the token that the next page is asked with."""

    resource_version: str = ""
    more: str = msgspec.field(default="", name="continue")


class ListPage(msgspec.Struct, gc=False):
    """One page of a list."""

    metadata: ListMeta
    items: list[Raw] | None = None


class ObjectVersion(msgspec.Struct, rename="camel", gc=False):
    """The part of an object's `metadata` from which a watch continues."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None


class VersionedObject(msgspec.Struct, gc=False):
    """The parts of an object that a watch reads."""

    metadata: ObjectVersion
