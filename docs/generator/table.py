"""A table of markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The lines of a table; `|` and line ends in a cell are escaped."""
    lines = [_line(head), _line(["---"] * len(head)), *(_line([_cell(cell) for cell in row]) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Text as code; nothing for nothing."""
    return f"`{text}`" if text else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")
