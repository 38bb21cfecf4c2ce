"""What became of holds, as JSON and as lines for people."""

import msgspec

from reconciler.rendering.printers.lines import paragraph
from reconciler.rendering.words.plain import plain

FORMAT_VERSION = "1.0"
_WIDTH = 100


class HoldLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group. `state` is Held, Released, Unchanged, Refused or Failed. `before` and `now` are the words of the hold on the
    target (empty: none). `lines` are YAML to write where `message` says, when it was refused."""

    group: str
    target: str
    state: str
    before: str
    now: str
    message: str
    lines: tuple[str, ...]


class HoldDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`complete`: every group is as asked."""

    format_version: str = FORMAT_VERSION
    complete: bool
    groups: tuple[HoldLine, ...]


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
