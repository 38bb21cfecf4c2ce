"""Text that is safe to print."""

import pytest

from reconciler.rendering.words.plain import listed, plain, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("web-1", "web-1"),
        ("müde·→", "müde·→"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\rd", "a b c d"),
        ("a\u202eb", "a\\u202eb"),  # right-to-left override
        ("a\u200bb", "a\\u200bb"),  # zero width space
        ("a\u2028b", "a\\u2028b"),
        ("\x9b1m", "\\x9b1m"),  # C1 control sequence introducer
        ("\U000e0041", "\\U000e0041"),  # tag character
    ],
)
def test_plain(text: str, shown: str):
    """What a terminal would obey, or a reader could not see, is written out."""
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("width", "shown"), [(10, "abcdefghij"), (9, "abcd…ghij"), (8, "abcd…hij"), (3, "a…j"), (2, "a…"), (1, "…"), (0, "")]
)
def test_shortened_in_the_middle(width: int, shown: str):
    """Ten letters in fewer columns keep both ends."""
    assert shortened("abcdefghij", width) == shown


def test_listed_never_hides_a_single_name():
    """`and 1 more` would be longer than the name."""
    assert listed(("a", "b", "c", "d"), 3) == "a, b, c, d"
    assert listed(("a", "b", "c", "d", "e"), 3) == "a, b, c and 2 more"
    assert listed(("a", "b", "c", "d", "e"), 0) == "a, b, c, d, e"
