"""Splits an expression of a device selector into words."""

import re

import msgspec

from reconciler.scheduling.devices.selector_values import (
    NotEvaluatedError,
)

_MOST_WORDS = 2000


_WORD = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<text>[rR]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<number>0x[0-9a-fA-F]+|[0-9]+)(?![0-9a-zA-Z_.])
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|\.\?|[-!<>()\[\].,?:])""",
    re.VERBOSE,
)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r", "`": "`", "?": "?"}
_END = "the end"


class Word(msgspec.Struct, frozen=True):
    """One word of an expression, and where it begins."""

    kind: str
    text: str
    at: int


def words_of(expression: str) -> list[Word]:
    """All words, with one for the end. Raises `NotEvaluatedError`."""
    words: list[Word] = []
    at = 0
    while at < len(expression):
        found = _WORD.match(expression, at)
        if found is None:
            raise NotEvaluatedError(f"{expression[at : at + 12]!r} at character {at + 1}")
        kind = found.lastgroup or ""
        if kind != "space":
            words.append(Word(kind, found[0], at))
            if len(words) > _MOST_WORDS:
                raise NotEvaluatedError(f"an expression of more than {_MOST_WORDS} words")
        at = found.end()
    words.append(Word("end", _END, at))
    return words


def string_literal(word: Word) -> str:
    """The text that a literal stands for. Raises `NotEvaluatedError`."""
    raw = word.text[0] in "rR"
    body = word.text[2:-1] if raw else word.text[1:-1]
    if raw or "\\" not in body:
        return body
    parts = re.split(r"\\(.)", body)
    for index in range(1, len(parts), 2):
        if parts[index] not in _ESCAPES:
            raise NotEvaluatedError(f"the escape \\{parts[index]} at character {word.at + 1}")
        parts[index] = _ESCAPES[parts[index]]
    return "".join(parts)
