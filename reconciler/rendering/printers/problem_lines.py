"""Problems as a compiler prints them: place, sentence, code, the source line, a caret line, the hint, related places."""

import unicodedata

from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.words.plain import hidden, inert

MAX_CELLS = 120
"""How much of a source line is shown; longer ones are cut around the caret."""

_COLORS = {Severity.ERROR: "31", Severity.WARNING: "33"}


def render_text(problems: tuple[Problem, ...], *, color: bool = False) -> str:
    """All problems, one block each, with a blank line between; empty when there are none."""
    return "\n".join(render_problem(problem, color=color) for problem in problems)


def render_problem(problem: Problem, *, color: bool = False) -> str:
    """One problem as lines, the last one ended. Characters that a terminal would act on are replaced."""
    paint = _paint if color else _plain
    severity = problem.severity
    head = paint(f"{severity.value}:", f"1;{_COLORS[severity]}")
    lines = [f"{paint(_visible(str(problem.place)), '1')}: {head} {_visible(problem.message)} [{problem.code}]"]
    number = str(problem.place.line)
    gutter = " " * len(number)
    if problem.source.strip():
        source, before, width = _cut(problem.source, problem.place.column - 1, problem.width)
        lines.append(f" {number} | {source}".rstrip())
        lines.append(f" {gutter} | {' ' * before}{paint('^' * width, _COLORS[severity])}")
    if problem.hint:
        lines.append(f" {gutter} = hint: {_visible(problem.hint)}")
    lines += (f" {gutter} = see {_visible(str(place))}: {_visible(label)}" for place, label in problem.related)
    return "\n".join(lines) + "\n"


def _cut(source: str, start: int, width: int) -> tuple[str, int, int]:
    """The shown part of a source line, and caret line in cells: blanks before it, carets."""
    text = _visible(source.replace("\t", "→"))
    end = min(len(text), start + width)
    first = 0
    if _cells(text) > MAX_CELLS:
        first = max(0, start - MAX_CELLS // 3)
        last = first
        cells = 0
        while last < len(text) and cells < MAX_CELLS:
            cells += _cells(text[last])
            last += 1
        end = min(end, last)
        shown = ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
        before = _cells(text[first:start]) + (1 if first else 0)
        return shown, before, max(1, _cells(text[start:end]))
    return text, _cells(text[:start]), max(1, _cells(text[start:end]))


def _cells(text: str) -> int:
    """How many terminal cells a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _visible(text: str) -> str:
    """`text` without characters that a terminal would act on or hide, or that a runner of workflows would take for a command. The
    length stays the same, since carets point into it."""
    if text.isascii() and text.isprintable():
        return inert(text, "\ufffd")
    return inert("".join("\ufffd" if hidden(char) else char for char in text), "\ufffd")


def _paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _plain(text: str, code: str) -> str:
    return text
