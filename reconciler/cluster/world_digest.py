"""A digest of what a World contains about its cluster."""

import hashlib

import msgspec

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World

_encoder = msgspec.json.Encoder(order="sorted")
_LEFT_OUT = frozenset(
    {
        "digest",
        "captured_seconds",
        "pods",
        "clusters",
        "rivals",
        "ended_policies",
        "claims",
        "observed",
        "fleet",
        "unread",
        "clock_ahead_seconds",
    }
)
_COLUMNS = (
    "namespace",
    "name",
    "uid",
    "shape",
    "traits",
    "node",
    "nominated",
    "phase",
    "flags",
    "created_seconds",
    "deletion_seconds",
    "unschedulable_seconds",
)


def world_digest(world: World) -> str:
    """`sha256:` and 64 hex digits over everything but the instant of capture: equal when nothing in the cluster moved."""
    return _digest(world, _LEFT_OUT)


def whole_digest(world: World) -> str:
    """The same over everything, the instant of capture included: equal when a decision about it must be the same."""
    return _digest(world, frozenset({"pods"}))


def _digest(world: World, left_out: frozenset[str]) -> str:
    digest = hashlib.sha256()
    for field in world.__struct_fields__:
        if field not in left_out:
            digest.update(field.encode() + b"\0" + _encoder.encode(getattr(world, field)) + b"\n")
    for name, column in _pod_columns(world.pods):
        digest.update(b"pods." + name.encode() + b"\0" + _encoder.encode(column) + b"\n")
    return f"sha256:{digest.hexdigest()}"


def _pod_columns(table: PodTable) -> list[tuple[str, list[str] | list[int] | list[tuple[int, str]]]]:
    # As lists of numbers: the bytes of an array depend on the machine.
    columns: list[tuple[str, list[str] | list[int] | list[tuple[int, str]]]] = [
        (name, list(getattr(table, name))) for name in _COLUMNS
    ]
    columns.append(("unknown_node", sorted(table.unknown_node.items())))
    return columns
