"""One thing that is worth fixing."""

from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.decisions.view import View


class Finding(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """`object` is `Kind name`; `advice` says what to do. `nodes` are those of the object that it is about, where not all are."""

    code: str
    object: str
    message: str
    advice: str
    nodes: tuple[str, ...] = ()


# What `doctor` asks of a platform besides what holds for all of them.


class PlatformLints(msgspec.Struct, frozen=True, kw_only=True):
    """`findings` are what is worth fixing in a cluster with targets of this platform."""

    findings: Callable[[View], Iterator[Finding]]


@cache
def platform_lints() -> tuple[PlatformLints, ...]:
    """Those of the platforms that have any."""
    return registered_platforms.parts("lints", "LINTS")
