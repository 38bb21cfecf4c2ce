"""The packed picture: every node a box, the pods in it blocks that take their share of its width and height."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.plan.picture import Picture, PictureNode, Pictures
from reconciler.rendering.printers.html.element import NOTHING, Content, Html, joined, path, tag
from reconciler.rendering.printers.html.nodes import FEW_NODES
from reconciler.rendering.printers.html.page import Section, counted, fold
from reconciler.rendering.printers.html.treemap import blocks
from reconciler.values.quantity import permille_text

MOST_TILES = 240
"""Nodes drawn in one picture."""
_TITLED_PODS = 24
_WIDTH, _HEIGHT = 92, 52
_FULL = 1000
_NO_GROUP = "no group"


class _Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the pictures: `before` is what it is compared with."""

    heading: str
    picture: Picture
    joins: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    was: Mapping[str, frozenset[str]] | None = None


def picture_section(
    pictures: Pictures,
    leaving: frozenset[str],
    rows: Mapping[str, str],
    groups: Mapping[str, str],
    policies: tuple[str, str] | None,
) -> Section:
    """Now and in steady state, side by side; with `policies` (names of the two), the steady state with either.

    `leaving` are nodes that this plan's own actions remove, `rows` the anchors of nodes that are listed below, `groups`
    the words of the filter.
    """
    now, rest, other = pictures.now, pictures.rest, pictures.rest_before
    there = _names(now)
    gone = there - _names(rest) if rest is not None else frozenset()
    sides = [_Side(heading="Now", picture=now, leaves=leaving | gone)]
    was = {node.node: frozenset(pod.pod for pod in node.pods) for node in now.nodes}
    for picture, policy in ((other, policies[0] if policies else ""), (rest, policies[1] if policies else "")):
        if picture is not None:
            heading = f"Steady state with {policy}" if policy else "Steady state"
            sides.append(_Side(heading=heading, picture=picture, joins=_names(picture) - there, was=was))
    drawn = joined(_picture(side, rows, groups) for side in sides)
    return Section("picture", "Nodes and pods", joined((_key(sides), tag("div", drawn, class_="pictures"))))


def _names(picture: Picture | None) -> frozenset[str]:
    return frozenset(node.node for node in picture.nodes) if picture is not None else frozenset()


def _key(sides: Sequence[_Side]) -> Html:
    """What colours and outlines mean; only what is there."""
    entries: list[tuple[str, str, str]] = [("p", "", "pod"), ("d", "", "pod of the node itself (DaemonSet)")]
    if any(side.was is not None for side in sides):
        entries.append(("f", "", "pod that was pending or elsewhere"))
    if any(side.joins for side in sides):
        entries.append(("box", "joins", "node that joins"))
    if any(side.leaves for side in sides):
        entries.append(("box", "leaves", "node that leaves"))
    items = (
        tag(
            "li",
            tag(
                "svg", tag("rect", class_=kind, x=1, y=1, width=14, height=10), class_=state or None, width=16, height=12,
                aria_hidden="true",
            ),
            words,
        )
        for kind, state, words in entries
    )  # fmt: skip
    note = "The filled width of a node is the part of its most requested resource that is requested."
    return joined((tag("ul", joined(items), class_="key"), tag("p", note, class_="soft small")))


def _picture(side: _Side, rows: Mapping[str, str], groups: Mapping[str, str]) -> Html:
    nodes = side.picture.nodes
    by_group: dict[str, list[PictureNode]] = {}
    for node in nodes:
        by_group.setdefault(node.group or "", []).append(node)
    chosen = _chosen(by_group, side)
    order = [name for name in groups if name in by_group] + [name for name in sorted(by_group) if name not in groups]
    waiting = f"{counted(side.picture.waiting, 'pod')} without a node" if side.picture.waiting else "no pod without a node"
    head = tag("h3", side.heading, tag("span", f"{counted(len(nodes), 'node')}, {waiting}", class_="n"))
    body = joined(_group(name, by_group[name], chosen, side, rows, groups) for name in order)
    if len(nodes) > FEW_NODES:
        body = fold(f"{counted(len(chosen), 'node')} drawn, by group", body)
    return tag("article", head, body, class_="picture sheet", aria_label=side.heading)


def _chosen(by_group: Mapping[str, Sequence[PictureNode]], side: _Side) -> set[str]:
    """Which nodes are drawn: of every group in turn the next one, those first to which something happens."""
    ranked: list[tuple[int, str]] = []
    for nodes in by_group.values():
        ordered = sorted(nodes, key=lambda node: (_state(node, side) == "", _fresh(node, side) == 0))
        ranked += [(place, node.node) for place, node in enumerate(ordered)]
    return {name for _, name in sorted(ranked)[:MOST_TILES]}


def _state(node: PictureNode, side: _Side) -> str:
    return "leaves" if node.node in side.leaves else "joins" if node.node in side.joins else ""


def _fresh(node: PictureNode, side: _Side) -> int:
    """How many pods were not on this node before; those that go with the node do not count."""
    if side.was is None:
        return 0
    was = side.was.get(node.node, frozenset())
    return sum(not pod.daemon and pod.pod not in was for pod in node.pods)


def _group(
    name: str,
    nodes: Sequence[PictureNode],
    chosen: set[str],
    side: _Side,
    rows: Mapping[str, str],
    groups: Mapping[str, str],
) -> Html:
    drawn = [node for node in nodes if node.node in chosen]
    left = len(nodes) - len(drawn)
    tiles = joined(_tile(node, side, rows, groups) for node in drawn)
    note = tag("p", f"and {counted(left, 'node')} more, not drawn", class_="soft small") if left else NOTHING
    head = tag("h4", tag("b", name or _NO_GROUP), f" {counted(len(nodes), 'node')}")
    return tag("div", head, tag("ul", tiles, class_="tiles") if drawn else None, note, data_block=True)


def _tile(node: PictureNode, side: _Side, rows: Mapping[str, str], groups: Mapping[str, str]) -> Html:
    state, fresh = _state(node, side), _fresh(node, side)
    was = None if side.was is None else side.was.get(node.node, frozenset())
    label = _label(node, state, fresh)
    drawing = tag(
        "svg", tag("title", label), _drawing(node, was), width=_WIDTH, height=_HEIGHT, viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_hidden="true",
    )  # fmt: skip
    anchor = rows.get(node.node)
    classes = f"tile {state}".strip()
    if anchor is not None:
        inner = tag("a", drawing, class_=classes, href=f"#{anchor}", aria_label=label)
    else:
        inner = tag("span", drawing, class_=classes, role="img", aria_label=label)
    return tag("li", inner, data_item=True, data_moves=bool(state or fresh), data_groups=groups.get(node.group or ""))


def _label(node: PictureNode, state: str, fresh: int) -> str:
    parts = [counted(len(node.pods), "pod")]
    parts += [f"{permille_text(node.used_permille)} of {node.resource} requested"] if node.resource else []
    parts += [] if node.ready else ["not ready"]
    parts += [f"{fresh} of them new here"] if fresh else []
    parts += [state] if state else []
    return f"{node.node}: {', '.join(parts)}"


def _drawing(node: PictureNode, was: frozenset[str] | None) -> Html:
    box = tag("rect", class_="box", x=1, y=1, width=_WIDTH - 2, height=_HEIGHT - 2, rx=3)
    weights = [pod.share_permille for pod in node.pods]
    used = min(node.used_permille, _FULL)
    order = sorted(range(len(weights)), key=lambda index: -weights[index])
    wide = (_WIDTH - 6) * used // _FULL
    titled = len(weights) <= _TITLED_PODS
    shapes: list[Content] = [box]
    paths: dict[str, list[str]] = {}
    for block in blocks([weights[index] for index in order], wide, _HEIGHT - 6):
        pod = node.pods[order[block.index]]
        kind = "d" if pod.daemon else "f" if was is not None and pod.pod not in was else "p"
        x, y = block.x + 3, block.y + 3
        width, height = max(1, block.width - 1), max(1, block.height - 1)
        if titled:
            title = tag("title", f"{pod.pod}: {permille_text(pod.share_permille)} of {node.resource}")
            shapes.append(tag("rect", title, class_=kind, x=x, y=y, width=width, height=height))
        else:
            paths.setdefault(kind, []).append(f"M{x} {y}h{width}v{height}h-{width}z")
    shapes += [path(kind, "".join(parts)) for kind, parts in sorted(paths.items())]
    return joined(shapes)
