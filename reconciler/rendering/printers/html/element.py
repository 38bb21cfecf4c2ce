"""HTML that is safe by construction: only `Html` goes in as it is, every text of anybody is escaped.

This module uses typed elements, because they guarantee more than a template library with autoescape. A template escapes only what
its author does not mark as safe, and only in quoted places. A type checker cannot check it. Here, an attribute is always quoted,
and `str` is never `Html`. The function that escapes also makes hidden characters visible and cuts long texts. Nothing is loaded
at run time, and reports need no further dependency.
"""

import re
from collections.abc import Iterable
from html import escape

import msgspec

from reconciler.rendering.words.plain import plain, shortened

_DRAWN = re.compile(r"[MLHVhlvz0-9 -]*")
_VOID = frozenset({"meta", "input", "link"})


class Html(msgspec.Struct, frozen=True, gc=False):
    """Markup that was made by this module."""

    markup: str


Content = Html | str | int | None
NOTHING = Html("")
DASH = "\u2013"
"""Stands where there is no value."""
MOST_CHARACTERS = 2_000
"""Of one text; what is longer is cut from its middle, so that no single value makes a file large."""


def tag(element: str, /, *content: Content, **attributes: str | int | bool | None) -> Html:
    """An element. Texts are escaped, None is left out.

    Attributes: a trailing underscore is cut (`class_`), others become hyphens (`aria_label`); True writes the name alone,
    None and False write nothing.
    """
    opened = element + "".join(_attribute(key, value) for key, value in attributes.items())
    inner = "".join(_markup(part) for part in content)
    return Html(f"<{opened}>" if element in _VOID else f"<{opened}>{inner}</{element}>")


def path(kind: str, drawn: str) -> Html:
    """A path of SVG. It is as long as it has to be, so it holds nothing but commands and whole numbers."""
    if _DRAWN.fullmatch(drawn) is None:
        raise ValueError("a path is made of commands and whole numbers")
    return Html(f'<path{_attribute("class", kind)} d="{drawn}"></path>')


def text_lines(lines: Iterable[str]) -> Html:
    """Lines below each other in a `pre`: a line end is a character that texts of others may not bring."""
    return joined(part for line in lines for part in (line, Html("\n")))


def joined(parts: Iterable[Content]) -> Html:
    """Parts one after the other."""
    return Html("".join(_markup(part) for part in parts))


def escaped(text: str) -> str:
    """A text for content and for quoted attributes: nothing in it is markup, control and direction characters are visible."""
    return escape(plain(shortened(text, MOST_CHARACTERS)), quote=True)


def arrows(text: str) -> str:
    """With `→` for `->`, which browsers break behind its hyphen."""
    return text.replace(" -> ", " → ")


def _attribute(key: str, value: str | int | bool | None) -> str:  # noqa: FBT001 - a value, not a switch
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'


def _markup(part: Content) -> str:
    if part is None:
        return ""
    return part.markup if isinstance(part, Html) else escaped(str(part))
