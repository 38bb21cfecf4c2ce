"""Sentences about what differs: with a mark for its direction, a meaning for its colour, and a count of what is cut."""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from reconciler.rendering.plain import shortened
from reconciler.rendering.wording import GROWS, HELD, OTHER, SHRINKS, count

MORE, FEWER, STAYS, OTHERWISE = GROWS, SHRINKS, HELD, OTHER
_GRAVEST_CHARACTERS = 160


class Meaning(StrEnum):
    """What a colour stands for: red for failure and danger, amber for what is held, none for up and down."""

    DANGER = "danger"
    HELD = "held"
    NEUTRAL = "neutral"


class Difference(msgspec.Struct, frozen=True):
    """One sentence about `number` of what the section names; `mark` is `+` for more (or what comes), `-` for fewer, `!` for what
    is held, `~` for everything else."""

    mark: str
    sentence: str
    meaning: Meaning = Meaning.NEUTRAL
    number: int = 1


class Section(msgspec.Struct, frozen=True):
    """A heading, how many of what it names differ, and what is said of them, the gravest first. `noun` is what is counted where
    lines are cut."""

    heading: str
    number: int
    differences: tuple[Difference, ...]
    noun: str = "line"


def cut(lines: Sequence[Difference], shown: int, noun: str) -> tuple[Difference, ...]:
    """The first `shown` lines, and one that counts what the others are about, with the gravest of them. The lines come the
    gravest first."""
    rest = lines[shown:]
    if not rest:
        return tuple(lines)
    number = sum(line.number for line in rest)
    first = shortened(rest[0].sentence, _GRAVEST_CHARACTERS)
    told = f"and {count(number, f'more {noun}')}" + (f", the gravest: {first}" if number > 1 else f": {first}")
    return (*lines[:shown], Difference(rest[0].mark, told, rest[0].meaning, number))


def gravest_first(lines: Sequence[Difference], weight: Callable[[Difference], int] = lambda _: 0) -> list[Difference]:
    """Danger, then what is held, then the rest; otherwise by `weight` (more is graver), then as they are."""
    ranks = {meaning: rank for rank, meaning in enumerate(Meaning)}
    return sorted(lines, key=lambda line: (ranks[line.meaning], -weight(line)))


def from_to(before: str, after: str) -> str:
    """`empty -> in use`, or that only the reasons differ."""
    return f"{before} -> {after}" if before != after else f"{after}, for other reasons than today"
