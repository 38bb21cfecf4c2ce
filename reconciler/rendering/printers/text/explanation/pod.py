"""Why a pod is where it is, or why it has no node."""

from collections.abc import Sequence

from reconciler.cluster.pods.pod import Pod
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.reasons.pods import GroupRejects
from reconciler.plan.plan import PodLine
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.pods import PodKinds, alike_running, pod_kinds
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.printers.text.explanation.placing import placing
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import count, outcome_words
from reconciler.values.quantity import amount_text

_KINDS_SHOWN = 5


def explain_pods(case: Case, subject: str, indices: Sequence[int], width: int) -> list[str]:
    """Lines about every kind of pod that waits, each once, then how many others begin so. What nodes say to pods of one shape is
    told once."""
    kinds = pod_kinds(case, indices)
    shapes: dict[int, list[tuple[int, ...]]] = {}
    for kind in kinds.waiting:
        shapes.setdefault(case.world.pods.shape[kind[0]], []).append(kind)
    lots = list(shapes.values())
    shown = _KINDS_SHOWN if width else len(lots)
    lines: list[str] = []
    for lot in lots[:shown]:
        answer = _explain_kind(case, lot[0], width) if len(lot) == 1 else _explain_shape(case, lot, width)
        lines += [*([""] if lines else []), *answer]
    if left := lots[shown:]:
        number = sum(len(kind) for lot in left for kind in lot)
        more = f"{count(number, 'pod')} of {count(len(left), 'more kind')} wait: --wide tells all, a longer name fewer"
        lines += ["", *paragraph(more, width, 0)]
    if kinds.running and not kinds.waiting and alike_running(case, kinds.running):
        lines += _explain_kind(case, kinds.running, width)
    elif kinds.running:
        lines += [*([""] if lines else []), *paragraph(_running(case, subject, kinds), width, 0)]
    if kinds.finished and (kinds.waiting or kinds.running):
        lines += paragraph(f"{count(kinds.finished, 'pod')} that begin so have finished", width, 0)
    return lines or _explain_kind(case, indices, width)


def _running(case: Case, subject: str, kinds: PodKinds) -> str:
    pods = case.world.pods
    nodes = len({pods[index].node for index in kinds.running})
    on = f"{count(len(kinds.running), 'pod')} on {count(nodes, 'node')}"
    named = listed(tuple(sorted(pods.key(index) for index in kinds.running)), NAMES_SHOWN)
    if kinds.waiting:
        return f"Running, not told here: {on}. Name one to see why it keeps its node: {named}"
    return f"No pod that begins with {subject} waits for a node. Running: {on}. Name one to see why it keeps its node: {named}"


def _explain_kind(case: Case, indices: Sequence[int], width: int) -> list[str]:
    """Lines about the first of several pods that are alike, and who the others are."""
    lines = explain_pod(case, indices[0], width)
    others = tuple(case.world.pods.key(index) for index in indices[1:])
    if others:
        lines += ["", *paragraph(f"The same holds for {count(len(others), 'pod')}: {listed(others, 10)}", width, 0)]
    return lines


def _explain_shape(case: Case, kinds: Sequence[Sequence[int]], width: int) -> list[str]:
    """Lines about pods of one shape that stand differently."""
    pods = case.world.pods
    first = pods[kinds[0][0]]
    labels = tuple(dict.fromkeys(owner_label(pods.key(index)) for kind in kinds for index in kind))
    number = sum(map(len, kinds))
    lines = paragraph(f"{count(number, 'pod')} {listed(labels, NAMES_SHOWN)}: {_requests(case, first)}", width, 0)
    lines += _spread(case, first.shape, width)
    for kind in kinds:
        names = listed(tuple(pods.key(index) for index in kind), NAMES_SHOWN)
        lines += paragraph(f"{count(len(kind), 'pod')}: {names}", width, 0)
        lines += [f"  {line}" for line in _waiting(case, kind[0], max(0, width - 2))]
    return [*lines, *placing(case, first.shape, width)]


def explain_pod(case: Case, index: int, width: int) -> list[str]:
    """Lines about one pod of the World."""
    pod = case.world.pods[index]
    lines = [*paragraph(f"pod {pod.key}: {_requests(case, pod)}", width, 0), *_spread(case, pod.shape, width)]
    if pod.finished:
        return [*lines, *paragraph("it has finished: it needs no place and keeps no node", width, 0)]
    if pod.node >= 0:
        return [*lines, *_bound(case, pod.key, case.world.nodes[pod.node].name, width)]
    if pod.unknown_node:
        return [*lines, *paragraph(f"it is bound to node {pod.unknown_node}, which the snapshot does not hold", width, 0)]
    return [*lines, *_waiting(case, index, width), *placing(case, pod.shape, width)]


def _requests(case: Case, pod: Pod) -> str:
    shape = case.world.pod_shapes[pod.shape]
    return f"{pod.phase}, requests {_amounts(shape.requests)}, priority {shape.priority}"


def _spread(case: Case, shape: int, width: int) -> list[str]:
    return [line for one in case.default_spread(shape) for line in paragraph(f"{one.message} [{one.code}]", width, 0)]


def _waiting(case: Case, index: int, width: int) -> list[str]:
    """What this plan does for a pod without a node, but for what nodes say to it."""
    pod = case.world.pods[index]
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    if line is not None:
        groups = frozenset[str]() if case.state().modelled(pod.shape) else frozenset(group.name for group in case.asked_groups())
        return _pending(line, groups, width)
    why = (
        "its scheduling gates are closed"
        if pod.gated
        else "it is terminating"
        if pod.deletion_seconds
        else "it does not count as demand"
    )
    return paragraph(f"{why}, so no node is added for it", width, 0)


def _pending(line: PodLine, groups: frozenset[str], width: int) -> list[str]:
    """The outcome with its reasons, but for what a new node of `groups` says: that is told below."""
    where = line.node or line.group
    lines = paragraph(f"outcome: {outcome_words(line.outcome)}" + (f" ({where})" if where else ""), width, 0)
    for reason in line.reasons:
        if reason.code != GroupRejects.code or reason.data.get("group") not in groups:
            lines += paragraph(f"{reason.message} [{reason.code}]", width, 2, "- ")
    return lines


def _bound(case: Case, key: str, node: str, width: int) -> list[str]:
    line = case.node_line(node)
    group = f" of group {line.group}" if line.group else ", which no group holds"
    lines = paragraph(f"it is on node {node}{group}", width, 0)
    own = [blocker for blocker in line.blockers if blocker.pod == key]
    if not own:
        return lines + paragraph("nothing about it keeps the node", width, 0)
    lines += paragraph("it keeps the node:", width, 0)
    for blocker in own:
        lines += paragraph(f"{blocker.message} [{blocker.code}]", width, 2, "- ")
    return lines


def _amounts(resources: Resources) -> str:
    parts = [f"{amount_text(name, amount)} {name}" for name, amount in resources.items() if name != "pods"]
    return ", ".join(parts) or "nothing"
