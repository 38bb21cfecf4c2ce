"""What is too large is refused with a problem, before it costs anything."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.problems.findings import MAX_PROBLEMS_PER_FILE
from reconciler.policy.reading import yaml_text
from tests.builders import NOW, ClusterBuilder
from tests.policy.texts import POLICY, codes, group, read


def test_a_file_that_is_too_large() -> None:
    """One byte more than the limit is not parsed at all."""
    text = POLICY + "#" * (yaml_text.MAX_FILE_BYTES - len(POLICY))
    assert codes(read(text)) == []
    assert codes(read(text + "#")) == ["FileTooLarge"]


def test_too_many_documents() -> None:
    """The document after the limit is a problem, at its own line."""
    tree = read("---\n" * (yaml_text.BOUNDS.documents + 1))
    assert codes(tree) == ["TooManyDocuments"]
    assert tree.problems[0].place.line == yaml_text.BOUNDS.documents + 1


def test_too_many_values() -> None:
    """A flat list with more nodes than the limit."""
    assert codes(read("- [" + "0," * yaml_text.BOUNDS.values + "]"))[0] == "TooManyValues"


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "? " * 50_000])
def test_deep_nesting_does_not_exhaust_the_stack(text: str) -> None:
    """A hundred thousand levels stop at the limit."""
    assert codes(read(text)) == ["TooDeep"]


def test_aliases_count_in_depth() -> None:
    """Nesting by aliases is nesting."""
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 40)]
    assert codes(read(POLICY + "\n".join(lines)))[-1] == "TooDeep"


def test_a_file_full_of_mistakes_is_cut() -> None:
    """The list ends with a problem that says so."""
    keys = "".join(f"  key{number}: 1\n" for number in range(MAX_PROBLEMS_PER_FILE + 50))
    tree = read(POLICY.replace("spec: {}\n", "spec:\n" + keys))
    assert len(tree.problems) == MAX_PROBLEMS_PER_FILE + 1
    assert codes(tree).index("TooManyProblems") == MAX_PROBLEMS_PER_FILE
    assert tree.problems[-1].place.line == 5 + MAX_PROBLEMS_PER_FILE


@pytest.mark.parametrize(("amount", "code"), [
    ("1m", "FractionalAmount"), ('"0.5"', "FractionalAmount"), ("1n", "FractionalAmount"), ("9223372036854775808", "Overflow"),
    ("-1", "NegativeNumber"), ("8Ei", "Overflow"), ("4Ei", ""), ("0", ""), ("1500k", ""),
])  # fmt: skip
def test_room_of_volumes_is_in_whole_bytes(amount: str, code: str) -> None:
    """A policy that is accepted can be decided by: until now one of thousandths of a byte stopped every decision."""
    tree = read(POLICY + group("a", f"  template: {{storage: {{topolvm: {amount}}}}}\n"))
    assert codes(tree) == ([code] if code else [])
    cluster = ClusterBuilder()
    cluster.group("a", nodes=1)
    for policy in tree.sets:
        assert decide(cluster.world(), policy, Memory(), NOW)[0].groups[0].name == "a"


def test_windows_that_cannot_all_be_compared_are_named() -> None:
    """The search for overlaps has a budget; what it did not reach is a warning, not silence."""
    pairs = 60
    windows = "".join(f'    - {{schedule: "{n % 60} {n // 60} * * *", duration: 10s, size: {{min: 9}}}}\n' for n in range(pairs))
    windows += '    - {schedule: "59 23 * * *", duration: 10s, size: {max: 1}}\n'
    assert codes(read(POLICY + group("a", "  windows:\n" + windows))) == ["NotExamined"]


def test_an_underline_ends_with_its_line() -> None:
    """A tag written in its long form is longer than what stands in the text."""
    (problem,) = [
        one for one in read(POLICY.replace("{name: prod}", "!!set {name: prod}")).problems if one.code == "UnsupportedTag"
    ]
    assert problem.place.column - 1 + problem.width <= len(problem.source)
    (long,) = [one for one in read("%TAG ! tag:example.com,2026:\n---\n!a x\n").problems if one.code == "UnsupportedTag"]
    assert (long.place.line, long.width) == (3, 4)
