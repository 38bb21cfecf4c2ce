"""The lines of files in which two policies differ."""

from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.hunks import hunks_of
from reconciler.policy.place import Place
from reconciler.rendering.documents.blocks import Code, Items
from reconciler.rendering.documents.preview.policy_hunks import shown_hunks
from reconciler.rendering.words.fold import EVERYTHING, Fold

BEFORE = b"# fleet\nkind: NodeGroup\nmin: 1\nmax: 5\nprice: 1\n" + b"a: 1\n" * 9 + b"# note\n"
AFTER = BEFORE.replace(b"max: 5", b"max: 6").replace(b"# note", b"# other")


def change(line: int, path: str = "size.max", reaches: tuple[str, ...] = (), file: str = "x.yaml") -> PolicyChange:
    """A value on one line of a file, before and after."""
    place = Place(file, line, 6)
    return PolicyChange(
        kind="NodeGroup", name="big", path=path, before="5", after="6", place_before=place, place_after=place, reaches=reaches
    )


def test_one_line_with_its_neighbours():
    """A comment is no difference of the policy; what the lines show is not told again, what it reaches is."""
    changes = (change(4, reaches=("big", "small")),)
    hunks = hunks_of(changes, {"x.yaml": BEFORE}, {"x.yaml": AFTER})
    shown = shown_hunks(hunks, changes, Fold())
    (code,) = shown.blocks
    assert isinstance(code, Code)
    assert code.lines == ("@@ x.yaml:4 @@ NodeGroup big, reaches big, small", " min: 1", "-max: 5", "+max: 6", " price: 1")
    assert shown.rest == ()


def test_a_long_line_goes_on_in_the_next_one():
    """After 96 columns, with a sign of its own. A line of one long word is cut, and its value is told in words."""
    reasons = [", ".join(["recovering"] * 12), "x" * 120]
    for reason, shown_lines in zip(
        reasons,
        (
            ["+max: 6  # " + "recovering, " * 7, "+      … recovering, recovering, recovering, recovering, recovering"],
            ["+max: 6"],
        ),
        strict=True,
    ):
        after = AFTER.replace(b"max: 6", b"max: 6  # " + reason.encode())
        changes = (change(4),)
        shown = shown_hunks(hunks_of(changes, {"x.yaml": BEFORE}, {"x.yaml": after}), changes, Fold())
        (code, *_) = shown.blocks
        assert isinstance(code, Code)
        added = [line for line in code.lines if line.startswith("+")]
        assert [line[: len(told)] for line, told in zip(added, shown_lines, strict=True)] == [one.rstrip() for one in shown_lines]


def test_what_the_lines_do_not_show_is_told():
    """A value on a line that is equal; one of a file that nobody handed over."""
    changes = (change(3, "size.min"), change(4, file="y.yaml"))
    shown = shown_hunks(hunks_of(changes, {"x.yaml": BEFORE}, {"x.yaml": AFTER}), changes, Fold())
    assert [item.text for block in shown.blocks if isinstance(block, Items) for item in block.items] == [
        "NodeGroup big: size.min 5 -> 6 (x.yaml:3:6)"
    ]
    assert shown.rest == changes[1:]


def test_a_dozen_lines():
    """The rest is counted and its values are told as a list; text of others stays on its line."""
    before = b"".join(b"v%d: 1\n" % number for number in range(40))
    after = before.replace(b": 1", b": 2 \xe2\x80\xae\x1b[31m```")
    changes = tuple(change(line, f"v{line}") for line in range(1, 41))
    hunks = hunks_of(changes, {"x.yaml": before}, {"x.yaml": after})
    shown = shown_hunks(hunks, changes, Fold())
    lines = [line for block in shown.blocks if isinstance(block, Code) for line in block.lines]
    assert (len(lines), lines[-1]) == (14, "@@ 68 more lines @@")
    assert len(shown.rest) == 37
    everything = shown_hunks(hunks, changes, EVERYTHING)
    (code,) = everything.blocks
    assert isinstance(code, Code)
    assert (len(code.lines), everything.rest) == (81, ())
    assert code.lines[41] == "+v0: 2 \\u202e\\x1b[31m```"
