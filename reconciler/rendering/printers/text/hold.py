"""What became of holds, as lines for people."""

from reconciler.rendering.documents.hold import HoldDocument
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.plain import plain

_WIDTH = 100


def hold_text(document: HoldDocument) -> str:
    """A line a group, with the lines to write elsewhere below."""
    lines: list[str] = []
    for group in document.groups:
        words = {
            "Held": f"held: {group.now}",
            "Released": f"released (was held: {group.before})",
            "Unchanged": f"held already: {group.now}" if group.now else "was not held",
        }.get(group.state, f"{group.state.lower()}: {group.message}")
        lines += paragraph(f"{plain(group.group)} ({plain(group.target)}) {plain(words)}", _WIDTH, 0)
        lines += [f"    {line}" for line in group.lines]
    return "\n".join(lines) + "\n"
