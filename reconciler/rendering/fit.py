"""What `fit` found, as JSON and as text."""

from collections.abc import Iterable, Iterator

import msgspec

from reconciler.rendering.plain import listed, plain
from reconciler.scheduling.fit import NodeFit, PodFit

FORMAT_VERSION = "1.0"
_MOST_NAMES = 6


def fit_json(fits: Iterable[PodFit]) -> Iterator[bytes]:
    """The document of `fit -o json` in pieces: one a pod, since a large cluster's answers do not fit into memory at once."""
    yield b'{"formatVersion":' + msgspec.json.encode(FORMAT_VERSION) + b',"pods":['
    known: tuple[tuple[NodeFit, ...], bytes] | None = None
    separator = b""
    for fit in fits:
        if known is None or known[0] is not fit.nodes:
            known = (fit.nodes, b",".join(_node_json(node) for node in fit.nodes))
        yield separator + b'{"pod":' + msgspec.json.encode(fit.pod) + b',"nodes":[' + known[1] + b"]}"
        separator = b","
    yield b"]}\n"


def fit_text(fits: Iterable[PodFit]) -> Iterator[str]:
    """A paragraph a pod: where it fits, then the nodes that are alike in what rejects them, most frequent first."""
    some = False
    for fit in fits:
        some = True
        good = tuple(node.node for node in fit.nodes if not node.rejections)
        where = f": {listed(good, _MOST_NAMES)}" if good else ""
        yield f"{plain(fit.pod)} fits on {len(good)} of {_nodes(len(fit.nodes))}{plain(where)}"
        for names, lines in _alike(fit.nodes):
            yield f"  {plain(listed(names, _MOST_NAMES))}"
            yield from (f"    {plain(line)}" for line in lines)
    if not some:
        yield "No pod is pending."


def _node_json(node: NodeFit) -> bytes:
    # The format sorts by plugin; a plugin comes once.
    reasons = [rejection.plugin for rejection in node.rejections]
    return msgspec.json.encode({"node": node.node, "fits": not reasons, "reasons": reasons})


def _alike(nodes: Iterable[NodeFit]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        if node.rejections:
            lines = tuple(f"{rejection.plugin}: {rejection.message}" for rejection in node.rejections)
            groups.setdefault(lines, []).append(node.node)
    found = [(tuple(names), lines) for lines, names in groups.items()]
    return sorted(found, key=lambda item: (-len(item[0]), item[0]))


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
