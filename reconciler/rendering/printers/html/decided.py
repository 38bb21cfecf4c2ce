"""The last decisions of a loop and what became of each, the newest first."""

from collections.abc import Mapping, Sequence

from reconciler.plan.decided import Decision, Fate
from reconciler.plan.plan import ActionKind
from reconciler.rendering.printers.html.element import Html, joined, tag
from reconciler.rendering.printers.html.page import CLASSES, Section, mark, scrolling
from reconciler.rendering.printers.html.recent import ago
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import GROWS, HELD, OTHER, SHRINKS, count
from reconciler.values.instant import instant_text

MOST_LINES = 20
_FATES = {
    Fate.DONE: "done", Fate.UNDER_WAY: "under way", Fate.SKIPPED: "not tried", Fate.REFUSED: "refused", Fate.FAILED: "failed",
}  # fmt: skip
_VERBS = {ActionKind.ADOPT: "adopt", ActionKind.RELEASE: "release", ActionKind.CANCEL: "take requests back",
          ActionKind.REPLACE: "replace", ActionKind.RESIZE: "resize"}  # fmt: skip


def decided_section(decisions: Sequence[Decision], now_seconds: int, groups: Mapping[str, str]) -> Section:
    """At most twenty lines; what one turn decided for one group and reason, with one end, is one of them."""
    if not decisions:
        return Section("decided", "Last decisions", tag("p", "This process has decided to change nothing so far."), "0")
    lots: dict[tuple[object, ...], list[Decision]] = {}
    for entry in decisions:
        folds = entry.kind is ActionKind.REMOVE_NODE
        alike = (entry.group, entry.reason_code, entry.fate, entry.code) if folds else (entry.target, entry.to)
        lots.setdefault((-entry.at_seconds, entry.kind, *alike), []).append(entry)
    newest = sorted(lots.values(), key=lambda those: -those[0].at_seconds)
    heads = (tag("th", name, scope="col") for name in ("Decision", "Decided", "What became of it", "Why"))
    body = joined(_row(those, now_seconds, groups) for those in newest[:MOST_LINES])
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", body), class_="stack")
    left = len(newest) - MOST_LINES
    note = tag("p", f"{count(left, 'earlier one')} not shown. The log has all.", class_="soft") if left > 0 else None
    extent = f"the last {min(len(newest), MOST_LINES)}, of this process"
    return Section("decided", "Last decisions", joined((scrolling("Table of decisions", table), note)), extent)


def _row(those: Sequence[Decision], now_seconds: int, groups: Mapping[str, str]) -> Html:
    first = those[0]
    sign = _sign(first)
    last = (f"{first.times:,} times, last ", ago(first.last_seconds, now_seconds))
    often = tag("div", *last, class_="small soft") if first.times > 1 else None
    return tag(
        "tr",
        tag("th", mark(sign), " ", _words(those), scope="row", class_="name"),
        tag("td", tag("span", ago(first.at_seconds, now_seconds), class_="at"), often, data_as="Decided"),
        tag("td", _fate(those), class_="fate", data_as="What became of it"),
        tag("td", first.reason, class_="why small", data_as="Why"),
        class_="bad" if first.fate is Fate.FAILED else CLASSES[sign],
        data_item=True, data_counted=True, data_moves=True, data_groups=groups.get(first.group),
        data_key=f"{first.at_seconds} {first.kind} {first.target} {first.to} {first.fate}",
    )  # fmt: skip


def _sign(entry: Decision) -> str:
    if entry.fate in (Fate.REFUSED, Fate.FAILED):
        return HELD
    if entry.to == entry.from_ or entry.kind is ActionKind.REPLACE:
        return OTHER
    return GROWS if entry.to > entry.from_ else SHRINKS


def _words(those: Sequence[Decision]) -> str:
    first = those[0]
    group = first.group or first.target
    low = min(entry.to for entry in those)
    # No-break spaces: a size stays on one line.
    sizes = f"{first.from_}\u00a0\u2192\u00a0{low}" if first.from_ != low else f"at {first.to}"
    if first.kind is ActionKind.REMOVE_NODE:
        nodes = tuple(name for entry in those for name in entry.nodes)
        return f"{group}: remove {count(len(nodes), 'node')} ({sizes}): {listed(nodes, NAMES_SHOWN)}"
    return f"{group}: {_VERBS[first.kind]} {sizes}"


def _fate(those: Sequence[Decision]) -> Html:
    first = those[0]
    words = tuple(dict.fromkeys(entry.words for entry in those if entry.words))
    since = f" at {instant_text(first.fate_seconds)}" if first.fate_seconds != first.at_seconds else ""
    words_after = f": {words[0]}" if words else ""
    more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
    return joined((tag("b", _FATES[first.fate]), f"{since}{words_after}{more}"))
