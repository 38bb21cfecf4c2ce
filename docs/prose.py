"""Checks the prose of the project against the style page: `python -m docs.prose [FILE ...]`, exit code 1 on any hit.

Without FILE it reads every page, and the docstrings and texts of every module of `reconciler`.

Messages are the texts of modules that are not docstrings: problems, reasons, hints, lines of commands. The docstring of a
command is its `--help`, so it is one, too. Messages have further rules, and each f-string is one text in which a value counts
as one word.

Rules: a sentence has at most 25 words. It uses no word that the glossary rejects, and none of a few constructions that are
not English. The glossary is the table of `docs/contributing/style.md`, so that a rule is written once. Code blocks, console
sessions and link targets are not prose. A code span counts as one word.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
STYLE_PAGE = ROOT / "docs" / "contributing" / "style.md"
MAX_WORDS = 25
_SHORTEST_TEXT = 4

_CODE_BLOCK = re.compile(r"(?ms)^[ ]*(```|~~~).*?^[ ]*\1[^\n]*$")
_COMMENT = re.compile(r"(?s)<!--.*?-->")
_ITEM = re.compile(r"^(?:[-*+]|\d+\.)\s+")
_RULE_LINE = re.compile(r"^[|:\- ]+$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?\1", re.S)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\)?\s+")
_BRACES = re.compile(r"[{}]\n(?s:.*)[{}]\n")
_WORD = re.compile(r"[\w'/.,:%$+-]*[A-Za-z0-9][\w'/.,:%$+-]*")
_GLOSSARY_ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| (?P<rejected>[^|]+) \|$", re.M)

_CONSTRUCTIONS = (
    (
        re.compile(r"(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|different\b)", re.I),
        "write 'is not a ...' or 'invalid ...'",
    ),
    (re.compile(r"\b\d[\d.,]* ?(?:s|ms|MiB|%) an? (?:loop|turn|node|pod|group|plan|day|hour)\b"), "write 'per'"),
    (
        re.compile(r"\bone (?!(?:that|which|who|of|from|for|in|on|by|with|to|as|is|has|at)\b)(\w+) a \w+\b", re.I),
        "write 'one ... per ...'",
    ),
    (re.compile(r"\b(?:told|said) of\b"), "write 'reported'"),
)

_MESSAGE_RULES = (
    (re.compile(r"; "), "write two sentences, or a conjunction"),
    (re.compile(r"\bwhat (?:it|the|we|they|he|she|you|no|this|was|is|has|were)\b"), "name it"),
    (re.compile(r"\bat once\b"), "write 'now', 'together' or 'in one step'"),
    (re.compile(r"\bof (?:its|their) own\b"), "write 'its own ...'"),
    (re.compile(r"\b(?:whoever|whom|judge alike|nobody knows)\b", re.I), "use the words of Kubernetes users"),
    (re.compile(r"\b(?:policy|policies|pace|bound|document|signature) (?:does not |do not )?counts?\b"), "write 'applies'"),
    (re.compile(r"\b[A-Z]\w+ says? no\b|\b\w+ say no\b"), "write 'rejects'"),
    (
        re.compile(
            r"\b(?:has|have|had|with|and|,|writes) X (?:nodes|pods|groups|replicas|machines|targets|files)\b(?! (?:more|less))"
        ),
        "write count_text()",
    ),
    (re.compile(r"(?<![\w.,-])1 (?:nodes|pods|groups|replicas|values|problems|tests|machines)\b"), "write the singular"),
)
_NOT_MESSAGES = re.compile(r"^(?:\n|text/|default-src|connect-src|#!/|!f\(\)|# Generated|  mode: Observe  #|  size: \{)")
"""Headers, scripts and lines of YAML."""
MESSAGES_LISTED = {
    ("hold_mark.py", "; until "): "the form of an annotation",
}
"""Messages that may break a rule: file, and text in which a value is `X`, with why."""


class Hit(NamedTuple):
    """One broken rule: where, which, and the sentence."""

    line: int
    rule: str
    sentence: str


class Block(NamedTuple):
    """A paragraph, list item, heading or table cell, and the line where it begins, from 1."""

    line: int
    text: str


@cache
def glossary() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Each rejected word as a pattern, with the term to write instead."""
    page = STYLE_PAGE.read_text(encoding="utf-8")
    rows = _GLOSSARY_ROW.finditer(page[page.index("## Glossary") :])
    return tuple(
        (re.compile(rf"\b{re.escape(word.strip())}\b", re.I), row["term"].strip())
        for row in rows
        if row["term"].strip() != "term" and not _RULE_LINE.match(row["term"])
        for word in row["rejected"].split(",")
    )


def markdown_blocks(text: str) -> Iterator[Block]:
    """The prose of a page, without code."""
    blank = _CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    blank = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), blank)
    lines: list[str] = []
    first = 0
    for number, raw in enumerate((*blank.split("\n"), ""), start=1):
        line = raw.strip().lstrip("> ")
        begins = bool(_ITEM.match(line))
        if lines and (not line or begins or line.startswith(("#", "|", ":::"))):
            yield Block(first, " ".join(lines))
            lines = []
        if not line or _RULE_LINE.match(line):
            continue
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                yield Block(number, cell.strip())
        elif line.startswith("#"):
            yield Block(number, line.lstrip("# "))
        else:
            first = first if lines else number
            lines.append(_ITEM.sub("", line))


def python_blocks(text: str) -> Iterator[Block]:
    """Docstrings and texts of a module: every string constant of four words or more.

    Style sheets and scripts are not prose, nor are paragraphs that click prints as they are (`\\b`), such as examples.
    """
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or len(node.value.split()) < _SHORTEST_TEXT:
            continue
        if _BRACES.search(node.value) is not None:
            continue
        for part in node.value.split("\n\n"):
            if not part.lstrip(" \n").startswith("\b"):
                yield from (Block(node.lineno, block.text) for block in markdown_blocks(part))


def messages(text: str) -> Iterator[Block]:
    """The texts of a module that people read while they use the product: no docstrings, each f-string whole."""
    tree = ast.parse(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)} - _help_texts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            words = node.value
        else:
            continue
        # What joins two texts may be short.
        if (
            ("; " in words or len(words.split()) >= _SHORTEST_TEXT)
            and not _BRACES.search(words)
            and not _NOT_MESSAGES.search(words)
        ):
            yield from (Block(node.lineno, part) for part in words.split("\n\n") if not part.lstrip(" \n").startswith("\b"))


def _help_texts(tree: ast.Module) -> set[int]:
    """The docstrings of commands, by the identity of their nodes."""
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
        and any(
            isinstance(one, ast.Call) and ast.unparse(one.func).endswith((".command", ".group")) for one in node.decorator_list
        )
    }


def message_faults(message: str, file: str = "") -> Iterator[str]:
    """The rules of messages that one text of a file breaks, each as what to do."""
    if (file, message) in MESSAGES_LISTED:
        return
    for pattern, advice in _MESSAGE_RULES:
        if (found := pattern.search(message)) is not None:
            yield f"'{found[0].strip()}': {advice}"
    for sentence in sentences(message):
        words = len(_WORD.findall(sentence))
        if words > MAX_WORDS:
            yield f"{words} words; write {MAX_WORDS} at most"


def sentences(text: str) -> Iterator[str]:
    """The sentences of a block of markdown, each code span as one word."""
    plain = _LINK.sub(r"\1", _CODE_SPAN.sub("CODE", text))
    plain = re.sub(r"\*{1,2}", "", plain)
    for sentence in _SENTENCE_END.split(plain):
        if sentence.strip():
            yield sentence.strip()


def faults(sentence: str) -> Iterator[str]:
    """The rules that one sentence breaks, each as what to do."""
    words = len(_WORD.findall(sentence))
    if words > MAX_WORDS:
        yield f"{words} words; write {MAX_WORDS} at most"
    for pattern, term in glossary():
        if (found := pattern.search(sentence)) is not None:
            yield f"'{found[0]}': write '{term}'"
    for pattern, advice in _CONSTRUCTIONS:
        if (found := pattern.search(sentence)) is not None:
            yield f"'{found[0].strip()}': {advice}"


def check(text: str, blocks: Callable[[str], Iterator[Block]] = markdown_blocks) -> Iterator[Hit]:
    """Every broken rule of one page, or with `python_blocks` of one module."""
    for block in blocks(text):
        for sentence in sentences(block.text):
            for rule in faults(sentence):
                yield Hit(block.line, rule, sentence)


def pages() -> list[Path]:
    """Every page that people read, but the style page, which quotes what it rejects."""
    found = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("schemas/*.md")}
    return sorted(found - {STYLE_PAGE, ROOT / "CHANGELOG.md"})


def modules() -> list[Path]:
    """Every module of the product."""
    return sorted(ROOT.glob("reconciler/**/*.py"))


def hits(path: Path) -> Iterator[Hit]:
    """Every broken rule of one file, by its kind."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from check(text)
        return
    yield from check(text, python_blocks)
    for block in messages(text):
        yield from (Hit(block.line, rule, block.text) for rule in message_faults(block.text, path.name))


def main(arguments: list[str]) -> int:
    """Print each hit as `file:line: rule: sentence`."""
    number = 0
    for path in [Path(name).resolve() for name in arguments] or [*pages(), *modules()]:
        for hit in hits(path):
            number += 1
            print(f"{path.relative_to(ROOT)}:{hit.line}: {hit.rule}: {hit.sentence}")
    if number:
        print(f"{number} hits. docs/contributing/style.md says how to write it.", file=sys.stderr)
    return 1 if number else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
