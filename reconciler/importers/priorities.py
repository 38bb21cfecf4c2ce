"""The priorities of the Cluster Autoscaler's priority expander: expressions on the names of groups, by priority.

SOURCE: its readme: the text of `data.priorities` is a mapping of positive numbers to lists of expressions.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reconciler.cluster.snapshots import yaml_texts
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.policy.values.pattern import PatternError, check_pattern

Priorities = tuple[tuple[int, tuple[str, ...]], ...]
_SHAPE = 'write a list of expressions under each priority, such as 10: [".*spot.*"]'
_LARGEST = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]{1,20}")


class PrioritiesError(Exception):
    """The priorities cannot be read; the message states where, what, and what to write."""


def priorities_of(where: str, value: Any) -> Priorities:  # noqa: ANN401 - a text, or what a chart's values hold
    """The expressions by priority. `where` names the place in messages. Raises `PrioritiesError`."""
    content = _content(where, value)
    if not isinstance(content, Mapping) or not content:
        raise PrioritiesError(f"{where} is not a list of expressions by priority: {_SHAPE}")
    return tuple(_entries(where, content))


def _content(where: str, value: Any) -> Any:  # noqa: ANN401 - as above
    if not isinstance(value, str):
        return value
    try:
        parts = [msgspec.json.decode(part) for part in yaml_texts.json_parts(value.encode())]
    except yaml_texts.YamlError as error:
        raise PrioritiesError(f"{where} is not valid YAML: {error.message}. {_SHAPE}") from None
    except (*DECODING_ERRORS, UnicodeEncodeError):
        raise PrioritiesError(f"{where} is not valid YAML: {_SHAPE}") from None
    return parts[0] if len(parts) == 1 else None


def _entries(where: str, content: Mapping[Any, Any]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for key, expressions in content.items():
        number = str(key)
        if _NUMBER.fullmatch(number) is None or abs(int(number)) > _LARGEST:
            raise PrioritiesError(f"{where}: priority {number} is not a whole number of 32 bits: {_SHAPE}")
        if not isinstance(expressions, list):
            raise PrioritiesError(f"{where}: the value of priority {number} is not a list of expressions: {_SHAPE}")
        names = tuple(_expression(where, number, one) for one in expressions)
        if names:
            # A priority without expressions matches no group.
            yield int(number), names


def _expression(where: str, number: str, value: Any) -> str:  # noqa: ANN401 - as above
    if value is None:
        # An entry without a text is an empty expression upstream, which matches every name.
        return ".*"
    if isinstance(value, dict | list):
        raise PrioritiesError(f"{where}: an entry of priority {number} is not a text: {_SHAPE}")
    text = str(value)
    try:
        check_pattern(text)
    except PatternError as error:
        raise PrioritiesError(f"{where}, priority {number}: {error}: {error.hint or _SHAPE}") from None
    return text
