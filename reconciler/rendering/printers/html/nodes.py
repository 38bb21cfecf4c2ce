"""The table of nodes: what is on them, and what keeps each of them."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.plan.picture import Picture
from reconciler.plan.plan import NodeLine, Plan
from reconciler.rendering.printers.html.element import DASH, NOTHING, Html, joined, tag
from reconciler.rendering.printers.html.page import Section, counted, fold, mark, scrolling
from reconciler.rendering.words.alike import alike_blockers, alike_nodes, owner_label
from reconciler.rendering.words.alike_states import over_groups
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import SHRINKS, blockers_words, state_words
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
