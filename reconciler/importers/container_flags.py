"""The flags on a container's command line, as the process sees them: through a shell, as two words, with variables filled in.

SOURCE: in command and arguments, Kubernetes replaces `$(NAME)` by the container's own environment, and keeps a name that it
does not know. The Cluster Autoscaler takes only flags, so a word after a flag is its value.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reconciler.importers.sources import (
    Missing,
    Sources,
    environment_from,
    variable_from,
)
from reconciler.values.loose_json import list_at, mapping_at, mappings_at, text_at

_SHELL = re.compile(r"-[a-z]*c")
_FLAG_INSIDE = re.compile(r"\s--?[a-z]")
_NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?")
_NO_VALUE = re.compile(r"[0-9]*[<>|&].*")
_VARIABLE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_VARIABLE_OF_SHELL = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def flags_of_container(
    container: Mapping[str, Any], metadata: Mapping[str, Any], sources: Sources, missing: list[Missing]
) -> tuple[str, ...]:
    """`--flag` and `--flag=value`, in order. `metadata` is the object's: a variable may stand for its name and namespace. Unknown
    variables stay as they are written, and `$$` is a `$` that begins no variable."""
    known = container_environment(container, metadata, sources, missing)
    words = [*list_at(container, "command"), *list_at(container, "args")]
    return tuple(_joined(_unwrapped([_expanded(str(word), known) for word in words], known)))


def _expanded(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: "$" if match[0] == "$$" else _filled(match, known), text)


def container_environment(
    container: Mapping[str, Any], metadata: Mapping[str, Any], sources: Sources, missing: list[Missing]
) -> dict[str, str]:
    """`env` over `envFrom`; a value may name variables before it. Variables of flags that no input has are missing."""
    known = dict(environment_from(container, metadata, sources, missing))
    named = {match[1] for word in (*list_at(container, "command"), *list_at(container, "args")) for match in _named_in(str(word))}
    for entry in mappings_at(container, "env"):
        name, source = str(entry.get("name")), entry.get("valueFrom")
        value, origin = (entry.get("value"), "") if source is None else variable_from(
            mapping_at(entry, "valueFrom"), metadata, sources
        )  # fmt: skip
        if value is not None:
            known[name] = _expanded(str(value), known) if source is None else str(value)
        elif origin and name in named:
            missing.append(Missing(name=f"container {text_at(container, 'name')} env {name}", value=origin))
    return known


def _named_in(word: str) -> Iterator[re.Match[str]]:
    return (match for pattern in (_VARIABLE, _VARIABLE_OF_SHELL) for match in pattern.finditer(word) if match[1])


def _filled(match: re.Match[str], known: Mapping[str, str]) -> str:
    return known.get(match[1], match[0])


def _unwrapped(words: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """A shell's command is split as a shell does."""
    for before, word in zip(["", *words], words, strict=False):
        if _SHELL.fullmatch(before) and _FLAG_INSIDE.search(word):
            filled = _VARIABLE_OF_SHELL.sub(lambda match: _filled(match, known), word)
            try:
                yield from shlex.split(filled)
            except ValueError:
                yield from filled.split()
        elif not _SHELL.fullmatch(word):
            yield word


def _joined(words: Iterable[str]) -> Iterator[str]:
    """A flag and its value in one word."""
    flag = ""
    for word in words:
        starts = word.startswith("-") and not _NUMBER.fullmatch(word)
        if flag and not starts and not _NO_VALUE.fullmatch(word):
            yield f"{flag}={word}"
            flag = ""
            continue
        if flag:
            yield flag
        flag = word if starts and "=" not in word else ""
        if starts and not flag:
            yield word
    if flag:
        yield flag
