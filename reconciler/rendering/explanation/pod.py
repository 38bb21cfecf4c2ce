"""Why a pod is where it is, or nowhere: every group, and every node by what it says."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from reconciler.cluster.values.resources import Resources
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.reasons.amounts import amount_text
from reconciler.plan.plan import PodLine
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.document import NewNode, PodExplanation, Said, ThereNode
from reconciler.rendering.fold import NAMES_SHOWN
from reconciler.rendering.plain import listed
from reconciler.rendering.text.layout import paragraph
from reconciler.rendering.wording import count, one_sentence, outcome_words
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection

# What there is to say about a pod: its line in the plan, and what a new node of each group and every node there say to it.


def pod_findings(case: Case, indices: Sequence[int]) -> PodExplanation:
    """Everything about the first of several pods that are alike."""
    pods = case.world.pods
    pod = pods[indices[0]]
    shape = case.world.pod_shapes[pod.shape]
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    state = case.state()
    wants_place = line is not None or (pod.node < 0 and not pod.finished and not pod.unknown_node)
    unknown = state.modelled(pod.shape)
    asked = wants_place and not unknown
    node = case.world.nodes[pod.node].name if pod.node >= 0 else pod.unknown_node or None
    blocks = case.node_line(node).blockers if node is not None and pod.node >= 0 else ()
    return PodExplanation(
        pod=pod.key,
        alike=tuple(pods.key(index) for index in indices[1:]),
        phase=pod.phase.value,
        priority=shape.priority,
        requests={name: amount for name, amount in shape.requests.items() if name != "pods"},
        decision=line,
        node=node,
        blocks=tuple(blocker for blocker in blocks if blocker.pod == pod.key),
        not_modelled=unknown,
        new_nodes=tuple(_new_node(case, state, group, pod.shape) for group in case.asked_groups()) if asked else (),
        nodes=tuple(_there(case, state, index, pod.shape) for index in case.asked_nodes()) if asked else (),
    )


def _new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> NewNode:
    line = case.group_line(group.name)
    verdict = () if group.template is None else new_node_verdict(case, state, group, shape)
    return NewNode(
        group=group.name,
        fits=group.template is not None and not verdict,
        rejections=_said(verdict),
        unknown=group.template_problem if group.template is None else "",
        current=line.current,
        desired=line.desired,
        max=line.max,
        held=line.held,
    )


def new_node_verdict(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> tuple[Rejection, ...]:
    """What a new node of a group whose template is known says to one more pod; its DaemonSet pods are there first."""
    if group.template is None:
        return ()
    mark = state.mark()
    node = state.add_node(f"{group.name}-new", group.template)
    for daemon in case.world.daemon_pods:
        state.place(daemon.shape, 1, [node])
    verdict = state.verdict(shape, node)
    state.undo(mark)
    return verdict


def _there(case: Case, state: SchedulingState, index: int, shape: int) -> ThereNode:
    verdict = state.verdict(shape, index)
    return ThereNode(node=case.world.nodes[index].name, fits=not verdict, rejections=_said(verdict))


def _said(verdict: Sequence[Rejection]) -> tuple[Said, ...]:
    return tuple(Said(rejection.plugin, rejection.message) for rejection in verdict)


_RUNS = "would run it"
_FEW_GROUPS = 12


class _NewNode(msgspec.Struct, frozen=True):
    """What a new node of a group says. Answers of one `kind` differ in figures at most: the same plugins say no."""

    group: str
    kind: tuple[str, ...]
    said: str


def alike(case: Case, indices: Sequence[int]) -> bool:
    """Whether the same is to be said of several pods: one shape, and the same outcome for the same reasons."""
    pods = case.world.pods
    lines = {line.pod: msgspec.structs.replace(line, pod="") for line in case.plan.pods}
    first = indices[0]
    return all(
        (pods.shape[index], pods.traits[index], pods.node[index]) == (pods.shape[first], pods.traits[first], pods.node[first])
        and lines.get(pods.key(index)) == lines.get(pods.key(first))
        for index in indices
    )


def explain_pods(case: Case, indices: Sequence[int], width: int) -> list[str]:
    """Lines about the first of several pods that are alike, and who the others are."""
    lines = explain_pod(case, indices[0], width)
    others = tuple(case.world.pods.key(index) for index in indices[1:])
    if others:
        lines += ["", *paragraph(f"The same holds for {count(len(others), 'pod')}: {listed(others, 10)}", width, 0)]
    return lines


def explain_pod(case: Case, index: int, width: int) -> list[str]:
    """Lines about one pod of the World."""
    pods = case.world.pods
    pod = pods[index]
    shape = case.world.pod_shapes[pod.shape]
    lines = paragraph(f"pod {pod.key}: {pod.phase}, requests {_amounts(shape.requests)}, priority {shape.priority}", width, 0)
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    if line is not None:
        return [*lines, *_pending(line, width), *_placing(case, pod.shape, width)]
    if pod.finished:
        return [*lines, *paragraph("it has finished: it needs no place and keeps no node", width, 0)]
    if pod.node >= 0:
        return [*lines, *_bound(case, pod.key, case.world.nodes[pod.node].name, width)]
    if pod.unknown_node:
        return [*lines, *paragraph(f"it is bound to node {pod.unknown_node}, which the snapshot does not hold", width, 0)]
    why = "its scheduling gates are closed" if pod.gated else "it is terminating" if pod.deletion_seconds else "it is no demand"
    return [*lines, *paragraph(f"{why}, so no node is added for it", width, 0), *_placing(case, pod.shape, width)]


def _pending(line: PodLine, width: int) -> list[str]:
    where = line.node or line.group
    lines = paragraph(f"outcome: {outcome_words(line.outcome)}" + (f" ({where})" if where else ""), width, 0)
    for reason in line.reasons:
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
        lines += paragraph(f"{blocker.code}: {blocker.message}", width, 2, "- ")
    return lines


def _placing(case: Case, shape: int, width: int) -> list[str]:
    """What a new node of each group and every node that is there say to one more pod of this shape."""
    state = case.state()
    feature = state.modelled(shape)
    if feature:
        return ["", *paragraph(f"it uses {feature}, which is not modelled: nothing is said about nodes", width, 0)]
    return ["", *_on_new_nodes(case, state, shape, width), "", *_on_nodes(case, state, shape, width)]


def _on_new_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    """A line a group; of many groups those that say the same are told together, those that would run it first."""
    groups = case.asked_groups()
    told = [_on_new_node(case, state, group, shape) for group in groups]
    lines = ["A new node of each group:"]
    if not width or len(groups) <= _FEW_GROUPS:
        for entry in told:
            lines += paragraph(f"{entry.group}: {entry.said} ({_size(case, entry.group)})", width, 2, "- ")
        return lines
    lots: dict[tuple[str, ...], list[_NewNode]] = {}
    for entry in told:
        lots.setdefault(entry.kind, []).append(entry)
    for those in sorted(lots.values(), key=lambda those: (those[0].said != _RUNS, -len(those))):
        names = tuple(entry.group for entry in those)
        said = one_sentence([entry.said for entry in those], names) or f"for example {those[0].said}"
        who = names[0] if len(names) == 1 else f"{count(len(names), 'group')} ({listed(names, NAMES_SHOWN)})"
        size = f" ({_size(case, names[0])})" if len(names) == 1 else ""
        lines += paragraph(f"{who}: {said}{size}", width, 2, "- ")
    return lines


def _size(case: Case, name: str) -> str:
    line = case.group_line(name)
    return f"size {line.current}, after this plan {line.desired}, at most {line.max}" + (", held" if line.held else "")


def _on_new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> _NewNode:
    if group.template is None:
        return _NewNode(group.name, ("unknown",), f"unknown: {group.template_problem}")
    verdict = new_node_verdict(case, state, group, shape)
    return _NewNode(group.name, tuple(said.plugin for said in verdict), _pod_said(verdict) if verdict else _RUNS)


def _on_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    verdicts = [(state.verdict(shape, node), case.world.nodes[node].name) for node in case.asked_nodes()]
    if not verdicts:
        return ["There are no nodes."]
    free = [name for verdict, name in verdicts if not verdict]
    lines = [f"Nodes that are there: {len(free)} of {count(len(verdicts), 'node')} would run it"]
    plugins = Counter(rejection.plugin for verdict, _ in verdicts for rejection in verdict)
    for plugin, number in sorted(plugins.items(), key=lambda entry: (-entry[1], entry[0])):
        lines += paragraph(f"{plugin} says no on {count(number, 'node')}", width, 2, "- ")
    if free:
        return lines + paragraph(f"the first is {free[0]}", width, 2, "- ")
    verdict, name = min(verdicts, key=lambda entry: (len(entry[0]), entry[1]))
    return lines + paragraph(f"closest is {name}: {_pod_said(verdict)}", width, 2, "- ")


def _pod_said(verdict: Sequence[Rejection]) -> str:
    return "; ".join(f"{rejection.plugin}: {rejection.message}" for rejection in verdict)


def _amounts(resources: Resources) -> str:
    parts = [f"{amount_text(name, amount)} {name}" for name, amount in resources.items() if name != "pods"]
    return ", ".join(parts) or "nothing"
