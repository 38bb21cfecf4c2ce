"""What one object of another autoscaler becomes: pieces of a policy, groups whose target is not in it, and keys that are left."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What the key `path` with its `value` becomes: a part of a policy's `spec`, or of what a NodeGroup has below `spec`.

    A reader of objects checks no values. The reader of policies judges each piece alone, and refuses it with a reason.
    """

    path: str
    value: Any
    tree: Mapping[str, Any]


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """A key that becomes nothing, and why."""

    path: str
    value: Any
    why: str


class TargetlessGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A NodeGroup whose target the object does not name as a whole: it is written as a comment.

    `target` is what is known of it, `missing` says what is not. `labels` are those of its metadata.
    """

    name: str
    missing: str
    target: Mapping[str, Any] = {}
    labels: Mapping[str, str] = {}
    pieces: tuple[Piece, ...] = ()


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    """All of one object, which `title` names. Fragments of a higher `rank` come first: a number, and a name among equals.
    `remarks` are for who reads the policy."""

    title: str
    rank: tuple[int, str] = (0, "")
    pieces: tuple[Piece, ...] = ()
    groups: tuple[TargetlessGroup, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    remarks: tuple[str, ...] = ()
