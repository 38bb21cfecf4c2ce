"""Instants of objects."""

import pytest

from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.unreadable import UnreadableError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-02T00:00:01Z", 86_401),
        ("2026-11-21T00:16:41Z", 1_795_220_201),
        ("2026-11-21T00:16:41.999999Z", 1_795_220_201),
        ("2026-11-21T01:16:41+01:00", 1_795_220_201),
        ("2026-11-20T18:46:41-05:30", 1_795_220_201),
        ("2024-02-29T12:00:00Z", 1_709_208_000),
    ],
)
def test_instants(text: str, seconds: int) -> None:
    """RFC 3339 with and without fraction and offset (`date -u -d TEXT +%s` says the same)."""
    assert unix_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-21",
        "2026-11-21 00:16:41Z",
        "2026-11-21T00:16:41",
        "2025-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T00:60:00Z",
        "\uff12026-11-21T00:16:41Z",
    ],
)
def test_no_instant(text: str) -> None:
    """Anything else is refused, naming the text."""
    with pytest.raises(UnreadableError, match="invalid time"):
        unix_seconds(text)
