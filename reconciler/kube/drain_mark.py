"""Our taint on a node that is being drained: the owner of the drain and its start. A drain has no other state."""

import re

import msgspec

from reconciler.cluster.wire.node import NodeTaint
from reconciler.values.whole_number import whole_number

DELETING_TAINT = "reconciler.dev/deleting"
EFFECT = "NoSchedule"
_LONGEST_VALUE = 63
# What a taint's value may contain. The seconds and their dot take eleven more characters.
_OWNER = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONGEST_OWNER = _LONGEST_VALUE - len(".2147483647")


class DrainMark(msgspec.Struct, frozen=True, kw_only=True):
    """`owner` is the policy that drains the node, `began_seconds` Unix time."""

    owner: str
    began_seconds: int

    @property
    def value(self) -> str:
        """The taint's value."""
        return f"{self.owner}.{self.began_seconds}"

    def taint(self) -> dict[str, str]:
        """The taint as the API takes it."""
        return {"key": DELETING_TAINT, "value": self.value, "effect": EFFECT}


def checked_owner(owner: str) -> str:
    """An owner that fits into a taint's value. Raises `ValueError`."""
    if len(owner) > _LONGEST_OWNER or not _OWNER.fullmatch(owner):
        raise ValueError(f"invalid owner {owner!r} of a taint: use at most {_LONGEST_OWNER} letters, digits, '.', '_' and '-'")
    return owner


def read_mark(value: str) -> DrainMark | None:
    """The mark in a taint's value; None for a value that somebody else wrote."""
    owner, _, text = value.rpartition(".")
    seconds = whole_number(text)
    return DrainMark(owner=owner, began_seconds=seconds) if owner and seconds is not None else None


def mark_of(taints: list[NodeTaint] | None, owner: str) -> DrainMark | None:
    """The mark of `owner` among a node's taints."""
    for taint in taints or ():
        mark = read_mark(taint.value or "") if taint.key == DELETING_TAINT else None
        if mark is not None and mark.owner == owner:
            return mark
    return None
