"""How long a server tells its clients to wait."""

from reconciler.values.whole_number import whole_number

LONGEST_SECONDS = 600
"""A proxy must not stop the loop for years. After ten minutes, the next request shows whether it still refuses."""


def retry_after_seconds(header: str) -> int:
    """The seconds in a `Retry-After` header, from 0 to 600; 0 for an HTTP date and for text that is not a whole number."""
    return bounded_seconds(whole_number(header) or 0)


def bounded_seconds(seconds: int) -> int:
    """`seconds` from a field of a body, kept between 0 and 600."""
    return max(0, min(seconds, LONGEST_SECONDS))
