"""What the decoder says of a value that has the wrong type, in the words of who writes JSON and YAML."""

import re

_EXPECTED = re.compile(r"^Expected `([a-z |]+)`")
_GOT = re.compile(r", got `([a-z |]+)`")
_TYPES = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a mapping", "null": "empty",
}  # fmt: skip
"""The decoder's names of types in the words of who writes JSON and YAML."""


def in_plain_words(text: str) -> str:
    """What the decoder says of a value, in the words of who writes JSON and YAML."""
    text = _EXPECTED.sub(lambda match: f"must be {_types(match[1])}", text, count=1)
    return _GOT.sub(lambda match: f", not {_types(match[1])}", text, count=1)


def _types(names: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in names.split("|"))
