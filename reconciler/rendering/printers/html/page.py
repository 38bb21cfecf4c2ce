"""The frame of a report: one file, a strict content policy, landmarks, search and filter."""

import base64
import hashlib
from collections.abc import Sequence

import msgspec

from reconciler.rendering.printers.html.element import NOTHING, Content, Html, joined, tag
from reconciler.rendering.printers.html.following import SCRIPT as FOLLOWING
from reconciler.rendering.printers.html.script import SCRIPT
from reconciler.rendering.printers.html.style import STYLE
from reconciler.rendering.words.wording import GROWS, HELD, OTHER, SHRINKS

CLASSES = {GROWS: "moves", SHRINKS: "moves", HELD: "held", OTHER: "moves"}
"""Colours: none is good or bad for up and down, amber is for what is held; `bad` is red, for failure and danger."""
SPOKEN = {GROWS: "more: ", SHRINKS: "less: ", HELD: "note: ", OTHER: "other: "}
_MOST_GROUPS = 300
_LEAST_RELOAD_SECONDS = 60


class Section(msgspec.Struct, frozen=True):
    """One part of a page, to which the navigation leads; `note` is next to the heading."""

    anchor: str
    heading: str
    body: Html
    note: str = ""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What stands on top: the kind of document, one sentence, facts, figures (name, value, note) with a
    caption, and what needs attention."""

    title: str
    lead: str
    facts: Sequence[tuple[str, Content]]
    figures: Sequence[tuple[str, Content, Content]]
    caption: str = ""
    warning: Content = None
    attention: Html = NOTHING


class Following(msgspec.Struct, frozen=True, kw_only=True):
    """A page that stays open and is asked for again every `period_seconds`. `shown_at` is the instant that it shows."""

    period_seconds: int
    shown_at: str


def document(
    head: Head,
    sections: Sequence[Section],
    groups: Sequence[str] | None,
    foot: Sequence[str],
    following: Following | None = None,
) -> str:
    """The whole file; ends with a newline. It runs only the scripts whose hashes it names, sends no form, and loads nothing. Only
    a page that is `following` loads itself again. Without `groups` (None) there is no search field, and no script for it."""
    scripts = (*((SCRIPT,) if groups is not None else ()), *((FOLLOWING,) if following is not None else ()))
    sources = " ".join(f"'{_hash(script)}'" for script in scripts) or "'none'"
    itself = "connect-src 'self'; " if following is not None else ""
    policy = f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src {sources}; {itself}base-uri 'none'; form-action 'none'"
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        _reload(following),
        tag("title", f"{head.title}: {head.lead}"),
        tag("style", Html(STYLE)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#content"),
        _header(head, following),
        _tools(sections, groups),
        tag("main", joined(_section(section) for section in sections), id="content", tabindex="-1"),
        tag("footer", joined(tag("p", line) for line in foot)),
        joined(tag("script", Html(script)) for script in scripts),
    )
    return f"<!doctype html>\n{tag('html', top, body, lang='en').markup}\n"


def mark(sign: str) -> Html:
    """The sign of a line, and what a screen reader says for it."""
    if sign not in CLASSES:
        return NOTHING
    shown = "\u2212" if sign == SHRINKS else sign
    return joined((tag("span", shown, class_="m", aria_hidden="true"), tag("span", SPOKEN[sign], class_="sr")))


def counted(number: int, one: str, plural: str = "") -> str:
    """`1 node`, `1,204 nodes`."""
    return f"{number:,} {one if number == 1 else plural or one + 's'}"


def slots(groups: Sequence[str]) -> dict[str, str]:
    """Group name -> the word by which the filter knows it; names of others never stand in an identifier."""
    return {name: f"g{number}" for number, name in enumerate(groups)}


def scrolling(label: str, inner: Html) -> Html:
    """What may be wider than the screen: it scrolls by itself, also by keyboard."""
    return tag("div", inner, class_="sheet scroll", tabindex="0", role="region", aria_label=label)


def fold(summary: Content, inner: Html) -> Html:
    """What is there on a click; the search opens it where it finds something in it."""
    return tag("details", tag("summary", summary), tag("div", inner), class_="more", data_fold=True)


def _reload(following: Following | None) -> Html | None:
    """Without scripts, the browser loads the page again, but less often: it takes the reader back to the top."""
    if following is None:
        return None
    return tag("noscript", tag("meta", http_equiv="refresh", content=max(_LEAST_RELOAD_SECONDS, following.period_seconds)))


def _following(following: Following) -> Html:
    keep = {"data_keep": True}
    return tag(
        "div",
        tag("span", f"As of {following.shown_at}"),
        tag("button", "Pause updates", type="button", id="pause", hidden=True, aria_pressed="false", **keep),
        tag("span", id="trouble", role="status", class_="hold", **keep),
        tag("span", id="news", role="status", class_="sr", **keep),
        id="live",
        data_period=following.period_seconds,
    )


def _header(head: Head, following: Following | None) -> Html:
    facts = (tag("div", tag("dt", name), tag("dd", value)) for name, value in head.facts)
    figures = (
        tag("div", tag("dt", name), tag("dd", value), tag("dd", note, class_="note") if note else None)
        for name, value, note in head.figures
    )
    listed = tag("dl", joined(facts), class_="facts") if head.facts else None
    caption = tag("p", head.caption, class_="soft") if head.caption else None
    tiles = joined((caption, tag("dl", joined(figures), class_="figures"))) if head.figures else None
    warning = tag("p", head.warning, class_="warn") if head.warning is not None else None
    top = (tag("h1", head.title), tag("p", head.lead, class_="lead"))
    if following is None:
        return tag("header", *top, listed, warning, tiles)
    # What is wrong stands on the first screen of a page that people look at in a hurry.
    return tag("header", *top, warning, head.attention, tiles, listed, _following(following))


def _tools(sections: Sequence[Section], groups: Sequence[str] | None) -> Html:
    links = joined(tag("a", section.heading, href=f"#{section.anchor}") for section in sections)
    nav = tag("nav", links, aria_label="Sections")
    if groups is None:
        return tag("div", tag("div", nav), class_="tools")
    options = joined(tag("option", name, value=slot) for name, slot in list(slots(groups).items())[:_MOST_GROUPS])
    form = tag(
        "form",
        tag("label", tag("span", "Search", class_="sr"), _search()),
        tag(
            "label", tag("span", "Group", class_="sr"), tag("select", tag("option", "All groups", value=""), options, id="group")
        ),
        tag("label", tag("input", type="checkbox", id="moves"), "Only what changes"),
        tag("span", id="found", role="status"),
        id="filter",
        role="search",
        hidden=True,
    )
    return tag("div", tag("div", nav, form), class_="tools")


def _search() -> Html:
    return tag("input", type="search", id="search", placeholder="Search ( / )", autocomplete="off", spellcheck="false")


def _section(section: Section) -> Html:
    note = tag("span", section.note, class_="n") if section.note else None
    heading = tag("h2", section.heading, note, id=f"{section.anchor}-title")
    return tag("section", heading, section.body, id=section.anchor, aria_labelledby=f"{section.anchor}-title")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
