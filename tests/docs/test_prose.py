"""The lint of prose finds what the style page rejects, and says where."""

import pytest

from docs.prose import (
    MAX_WORDS,
    MESSAGES_LISTED,
    check,
    faults,
    glossary,
    hits,
    message_faults,
    messages,
    modules,
    pages,
    python_blocks,
    sentences,
)

WORD = "word "


def test_a_sentence_may_have_25_words() -> None:
    """The boundary, from both sides; code and links count as one word."""
    assert list(faults((WORD * 25).strip() + ".")) == []
    assert list(faults((WORD * 26).strip() + ".")) == [f"26 words; write {MAX_WORDS} at most"]
    text = WORD * 23 + "`spec.scaleDown.unneededTime is one` [word](https://example.com/a b c)."
    assert list(check(text)) == []


def test_the_glossary_is_read_from_the_style_page() -> None:
    """Each rejected word names what to write; no term rejects itself."""
    assert len(glossary()) > 30
    assert list(faults("The loop buys two nodes.")) == ["'buys': write 'scale up, add'"]
    assert [term for _, term in glossary() if any(pattern.search(term) for pattern, _ in glossary())] == []


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("'10min' is no duration.", "is no"),
        ("It takes 7.2 s a loop.", "7.2 s a loop"),
        ("Write one file a command.", "one file a command"),
    ],
)
def test_constructions_that_are_not_english(sentence: str, found: str) -> None:
    """The examples of the style page."""
    assert any(fault.startswith(f"'{found}") for fault in faults(sentence))
    for fine in (
        "The group is no longer held.",
        "There is no policy.",
        "A loop without a policy waits.",
        "Take one that a person wrote.",
    ):
        assert list(faults(fine)) == []


def test_texts_and_docstrings_of_a_module_are_prose() -> None:
    """Names and keys are not; the line is that of the text."""
    module = 'x = "buy"\n\n\ndef f():\n    """It will buy two nodes."""\n    return f"no group can be bought for {x}"\n'
    assert [(hit.line, hit.rule.split("'")[1]) for hit in check(module, python_blocks)] == [(5, "buy"), (6, "bought")]


def test_examples_scripts_and_tables_of_a_module() -> None:
    """Paragraphs that click prints as they are and scripts are not prose; each cell of a table is a sentence of its own."""
    fine = '"""One.\n\n\b\nExamples:\n  buy two nodes anew\n"""\nSCRIPT = """if (buy) {\n  buy(two, nodes);\n}\n"""\n'
    assert list(check(fine, python_blocks)) == []
    table = '"""One.\n\n| what | why |\n|---|---|\n| a | buy it |\n\nBuy one.\n"""\n'
    assert [hit.sentence for hit in check(table, python_blocks)] == ["buy it", "Buy one."]


def test_pages_and_modules_are_plain_english() -> None:
    """Both at zero; `make check` runs the same."""
    assert len(pages()) > 40
    assert len(modules()) > 400
    assert [f"{path}:{hit.line}: {hit.rule}" for path in (*pages(), *modules()) for hit in hits(path)] == []


def test_a_sentence_ends_before_a_lowercase_name() -> None:
    """Names of programs keep their case at the beginning of a sentence; abbreviations end none."""
    text = "First it stops. kwok ran e.g. two nodes. 200 changes took 3 s."
    assert list(sentences(text)) == ["First it stops.", "kwok ran e.g. two nodes.", "200 changes took 3 s."]


def test_where_a_fault_is() -> None:
    """Blocks of code are not prose; items and cells are sentences of their own; the line is that of the block."""
    page = "# A page\n\n```sh\nbuy anew\n```\n\n- fine\n- We\n  mend it.\n\n| what | why |\n| --- | --- |\n| a | buy it |\n"
    assert [(hit.line, hit.rule.split("'")[1]) for hit in check(page)] == [(8, "mend"), (13, "buy")]


MESSAGES = """
def f(x):
    '''What it is; at once.'''
    raise E(f"{x}: a directory; name a file", "what it does is written here", "no rule is broken by this")
"""


def test_messages_are_plain_sentences() -> None:
    """An f-string is one text, a docstring is none; what is listed may stay."""
    told = {block.text: list(message_faults(block.text)) for block in messages(MESSAGES)}
    assert told == {
        "X: a directory; name a file": ["';': write two sentences, or a conjunction"],
        "what it does is written here": ["'what it': name it"],
        "no rule is broken by this": [],
    }
    assert [list(message_faults(text, file)) for file, text in MESSAGES_LISTED] == [[]] * len(MESSAGES_LISTED)
    assert [len(list(message_faults(text))) for _, text in MESSAGES_LISTED] == [1] * len(MESSAGES_LISTED)


def test_help_and_joints_are_messages() -> None:
    """The docstring of a command is its help, without its examples. What joins two texts may be short."""
    command = '''
@click.command(name="x")
def x():
    """Show it; nothing is written.

    \\b
    Examples:
      for one in a; do it
    """
    return "; ".join(parts)
'''
    told = [block.text for block in messages(command) if list(message_faults(block.text))]
    assert sorted(told) == ["; ", "Show it; nothing is written."]


@pytest.mark.parametrize(
    "broken",
    [
        "NodePorts says no on 3 nodes",
        "the group has X nodes",
        "the signature does not count",
        "wait for 1 nodes there",
        "it leaves at once",
        "a name of its own",
        "whoever wrote it",
    ],
)
def test_a_message_that_breaks_a_rule(broken: str) -> None:
    """Each rule finds its example."""
    assert len(list(message_faults(broken))) == 1
