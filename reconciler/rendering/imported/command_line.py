"""The flags on a container's command line, as the process sees them: through a shell, in two words, with variables filled in.

SOURCE: Kubernetes replaces `$(NAME)` in command and arguments by the container's own environment, and leaves what it does not
know; the Cluster Autoscaler takes no arguments beside flags, so that a word behind a flag is its value.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reconciler.values.loose_json import list_at, mapping_at, mappings_at, text_at

_SHELL = re.compile(r"-[a-z]*c")
_FLAG_INSIDE = re.compile(r"\s--?[a-z]")
_NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?")
_NO_VALUE = re.compile(r"[0-9]*[<>|&].*")
_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_VARIABLE_OF_SHELL = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def flags_of_container(container: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """`--flag` and `--flag=value`, in order; `metadata` are the object's, whose name and namespace a variable may stand for. What
    no variable of the container says stays as it is written."""
    known = _environment(container, metadata)
    words = [*list_at(container, "command"), *list_at(container, "args")]
    return tuple(_joined(_unwrapped([_VARIABLE.sub(lambda found: _filled(found, known), str(word)) for word in words], known)))


def _environment(container: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, str]:
    known: dict[str, str] = {}
    for entry in mappings_at(container, "env"):
        source = entry.get("valueFrom")
        path = text_at(mapping_at(mapping_at(entry, "valueFrom"), "fieldRef"), "fieldPath")
        # A pod's name is not its Deployment's; its namespace is.
        value = entry.get("value") if source is None else metadata.get("namespace") if path == "metadata.namespace" else None
        if value is not None:
            known[str(entry.get("name"))] = str(value)
    return known


def _filled(found: re.Match[str], known: Mapping[str, str]) -> str:
    return known.get(found[1], found[0])


def _unwrapped(words: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """What a shell is told to run is split as a shell does."""
    for before, word in zip(["", *words], words, strict=False):
        if _SHELL.fullmatch(before) and _FLAG_INSIDE.search(word):
            said = _VARIABLE_OF_SHELL.sub(lambda found: _filled(found, known), word)
            try:
                yield from shlex.split(said)
            except ValueError:
                yield from said.split()
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
