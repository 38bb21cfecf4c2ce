"""Line breaks that YAML knows and a reader of a change does not see: a comment would end where nobody looks."""

import random

import pytest

from tests.policy.texts import POLICY, codes, read

HIDDEN = {"U+000D": "\r", "U+0085": "\x85", "U+2028": "\u2028", "U+2029": "\u2029"}
SAFE = ("\n", "\r\n")


@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_line_break_is_refused_where_it_stands(name: str) -> None:
    """What seems to be a comment would set a value. Line and column are those of the reader, behind another one as well."""
    text = POLICY.replace("spec: {}\n", f"spec:\n  # as agreed{HIDDEN[name]}  mode: Enforce\n  currency: EUR{HIDDEN[name]} #\n")
    tree = read(text)
    assert [(problem.code, problem.place.line, problem.place.column) for problem in tree.problems] == [
        ("HiddenLineBreak", 5, 14),
        ("HiddenLineBreak", 6, 16),
    ]
    assert all(name in problem.message for problem in tree.problems)
    assert tree.sets == ()


@pytest.mark.parametrize("name", HIDDEN)
def test_its_escape_is_taken(name: str) -> None:
    """In double quotes everybody sees it."""
    tree = read(POLICY.replace("metadata: {name: prod}", f'metadata: {{name: prod, annotations: {{a: "x\\u{name[2:]}y"}}}}'))
    assert codes(tree) == []


@pytest.mark.parametrize("end", SAFE)
def test_line_ends_of_files_are_taken(end: str) -> None:
    """Of both kinds that every reader knows."""
    assert codes(read(POLICY.replace("\n", end))) == []


def test_a_text_has_as_many_lines_as_its_reader_sees() -> None:
    """Any of these characters, strewn into a text that is read otherwise: all are refused, the first where it stands."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(200):
        at, name = chance.randrange(len(POLICY)), chance.choice(sorted(HIDDEN))
        text = POLICY[:at] + HIDDEN[name] + POLICY[at:]
        if "\r\n" in text:
            continue
        (problem,) = read(text).problems
        before = text[:at].split("\n")
        assert (problem.code, problem.place.line, problem.place.column) == ("HiddenLineBreak", len(before), len(before[-1]) + 1)
