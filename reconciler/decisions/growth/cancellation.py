"""What one group takes back of what it asked for."""

import msgspec

from reconciler.plan.reason import Because


class Cancellation(msgspec.Struct, frozen=True, kw_only=True):
    """`machines` go and `requests` fewer nodes are asked for; with 0 requests the target makes others in their place."""

    machines: tuple[str, ...]
    requests: int
    why: Because
