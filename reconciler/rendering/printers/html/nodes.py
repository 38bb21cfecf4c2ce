"""The table of nodes: what is on them, and what keeps each of them."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.plan.picture import Picture
from reconciler.plan.plan import NodeLine, Plan
from reconciler.rendering.printers.html.element import DASH, NOTHING, Html, joined, tag
from reconciler.rendering.printers.html.page import CLASSES, Section, counted, fold, mark, scrolling
from reconciler.rendering.words.alike import alike_blockers, alike_nodes, owner_label
from reconciler.rendering.words.alike_states import over_groups
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import GROWS, HELD, SHRINKS, blockers_words, state_words
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.quantity import permille_text

MOST_NODES = 400
FEW_NODES = 24
"""So many are all shown at once."""
_MOST_BLOCKERS = 2
_MOST_LABELS = 6


def listed_nodes(plan: Plan, leaving: frozenset[str]) -> tuple[NodeLine, ...]:
    """At most `MOST_NODES`, in the order of the plan: those that leave, then those that could, then the others."""
    if len(plan.nodes) <= MOST_NODES:
        return plan.nodes
    ranked = sorted(plan.nodes, key=lambda line: (line.node not in leaving, not line.removable, line.unneeded_since is None))
    chosen = {line.node for line in ranked[:MOST_NODES]}
    return tuple(line for line in plan.nodes if line.node in chosen)


def anchors(lines: Sequence[NodeLine]) -> dict[str, str]:
    """Node -> the anchor of its row; names of others never stand in an identifier."""
    return {line.node: f"n{number}" for number, line in enumerate(lines)}


def node_section(
    plan: Plan, lines: Sequence[NodeLine], now: Picture, leaving: frozenset[str], groups: Mapping[str, str]
) -> Section:
    """One row per node."""
    rows = anchors(lines)
    pods = {node.node: tuple(pod.pod for pod in node.pods if not pod.daemon) for node in now.nodes}
    ordered = sorted(lines, key=lambda line: (line.node not in leaving, not line.removable, line.group or "~", line.node))
    heads = (tag("th", name, scope="col") for name in ("Node", "Group", "State", "Used", "Pods to move", "What keeps it"))
    body = joined(_row(line, pods.get(line.node, ()), leaving, rows, groups) for line in ordered)
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", body), class_="stack")
    left = len(plan.nodes) - len(lines)
    note = NOTHING
    if left:
        note = tag("p", f"{counted(left, 'node')} left out that this plan does not touch. All are in -o json.", class_="soft")
    whole = joined((scrolling("Table of nodes", table), note))
    if len(lines) > FEW_NODES:
        whole = joined((tag("ul", joined(_summary_lines(plan, leaving)), class_="list sheet"), fold("One by one", whole)))
    inner = whole if lines else tag("p", "There are none.")
    return Section("nodes", "Nodes", inner, f"{len(plan.nodes):,}")


def _summary_lines(plan: Plan, leaving: frozenset[str]) -> Iterator[Html]:
    """A line for those that leave, and one for each state and what keeps the others."""
    lines = [*over_groups(alike_nodes([line for line in plan.nodes if line.node not in leaving]))]
    if leaving:
        yield tag("li", tag("span", mark(SHRINKS)), tag("span", f"{counted(len(leaving), 'node')} leave"), class_="moves")
    for line in lines:
        yield tag("li", tag("span", "·", class_="m", aria_hidden="true"), tag("span", line))


def _row(
    line: NodeLine, pods: Sequence[str], leaving: frozenset[str], rows: Mapping[str, str], groups: Mapping[str, str]
) -> Html:
    leaves = line.node in leaving
    sign = SHRINKS if leaves else ""
    used = DASH if line.utilization_permille is None else permille_text(line.utilization_permille)
    return tag(
        "tr",
        tag("th", mark(sign), " " if sign else None, line.node, scope="row", class_="name"),
        tag("td", line.group or DASH, data_as="Group"),
        tag("td", state_words(line.state), data_as="State"),
        tag("td", used, class_="r", data_as="Used"),
        tag("td", _pods(pods), class_="small pods", data_as="Pods to move"),
        tag("td", _keeps(line, leaves=leaves), class_="why small", data_as="What keeps it"),
        id=rows[line.node],
        class_="moves" if leaves else None,
        data_item=True,
        data_counted=True,
        data_moves=leaves or line.removable or line.unneeded_since is not None,
        data_groups=groups.get(line.group or ""),
    )


def _pods(pods: Sequence[str]) -> str:
    """`shop/web-* (3), batch/job-1`."""
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    names = tuple(f"{label} ({len(lot)})" if len(lot) > 1 else lot[0] for label, lot in sorted(lots.items()))
    return listed(names, _MOST_LABELS) or "none"


def _keeps(line: NodeLine, *, leaves: bool) -> Html:
    sentences = list(blockers_words(alike_blockers(line.blockers), _MOST_BLOCKERS))
    if leaves:
        sentences.insert(0, "leaves in this plan")
    elif line.removable_at is not None:
        sentences.insert(0, f"may go at {line.removable_at}")
    elif line.removable:
        sentences.insert(0, "could go")
    return tag("ul", joined(tag("li", sentence) for sentence in sentences)) if sentences else NOTHING


# Nodes that were asked for, with the time since.

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
