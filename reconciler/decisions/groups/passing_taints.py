"""Taints that a node carries for a while only: until it is usable, while something is wrong with it, or when it is to go."""

from collections.abc import Iterable
from functools import cache

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.nodes.temporary_taints import PASSING_KEYS, PASSING_PREFIXES, STARTING_KEYS, STARTING_PREFIXES
from reconciler.cluster.platform_reading import readings, starting_taints


def transient(taint: Taint) -> bool:
    """Whether a node carries this taint only for a while, so that new nodes of its group will not."""
    return taint.key in PASSING_KEYS or is_starting(taint.key) or taint.key.startswith(_prefixes())


def is_starting(key: str) -> bool:
    """Whether a node carries a taint of this key until it is usable, though it may be Ready."""
    return key in STARTING_KEYS or key in starting_taints() or key.startswith(STARTING_PREFIXES)


def starts_with(key: str, startup_taints: Iterable[str]) -> bool:
    """Whether nodes of a group have a taint of this key until they are set up: it is a known one, or `template.startupTaints`
    names it."""
    return is_starting(key) or any(covers(one, key) for one in startup_taints)


def covers(named: str, key: str) -> bool:
    """Whether a key of `template.startupTaints` is this one; one that ends with `*` is all that begin so."""
    return key.startswith(named.removesuffix("*")) if named.endswith("*") else key == named


@cache
def _prefixes() -> tuple[str, ...]:
    return (*PASSING_PREFIXES, *(prefix for reading in readings() for prefix in reading.passing_taints))
