"""What differs of the policy as its reviewers know it: the changed lines of the files, each place with what it causes."""

import re
import textwrap
from collections.abc import Sequence

import msgspec

from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.changes.hunks import Hunk, HunkLine
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.preview.policy_differences import change_mark, change_sentence, reach_sentence, reach_words
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.plain import plain
from reconciler.rendering.words.wording import count

_MOST_LINES = 12
_MOST_OF_DOCUMENT = 6
"""Of one that comes or goes as a whole."""
_COLUMNS = 96
_MOST_PIECES = 3
_COMMENT = re.compile(r"\s*(#.*)?")


class ShownHunks(msgspec.Struct, frozen=True):
    """Blocks to be read in their order, and the changes that they do not tell."""

    blocks: tuple[tree.Block, ...]
    rest: tuple[PolicyChange, ...]


def shown_hunks(hunks: Sequence[Hunk], changes: Sequence[PolicyChange], fold: Fold) -> ShownHunks:
    """As many hunks as fit in a dozen lines, those of the first `changes` first; all of them if nothing is folded."""
    blocks: list[tree.Block] = []
    told: list[PolicyChange] = []
    room = _MOST_LINES
    ordered = sorted(hunks, key=lambda hunk: next((at for at, one in enumerate(changes) if hunk.holds(one)), len(changes)))
    for number, hunk in enumerate(map(_without_comments, ordered) if fold.rows else ordered):
        if fold.rows and number and len(hunk.lines) > room:
            continue
        held = [one for one in changes if one not in told and hunk.holds(one)]
        whole = any(not one.path for one in held)
        lines = _visible(hunk, min(room, _MOST_OF_DOCUMENT) if whole else room) if fold.rows else hunk.lines
        room -= len(lines)
        clear = [one for one in held if _clear(hunk, one, lines)]
        unclear = [one for one in held if one not in clear]
        mine = [*clear, *unclear[: fold.names or None]]
        told += mine
        reached = {reach_words(one, fold) for one in clear} if mine == clear else {""}
        blocks.append(tree.Code(tuple(_printed(hunk, lines, mine, reached.pop() if len(reached) == 1 else "")), "diff"))
        told_there = clear if not reached else []
        words = [
            (one, reach_sentence(one, fold) if one in clear else change_sentence(one, fold))
            for one in mine
            if one not in told_there
        ]
        items = tuple(tree.Item(text=plain(text), bullet=f"{change_mark(one)} ") for one, text in words if text)
        blocks += [tree.Items(items)] if items else []
    return ShownHunks(tuple(blocks), tuple(one for one in changes if one not in told))


def _without_comments(hunk: Hunk) -> Hunk:
    """Without comments and empty lines that do not change."""
    lines = tuple(line for line in hunk.lines if line.sign != " " or not _COMMENT.fullmatch(line.text))
    return msgspec.structs.replace(hunk, lines=lines)


def _visible(hunk: Hunk, most: int) -> tuple[HunkLine, ...]:
    return hunk.lines if len(hunk.lines) <= most + 1 else hunk.lines[:most]


def _printed(hunk: Hunk, lines: Sequence[HunkLine], changes: Sequence[PolicyChange], reached: str) -> list[str]:
    """A heading as of git, with what all changes reach, the lines, and how many more there are."""
    first = next(line for line in hunk.lines if line.sign != " ")
    place = f"{hunk.before}:{first.before}" if first.after is None else f"{hunk.after}:{first.after}"
    told = [f"reaches {reached}"] if reached else [changes[0].what] if changes and not changes[0].path else []
    whose = ", ".join([f"{changes[0].kind} {changes[0].name}", *told]) if changes else ""
    left = len(hunk.lines) - len(lines)
    shown = [piece for line in lines for piece in _wrapped(line)]
    return [_cut(plain(f"@@ {place} @@ {whose}".rstrip())), *shown, *([f"@@ {count(left, 'more line')} @@"] if left else [])]


def _wrapped(line: HunkLine) -> list[str]:
    """A changed line that is too long goes on in the next ones; the others are cut."""
    whole = plain(f"{line.sign}{line.text.rstrip()}")
    indent = line.sign + " " * (len(line.text) - len(line.text.lstrip()) + 6)
    pieces = textwrap.wrap(
        whole, _COLUMNS, subsequent_indent=f"{indent}… ", drop_whitespace=False, break_long_words=False, break_on_hyphens=False
    )
    fits = line.sign != " " and len(pieces) <= _MOST_PIECES and all(len(piece.rstrip()) <= _COLUMNS for piece in pieces)
    return [piece.rstrip() for piece in pieces] if fits else [_cut(whole)]


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"


def _clear(hunk: Hunk, change: PolicyChange, lines: Sequence[HunkLine]) -> bool:
    """Whether the lines, none of them cut, say all of a change but what it reaches. The heading tells that of a document."""
    changed = [line for line in lines if line.sign != " " and not _COMMENT.fullmatch(line.text)]
    if not change.path:
        return True
    whole = not any(_wrapped(line)[-1].endswith("…") for line in changed)
    return whole and hunk.shows(change, lines)
