"""What `doctor` asks of a platform besides what holds for all of them."""

from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding


class PlatformLints(msgspec.Struct, frozen=True, kw_only=True):
    """`findings` are what is worth fixing in a cluster with targets of this platform."""

    findings: Callable[[View], Iterator[Finding]]


@cache
def platform_lints() -> tuple[PlatformLints, ...]:
    """Those of the platforms that have any."""
    return registered_platforms.parts("lints", "LINTS")
