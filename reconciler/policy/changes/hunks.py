"""Where the texts of two policies differ, line by line, as git shows it."""

import difflib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.policy.changes.comparison import PolicyChange
from reconciler.policy.place import Place

_GATHERED = 3
"""Differences with at most twice as many equal lines between them are one hunk, as in git."""
_CONTEXT = 1
_MOST_LINES = 2_000
"""Of one file: comparing takes time that grows with their square."""


class HunkLine(msgspec.Struct, frozen=True):
    """`sign` is `+`, `-` or a blank. Lines count from 1 on either side, None where the line is not."""

    sign: str
    text: str
    before: int | None
    after: int | None


class Hunk(msgspec.Struct, frozen=True):
    """One difference of a file, with the paths of both sides below the policy root, and a line of context around it."""

    before: str
    after: str
    lines: tuple[HunkLine, ...]

    def holds(self, change: PolicyChange) -> bool:
        """Whether a place of the change is on one of the lines."""
        return any(self._on(change.place_before, line, 0) or self._on(change.place_after, line, 1) for line in self.lines)

    def shows(self, change: PolicyChange, lines: Sequence[HunkLine]) -> bool:
        """Whether all places of the change are on changed ones of `lines`."""
        sides = [(place, at) for at, place in enumerate((change.place_before, change.place_after)) if place is not None]
        changed = [line for line in lines if line.sign != " "]
        return bool(sides) and all(any(self._on(place, line, at) for line in changed) for place, at in sides)

    def _on(self, place: Place | None, line: HunkLine, side: int) -> bool:
        if place is None:
            return False
        return (place.path, place.line) == ((self.before, line.before), (self.after, line.after))[side]


def hunks_of(changes: Sequence[PolicyChange], before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[Hunk, ...]:
    """The differences of all files in which changes are, by path. `before` and `after` are texts by path below the policy root.

    A file that is very long has none.
    """
    pairs = set()
    for change in changes:
        places = [place for place in (change.place_before, change.place_after) if place is not None and place.line]
        old, new = (places[0].path, places[-1].path) if places else ("", "")
        moved = old not in after and new not in before
        pairs |= {(old, new)} if moved else {(old, old), (new, new)}
    return tuple(hunk for pair in sorted(pairs) for hunk in _of_file(*pair, before.get(pair[0]), after.get(pair[1])))


def _of_file(old_path: str, new_path: str, old: bytes | None, new: bytes | None) -> Iterator[Hunk]:
    first, second = (
        [] if text is None else text.decode("utf-8", "replace").removesuffix("\n").split("\n") for text in (old, new)
    )
    if max(len(first), len(second)) > _MOST_LINES:
        return
    for group in difflib.SequenceMatcher(None, first, second).get_grouped_opcodes(_GATHERED):
        lines: list[HunkLine] = []
        for kind, from_old, to_old, from_new, to_new in group:
            if kind == "equal":
                lines += [HunkLine(" ", first[at], at + 1, from_new + at - from_old + 1) for at in range(from_old, to_old)]
                continue
            lines += [HunkLine("-", first[at], at + 1, None) for at in range(from_old, to_old)]
            lines += [HunkLine("+", second[at], None, at + 1) for at in range(from_new, to_new)]
        changed = [number for number, line in enumerate(lines) if line.sign != " "]
        shown = lines[max(0, changed[0] - _CONTEXT) : changed[-1] + 1 + _CONTEXT]
        if shown[-1].sign == " " and not shown[-1].text.strip():
            shown.pop()
        if any((text := line.text.strip()) and not text.startswith("#") for line in lines if line.sign != " "):
            yield Hunk(old_path, new_path, tuple(shown))
