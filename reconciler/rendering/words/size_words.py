"""Declared sizes that a change of manifests touches, a sentence each."""

from collections.abc import Iterable, Iterator

from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.rendering.words.wording import HELD

HEADING = "Declared sizes"
_NOWHERE = "not declared"


def size_sentences(sizes: Iterable[SizeChange]) -> Iterator[tuple[str, str]]:
    """Each with its mark."""
    for size in sizes:
        yield HELD, f"{_moved(size)} ({size.place})"


def _moved(size: SizeChange) -> str:
    before, after = (_NOWHERE if value is None else value for value in (size.before, size.after))
    change = f"{size.path} {before} -> {after}" if before != after else ""
    message = size.problem.message if size.problem is not None else ""
    if not change:
        return message or f"{size.what}: {size.path} {after}"
    return f"{size.what}: {change}{', ' if message else ''}{message}"
