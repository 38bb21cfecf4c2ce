"""What `fit` found, as JSON and as text."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import count
from reconciler.scheduling.fit import NodeFit, PodFit
from reconciler.values.clauses import clauses

FORMAT_VERSION = "1.0"


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


def fit_text(fits: Iterable[PodFit], fold: Fold, width: int) -> Iterator[str]:
    """A paragraph for pods of one owner with equal answers. It lists where they fit, then the nodes that are alike in the plugins
    that reject them, most frequent first. Pods that fit nowhere come first. `fold` limits how much is listed before the rest is
    counted."""
    lots: dict[tuple[str, _Answer], list[str]] = {}
    known: tuple[tuple[NodeFit, ...], _Answer] | None = None
    for fit in fits:
        if known is None or known[0] is not fit.nodes:
            known = (fit.nodes, _answer(fit.nodes, fold))
        lots.setdefault((owner_label(fit.pod) if fold.lots else fit.pod, known[1]), []).append(fit.pod)
    if not lots:
        yield "No pod is pending."
        return
    pods = sum(len(names) for names in lots.values())
    nowhere = sum(len(names) for (_, answer), names in lots.items() if not answer.fits)
    yield f"{count(pods, 'pending pod')}, each alone: {pods - nowhere} fit on an existing node, {nowhere} on none"
    order = list(lots.items())
    if fold.lots:
        order.sort(key=lambda lot: (lot[0][1].fits > 0, -len(lot[1])))
    shown = fold.shown(len(order), fold.lots)
    for (label, answer), names in order[:shown]:
        yield ""
        who = f"{label} ({count(len(names), 'pod')})" if len(names) > 1 else names[0]
        yield from paragraph(f"{who} {_verb(names)} on {answer.where}", width, 0)
        for line in answer.rejections:
            yield from paragraph(line, width, 2, "- ")
    if shown < len(order):
        left = sum(len(names) for _, names in order[shown:])
        yield ""
        yield f"and {count(left, 'pod')} more: `--wide` lists all, `reconciler fit NAMESPACE/NAME` tells one"


def _verb(names: Sequence[str]) -> str:
    return "fits" if len(names) == 1 else "fit"


class _Answer(msgspec.Struct, frozen=True):
    """The answer for one pod: on how many nodes it fits, which, and one line per kind of rejection."""

    fits: int
    where: str
    rejections: tuple[str, ...]


def _answer(nodes: Sequence[NodeFit], fold: Fold) -> _Answer:
    good = tuple(node.node for node in nodes if not node.rejections)
    where = f"{len(good)} of {count(len(nodes), 'node')}" + (f": {listed(good, fold.names)}" if good else "")
    kinds: dict[tuple[str, ...], list[NodeFit]] = {}
    for node in nodes:
        if node.rejections:
            key = tuple(
                rejection.plugin if fold.lots else f"{rejection.message} [{rejection.plugin}]" for rejection in node.rejections
            )
            kinds.setdefault(key, []).append(node)
    order = sorted(kinds.values(), key=lambda those: (-len(those), those[0].node))
    shown = fold.shown(len(order), fold.reasons)
    lines = [f"{_names(those, fold)}: {clauses(_sentences(those))}" for those in order[:shown]]
    if shown < len(order):
        left = sum(len(those) for those in order[shown:])
        lines.append(f"{count(left, 'node')} more, for other reasons")
    return _Answer(len(good), where, tuple(lines))


def _names(nodes: Sequence[NodeFit], fold: Fold) -> str:
    names = listed(tuple(node.node for node in nodes), fold.names)
    return names if len(nodes) <= fold.names + 1 or not fold.names else f"{count(len(nodes), 'node')} ({names})"


def _sentences(nodes: Sequence[NodeFit]) -> Iterator[str]:
    for rejections in zip(*(node.rejections for node in nodes), strict=True):
        messages = [rejection.message for rejection in rejections]
        names = [node.node for node in nodes]
        yield f"{one_sentence(messages, names) or f'for example {messages[0]}'} [{rejections[0].plugin}]"


def _node_json(node: NodeFit) -> bytes:
    # The format sorts by plugin; a plugin comes once.
    reasons = [rejection.plugin for rejection in node.rejections]
    return msgspec.json.encode({"node": node.node, "fits": not reasons, "reasons": reasons})
