"""Upcoming nodes, each with the time since its request."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.rendering.printers.html.element import DASH, Html, joined, tag
from reconciler.rendering.printers.html.page import CLASSES, Section, counted, fold, mark, scrolling
from reconciler.rendering.words.wording import GROWS, HELD
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text

MOST_ROWS = 300
_FEW = 12


def upcoming_section(nodes: Sequence[UpcomingNode], now_seconds: int, groups: Mapping[str, str]) -> Section:
    """A row a node; of many a line a group, and the rows behind a click. What failed comes first."""
    if not nodes:
        return Section("upcoming", "Upcoming nodes", tag("p", "No node is on its way."), "0")
    ordered = sorted(nodes, key=lambda node: (not node.failed, node.since_seconds, node.group, node.machine))
    names = ("Machine", "Group", "Waiting for", "Asked for at", "Expected by", "Given up")
    heads = (tag("th", name, scope="col") for name in names)
    body = joined(_upcoming_row(node, now_seconds, groups) for node in ordered[:MOST_ROWS])
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", body), class_="stack")
    left = len(ordered) - MOST_ROWS
    note = tag("p", f"{counted(left, 'node')} left out, which were asked for last.", class_="soft") if left > 0 else None
    whole = joined((scrolling("Table of upcoming nodes", table), note))
    if len(ordered) > _FEW:
        lines = tag("ul", joined(_upcoming_summary(ordered, now_seconds)), class_="list sheet")
        whole = joined((lines, fold("One by one", whole)))
    failed = sum(bool(node.failed) for node in nodes)
    summary = f"{len(nodes) - failed:,}" + (f", and {failed:,} that will not come" if failed else "")
    return Section("upcoming", "Upcoming nodes", whole, summary)


def _upcoming_summary(nodes: Sequence[UpcomingNode], now_seconds: int) -> Iterator[Html]:
    lots: dict[tuple[bool, str], list[UpcomingNode]] = {}
    for node in nodes:
        lots.setdefault((not node.failed, node.group), []).append(node)
    for (expected, group), those in sorted(lots.items()):
        longest = duration_text(now_seconds - those[0].since_seconds)
        what = f"the first for {longest}" if expected else f"for example: {those[0].failed}"
        line = f"{group}: {counted(len(those), 'node')}{'' if expected else ' will not come'}, {what}"
        sign = GROWS if expected else HELD
        yield tag("li", tag("span", mark(sign)), tag("span", line), class_=CLASSES[sign])


def _upcoming_row(node: UpcomingNode, now_seconds: int, groups: Mapping[str, str]) -> Html:
    sign = HELD if node.failed else GROWS
    end = node.failed or f"at {instant_text(node.until_seconds)}, unless it has joined"
    expected = instant_text(node.expected_seconds) if node.expected_seconds and not node.failed else DASH
    return tag(
        "tr",
        tag("th", mark(sign), " ", node.machine or "no machine yet", scope="row", class_="name"),
        tag("td", node.group or DASH, data_as="Group"),
        tag("td", duration_text(now_seconds - node.since_seconds), data_as="Waiting for"),
        tag("td", instant_text(node.since_seconds), class_="at", data_as="Asked for at"),
        tag("td", expected, class_="at", data_as="Expected by"),
        tag("td", end, class_="why small", data_as="Given up"),
        class_=CLASSES[sign], data_item=True, data_counted=True, data_moves=True, data_groups=groups.get(node.group),
        data_key=node.machine or None,
    )  # fmt: skip
