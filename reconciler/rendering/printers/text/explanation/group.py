"""A group with its effective values, where they come from, whose it is, and which of its nodes could go."""

from decimal import Decimal

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.limits import NODES
from reconciler.decisions.reasons.owners import GroupHeld
from reconciler.decisions.situation.lead_times import patience_text
from reconciler.plan.money import money_text
from reconciler.plan.plan import NodeState
from reconciler.policy.levels import LEVEL_FIELDS
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.groups import _most_seconds, group_findings
from reconciler.rendering.documents.explanation.values import GroupExplanation
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.alike import alike_nodes, owner_label
from reconciler.rendering.words.next_step import next_block
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import action_words, blockers_words, count, owner_words, state_words, utilization_words
from reconciler.values.instant import instant_text
from reconciler.values.quantity import amount_text

_CANDIDATES = (NodeState.EMPTY, NodeState.UNDERUTILIZED, NodeState.UNREADY)
_NAMES_SHOWN = 3
_WASTES_SHOWN = 3


def explain_group(case: Case, name: str, width: int) -> list[str]:
    """Lines about one group."""
    line = case.group_line(name)
    group, explanation = case.group(name), group_findings(case, name)
    settled = "" if line.settled is None else f", settled {line.settled}"
    lines = paragraph(f"group {name}: {line.target}, tier {line.tier or 'none'}, mode {group.mode}", width, 0)
    lines += paragraph(f"size: now {line.current}, desired {line.desired}{settled}, range {line.min}..{line.max}", width, 0)
    by_owner = line.held and bool(line.owner.by)
    lines += paragraph(f"owner: {owner_words(line)}" + (f" [{GroupHeld.code}]" if by_owner else ""), width, 0)
    for sentence in line.owner.evidence:
        lines += paragraph(sentence, width, 2, "- ")
    lines += _hold(group, width)
    if explanation.backoff is not None:
        times = count(explanation.backoff.failures, "failure")
        lines += paragraph(f"backed off until {explanation.backoff.until} after {times}: {explanation.backoff.reason}", width, 0)
    if explanation.lead_time is not None:
        overdue = patience_text(case.memory.lead_times.get(str(group.target)), _most_seconds(group))
        lines += paragraph(f"new nodes: {explanation.lead_time.sentence()}", width, 0)
        lines += paragraph(f"a request without a node is overdue after {overdue}", width, 0)
    if line.held and line.wanted is not None:
        lines += paragraph(f"held. Without the hold, it would go {line.current} -> {line.wanted}", width, 0)
    for action in explanation.actions:
        lines += paragraph(f"this plan: {action_words(action)}: {action.reason.message} [{action.reason.code}]", width, 0)
    reasons = [action.reason for action in explanation.actions]
    for reason in line.reasons:
        if reason in reasons or (by_owner and reason.code == GroupHeld.code):
            continue
        lines += paragraph(f"{reason.message} [{reason.code}]", width, 2, "- ")
    lines += [f"    {one}" for one in next_block(line)]
    lines += [
        *_template(group, width),
        *_group_limits(explanation, width),
        *_group_rejected(explanation, width),
        *_values(explanation, width),
        *_waste(explanation, case.plan.cost.currency, width),
    ]
    return [*lines, *_nodes(case, name, width)]


def _waste(explanation: GroupExplanation, currency: str, width: int) -> list[str]:
    """The most expensive causes, with the lines of the policy that would change them."""
    rows = explanation.waste[:_WASTES_SHOWN]
    if not rows:
        return []
    lines = ["", *paragraph("Idle capacity, a month:", width, 0)]
    for row in rows:
        line = f"{row.setting} ({row.place})" if row.place else row.setting or "no line of the policy"
        about = "" if row.object in ("", row.group) else f" {row.object}"
        amount = money_text(Decimal(row.per_month), currency)
        lines += paragraph(f"{amount} on {count(row.nodes, 'node')}: {row.code}{about}, {line}", width, 2, "- ")
    return lines


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


def _group_limits(explanation: GroupExplanation, width: int) -> list[str]:
    lines = ["", "Limits that count its nodes:"] if explanation.limits else []
    for line in explanation.limits:
        used, most, one = (_amount(line.resource, amount) for amount in (line.used, line.max, line.one_more))
        lines += paragraph(
            f"{line.limit}: {used} of {most} {line.resource} in use or requested. One more node adds {one}", width, 2
        )
    return lines


def _amount(resource: str, amount: int) -> str:
    return str(amount) if resource == NODES else amount_text(resource, amount)


def _group_rejected(explanation: GroupExplanation, width: int) -> list[str]:
    lines = ["", "No option for pods that wait:"] if explanation.rejected else []
    for entry in explanation.rejected:
        pods = listed(tuple(dict.fromkeys(owner_label(pod) for pod in entry.pods)), _NAMES_SHOWN)
        lines += paragraph(f"{pods} ({count(len(entry.pods), 'pod')}): {entry.message} [{entry.code}]", width, 2, "- ")
    return lines


def _values(explanation: GroupExplanation, width: int) -> list[str]:
    lines = ["", "Effective values, and where they come from:"]
    for entry in explanation.values:
        first, *others = entry.chain
        field = LEVEL_FIELDS.get(entry.path)
        if field is not None and field.adds:
            added = ", ".join(source.source for source in entry.chain[:-1] or entry.chain)
            lines += paragraph(f"{entry.path}: {entry.value} ({added})", width, 2)
            continue
        capacity = entry.path == "template.capacity"
        text = f"{entry.path} ({first.source})" if capacity else f"{entry.path}: {entry.value} ({first.source})"
        over = [other.source if capacity else f"{other.value} ({other.source})" for other in others]
        lines += paragraph(text + (f", instead of {', '.join(over)}" if over else ""), width, 2)
    return lines


def _nodes(case: Case, name: str, width: int) -> list[str]:
    own = [node for node in case.plan.nodes if node.group == name]
    candidates = [node for node in own if node.state in _CANDIDATES]
    lines = ["", f"Nodes: {len(own)}, of which {len(candidates)} could go if nothing kept them"]
    for lot in alike_nodes(candidates):
        names = listed(tuple(node.node for node in lot.nodes), _NAMES_SHOWN)
        used = utilization_words(lot.nodes)
        text = f"{count(len(lot.nodes), 'node')} {state_words(lot.state)}" + (f", {used}" if used else "")
        lines += paragraph(f"{text}: {names}", width, 2)
        for sentence in blockers_words(lot.blockers, _NAMES_SHOWN if width else 0):
            lines += paragraph(sentence, width, 4, "- ")
    return lines
