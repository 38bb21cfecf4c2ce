"""A group with its effective values, where they come from, whose it is, and which of its nodes could go."""

from reconciler.cluster.node import NodeShape
from reconciler.decisions.group import EffectiveGroup
from reconciler.decisions.reasons.amounts import amount_text
from reconciler.plan.instant import instant_text
from reconciler.plan.plan import NodeState
from reconciler.rendering.alike import alike_nodes
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.plain import listed
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.wording import action_words, blockers_words, count, owner_words, state_words, utilization_words

_CANDIDATES = (NodeState.EMPTY, NodeState.UNDERUTILIZED, NodeState.UNREADY)
_NAMES_SHOWN = 3


def explain_group(case: Case, name: str, width: int) -> list[str]:
    """Lines about one group."""
    line = case.group_line(name)
    group = next(group for group in case.groups if group.name == name)
    settled = "" if line.settled is None else f", settled {line.settled}"
    lines = paragraph(f"group {name}: {line.target}, tier {line.tier or 'none'}, mode {group.mode}", width, 0)
    lines += paragraph(f"size: now {line.current}, desired {line.desired}{settled}, range {line.min}..{line.max}", width, 0)
    lines += paragraph(f"owner: {owner_words(line)}", width, 0)
    for sentence in line.owner.evidence:
        lines += paragraph(sentence, width, 2, "- ")
    lines += _hold(group, width)
    if line.held and line.wanted is not None:
        lines += paragraph(f"held; it would go {line.current} -> {line.wanted}", width, 0)
    for action in case.plan.actions:
        if action.group == name:
            lines += paragraph(f"this plan: {action_words(action)}: {action.reason.message}", width, 0)
    for reason in line.reasons:
        lines += paragraph(f"{reason.message} [{reason.code}]", width, 2, "- ")
    return [*lines, *_template(group, width), *_values(group, width), *_nodes(case, name, width)]


def _hold(group: EffectiveGroup, width: int) -> list[str]:
    if not group.hold:
        return []
    until = "until it is taken out" if group.hold_until_seconds is None else f"until {instant_text(group.hold_until_seconds)}"
    return paragraph(f"on hold {until}: {group.hold}", width, 0)


def _template(group: EffectiveGroup, width: int) -> list[str]:
    if group.template is None:
        return ["", *paragraph(f"A new node: unknown, {group.template_problem}", width, 0)]
    lines = ["", *paragraph(f"A new node: allocatable {_allocatable(group.template)}", width, 0)]
    if group.template.labels:
        lines += paragraph(f"labels {', '.join(f'{key}={value}' for key, value in group.template.labels)}", width, 2)
    if group.template.taints:
        taints = ", ".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in group.template.taints)
        lines += paragraph(f"taints {taints}", width, 2)
    return lines


def _allocatable(shape: NodeShape) -> str:
    return ", ".join(f"{amount_text(name, amount)} {name}" for name, amount in shape.allocatable.items())


def _values(group: EffectiveGroup, width: int) -> list[str]:
    lines = ["", "Effective values, and where they come from:"]
    for path, chain in sorted(group.chains.items()):
        if chain:
            told = f"{path}: {chain[0].value}" if path != "template.capacity" else path
            lines += paragraph(f"{told} ({chain[0].source})", width, 2)
    return lines


def _nodes(case: Case, name: str, width: int) -> list[str]:
    own = [node for node in case.plan.nodes if node.group == name]
    candidates = [node for node in own if node.state in _CANDIDATES]
    lines = ["", f"Nodes: {len(own)}, of which {len(candidates)} could go if nothing kept them"]
    for lot in alike_nodes(candidates):
        names = listed(tuple(node.node for node in lot.nodes), _NAMES_SHOWN)
        used = utilization_words(lot.nodes)
        told = f"{count(len(lot.nodes), 'node')} {state_words(lot.state)}" + (f", {used}" if used else "")
        lines += paragraph(f"{told}: {names}", width, 2)
        for sentence in blockers_words(lot.blockers, 0):
            lines += paragraph(sentence, width, 4, "- ")
    return lines
