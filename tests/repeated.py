"""Runs of lines that two places of the product share, letter for letter."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LINES = 6
_THIN = re.compile(r"[\W_]*|(from|import) .*|#.*|(else|try|finally):|return|pass|continue|break|\w+,")


def counted(text: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers: no imports, comments or lone brackets."""
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if not _THIN.fullmatch(line)]


def repeated(texts: dict[str, str]) -> Iterator[tuple[str, int, str, int]]:
    """Each pair of places whose next lines are the same, once for each run."""
    places = defaultdict(list)
    lines = {name: counted(text) for name, text in sorted(texts.items())}
    for name, kept in lines.items():
        for start in range(len(kept) - LINES + 1):
            places[tuple(line for _, line in kept[start : start + LINES])].append((name, start))
    pairs = {(one, other) for found in places.values() for one in found for other in found if one < other}
    for (name, start), (other, at) in sorted(pairs):
        if ((name, start - 1), (other, at - 1)) not in pairs:
            yield name, lines[name][start][0], other, lines[other][at][0]


def product() -> dict[str, str]:
    """The sources of the product by path."""
    root = Path(__file__).resolve().parents[1]
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in (root / "reconciler").rglob("*.py")}
