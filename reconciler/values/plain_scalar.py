"""How YAML parsers read a plain (unquoted) scalar.

They differ: 1.1 reads `no`, `012` and `12:30` as other values than 1.2 does. Policies accept only scalars that all parsers read
alike. For others, a message says to quote them.
"""

import re
from enum import StrEnum


class Look(StrEnum):
    """The look of a plain scalar, as named in messages."""

    TEXT = "text"
    NULL = "nothing"
    BOOLEAN = "truth value"
    WORD_BOOLEAN = "word that YAML 1.1 takes for true or false"
    INTEGER = "number"
    OCTAL = "number that YAML 1.1 reads as octal"
    BASED = "number in another base"
    UNDERSCORE = "number with underscores, which YAML versions read differently"
    SEXAGESIMAL = "number that YAML 1.1 reads in base 60"
    FLOAT = "float"
    TIMESTAMP = "timestamp"


_WORDS = dict.fromkeys(("", "~", "null", "Null", "NULL"), Look.NULL)
_WORDS |= dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), Look.BOOLEAN)
_WORDS |= {word: Look.WORD_BOOLEAN for base in ("yes", "no", "on", "off") for word in (base, base.title(), base.upper())}
_WORDS |= dict.fromkeys(("y", "Y", "n", "N"), Look.WORD_BOOLEAN)
_NUMBERS = (
    (Look.INTEGER, re.compile(r"[-+]?(0|[1-9][0-9]*)")),
    (Look.OCTAL, re.compile(r"[-+]?0[0-9_]+|[-+]?0o[0-7_]+")),
    (Look.BASED, re.compile(r"[-+]?0x[0-9a-fA-F_]+|[-+]?0b[01_]+")),
    (Look.UNDERSCORE, re.compile(r"[-+]?[0-9]+_[0-9_]*(\.[0-9_]*)?")),
    (Look.SEXAGESIMAL, re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")),
    (Look.FLOAT, re.compile(r"[-+]?([0-9_]+|([0-9][0-9_]*)?\.[0-9_]+|[0-9][0-9_]*\.)([eE][-+]?[0-9]+)?")),
    (Look.FLOAT, re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")),
    (Look.TIMESTAMP, re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")),
)


def look_of_plain(text: str) -> Look:
    """What a scalar that was written as `text`, without quotes, looks like."""
    word = _WORDS.get(text)
    if word is not None:
        return word
    if text[0] not in "0123456789-+.":
        return Look.TEXT
    return next((look for look, pattern in _NUMBERS if pattern.fullmatch(text)), Look.TEXT)
