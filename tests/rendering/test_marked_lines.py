"""Lines that are cut: counted by what they are about, with the gravest of them."""

from reconciler.rendering.marked_lines import FEWER, OTHERWISE, Difference, Meaning, cut, gravest_first

LINES = (
    Difference(FEWER, "web: 4 pods wait", Meaning.DANGER, 4),
    Difference(OTHERWISE, "api: 3 pods wait", Meaning.HELD, 3),
    Difference(OTHERWISE, "db waits"),
)


def test_cut_counts_what_is_left_out_and_names_the_first_of_it():
    """3 + 1 pods are left out after the first line, and 4 + 3 + 1 after none; what is left of one line is that line."""
    assert cut(LINES, 3, "pod") == LINES
    assert cut(LINES, 1, "pod") == (
        LINES[0],
        Difference(OTHERWISE, "and 4 more pods, the gravest: api: 3 pods wait", Meaning.HELD, 4),
    )
    assert cut(LINES, 0, "pod") == (Difference(FEWER, "and 8 more pods, the gravest: web: 4 pods wait", Meaning.DANGER, 8),)
    assert cut(LINES, 2, "pod")[-1].sentence == "and 1 more pod: db waits"


def test_what_was_cut_before_is_counted_again_in_full():
    assert cut(cut(LINES, 1, "pod"), 0, "pod")[0].number == 8


def test_danger_comes_first():
    assert tuple(gravest_first(tuple(reversed(LINES)))) == LINES
