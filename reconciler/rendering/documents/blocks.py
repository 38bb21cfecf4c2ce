"""A document as a tree of blocks: what is said, and in which order, is decided once; text, markdown and HTML are its printers.

A text of others is a `Foreign` part of a sentence or cell. Markdown prints it as code, HTML escapes every text, and no printer
lets a hidden character through. Printers bound widths and lengths; a block holds everything.
"""

import textwrap
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from reconciler.plan.replay import Replay
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.words.plain import plain, shortened
from reconciler.rendering.words.wording import GROWS, HELD, MAIN, OTHER, SHRINKS, count

PROSE_WIDTH = 100
"""Columns of prose in markdown: what a reviewer sees without scrolling."""
MOST_FOREIGN = 60
"""Characters of one text of others in prose."""
MORE, FEWER, STAYS, OTHERWISE = GROWS, SHRINKS, HELD, OTHER
_GRAVEST_CHARACTERS = 160


class Foreign(str):
    """Text that comes from a cluster or a pull request: a name, a path, a value."""

    __slots__ = ()


Sentence = tuple[str, ...]
"""Parts of one sentence; those of type `Foreign` are not ours."""


def capitalized(sentence: Sentence) -> Sentence:
    """With a capital letter, unless it begins with a name."""
    if not sentence or isinstance(sentence[0], Foreign):
        return sentence
    return (sentence[0][:1].upper() + sentence[0][1:], *sentence[1:])


def names_listed(names: Sequence[str], most: int) -> Sentence:
    """`a, b, c and 9 more`, each name foreign; everything when `most` is 0."""
    shown = names if not most or len(names) <= most + 1 else names[:most]
    parts: list[str] = []
    for name in shown:
        parts += [", ", Foreign(name)] if parts else [Foreign(name)]
    return (*parts, f" and {len(names) - len(shown)} more") if len(shown) < len(names) else tuple(parts)


def foreign_sentence(text: str, most: int = 300) -> Sentence:
    """A whole sentence of others in parts that are short enough to stay whole; at most `most` characters of it."""
    parts: list[str] = []
    for line in textwrap.wrap(shortened(plain(text), most), MOST_FOREIGN, break_on_hyphens=False):
        parts += [*((" ",) if parts else ()), Foreign(line)]
    return tuple(parts)


def plain_sentence(sentence: Sentence) -> str:
    """The words on one line, without markup."""
    return "".join(plain(part) for part in sentence)


class Meaning(StrEnum):
    """What a colour stands for: red for failure and danger, amber for what is held, none for up and down."""

    DANGER = "danger"
    HELD = "held"
    NEUTRAL = "neutral"


class Difference(msgspec.Struct, frozen=True):
    """One sentence about `number` of what the section names. `mark` is `+` for more (or what comes), `-` for fewer, `!` for what
    is held, `~` for everything else."""

    mark: str
    sentence: str
    meaning: Meaning = Meaning.NEUTRAL
    number: int = 1


class Paragraph(msgspec.Struct, frozen=True):
    """One sentence, or several; in bold type where it is `strong`."""

    sentence: Sentence
    strong: bool = False


class Alarm(msgspec.Struct, frozen=True):
    """What is to be known before all else. Lines with a `title`, such as a grade, are one list."""

    meaning: Meaning
    lines: tuple[Sentence, ...]
    title: str = ""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A heading; `right` aligns figures. On a terminal, `shrinks` lets names be shortened in the middle when the table is too
    wide. `wraps` breaks sentences over lines instead."""

    heading: str
    right: bool = False
    shrinks: bool = False
    wraps: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Cells by row; what others wrote in them is foreign. With a `title` it opens on a click; on a terminal that is the first
    heading. `caption` is one sentence above it, `note` one below. `marks` are those of its rows, if they have any."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...] = ()
    title: str = ""
    caption: str = ""
    note: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence with `items` about it. `bullet` stands before it, and `mark` says what becomes of it. `shorter` are other
    wordings for a narrow line, the longest first. `block` are lines to copy, as they are, which come last."""

    text: str
    bullet: str = ""
    mark: str = ""
    shorter: tuple[str, ...] = ()
    items: tuple["Item", ...] = ()
    block: tuple[str, ...] = ()


class Items(msgspec.Struct, frozen=True):
    """Sentences in their order; `depth` is how far they stand below what they belong to."""

    items: tuple[Item, ...]
    depth: int = 1


class Named(msgspec.Struct, frozen=True):
    """Texts of others, each with its name before it."""

    pairs: tuple[tuple[str, str], ...]


class Code(msgspec.Struct, frozen=True):
    """Lines of `what` that stand as they are and are plain already; they go from their end, after all else."""

    lines: tuple[str, ...]
    language: str = "text"
    what: str = ""


class Names(msgspec.Struct, frozen=True):
    """Names below what they have in common; `drop` as of a section."""

    heading: str
    names: tuple[str, ...]
    drop: int = 2


class Problems(msgspec.Struct, frozen=True):
    """Problems with the lines that they are about."""

    title: str
    problems: tuple[Problem, ...]


class OverTime(msgspec.Struct, frozen=True):
    """A replay as curves, one set per policy; `names` are those of its sides."""

    replay: Replay
    names: tuple[str, ...]


class Sources(msgspec.Struct, frozen=True):
    """What it was made from, each with parts of others; in a pull request these are the last lines."""

    lines: tuple[tuple[str, tuple[str, ...]], ...]


class Section(msgspec.Struct, frozen=True):
    """A heading, the number of things under it (None: there is no number), and sentences about them, the most severe first.
    `noun` is the word for what is counted if lines are cut. `blocks` come above the sentences. `opened`: visible without a click.
    If there is not enough room, sections with `drop` are left out as a whole, the highest number first. Only then are the last
    lines of the others left out. `legend` are the marks that are used in it."""

    heading: str
    number: int | None
    differences: tuple[Difference, ...] = ()
    noun: str = "line"
    blocks: tuple["Block", ...] = ()
    opened: bool = False
    drop: int = 0
    legend: tuple[str, ...] = ()


Block = Paragraph | Alarm | Table | Items | Named | Code | Names | Problems | OverTime | Sources | Section


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """`title` says what kind of document it is, `lead` what there is to know, in one sentence; `facts` are names and values.
    `digest` covers what is told, with `note` behind it."""

    title: str
    alarms: tuple[Alarm, ...] = ()
    lead: Sentence = ()
    facts: tuple[tuple[str, str], ...] = ()
    blocks: tuple[Block, ...]
    digest: str = ""
    note: str = ""


def cut(lines: Sequence[Difference], shown: int, noun: str) -> tuple[Difference, ...]:
    """The first `shown` lines, and one that counts what the others are about, with the gravest of them. The lines come the
    gravest first."""
    rest = lines[shown:]
    if not rest:
        return tuple(lines)
    number = sum(line.number for line in rest)
    first = shortened(rest[0].sentence, _GRAVEST_CHARACTERS)
    sentence = f"and {count(number, f'more {noun}')}" + (f", the gravest: {first}" if number > 1 else f": {first}")
    return (*lines[:shown], Difference(rest[0].mark, sentence, rest[0].meaning, number))


def gravest_first(lines: Sequence[Difference], weight: Callable[[Difference], int] = lambda _: 0) -> list[Difference]:
    """Danger, then what is held, then the rest; otherwise by `weight` (more is graver), then as they are."""
    ranks = {meaning: rank for rank, meaning in enumerate(Meaning)}
    return sorted(lines, key=lambda line: (ranks[line.meaning], -weight(line)))


def from_to(before: str, after: str) -> str:
    """`empty -> in use`, or that only the reasons differ."""
    return f"{before} -> {after}" if before != after else f"{after}, for other reasons than under {MAIN}"
