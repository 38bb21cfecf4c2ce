"""How a node stands, and everything that keeps it."""

from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.decisions.reasons.replacements import ReplacementDisabled
from reconciler.decisions.removal.last_timer import LAST_TIMERS
from reconciler.decisions.removal.replacements.standing import REPLACEMENT_FOUND
from reconciler.plan.plan import NodeLine
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.nodes import node_findings
from reconciler.rendering.documents.explanation.values import NodeExplanation
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.alike import alike_blockers
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import action_words, blockers_words, count, state_words
from reconciler.values.quantity import amount_text, permille_text

_FEW_BLOCKERS = 6


def explain_node(case: Case, name: str, width: int) -> list[str]:
    """Lines about one node of the World."""
    findings = node_findings(case, name)
    line = findings.decision
    where = f"group {line.group}" if line.group else "no group"
    lines = paragraph(f"node {name}: {state_words(line.state)}, {where}", width, 0)
    lines += _utilization(findings, width)
    for action in findings.actions:
        lines += paragraph(f"this plan: {action_words(action)}", width, 0)
        lines += paragraph(f"{action.reason.message} [{action.reason.code}]", width, 2, "- ")
    if line.blockers:
        keeps = "it may go, but not now" if line.removable else "it stays"
        lines += paragraph(f"{keeps}, for {count(len(line.blockers), 'reason')}:", width, 0)
        lines += _blockers(line, width)
    elif not findings.actions:
        lines += paragraph("nothing keeps it", width, 0)
    if line.unneeded_since:
        lines += paragraph(f"unneeded since {line.unneeded_since}", width, 0)
    if line.removable_at:
        lines += paragraph(f"may go at {line.removable_at}{_timer(findings)}", width, 0)
    return lines + _replacement(findings, width)


def _replacement(explanation: NodeExplanation, width: int) -> list[str]:
    """What a plan says anyway is not said again, and nothing where nobody asked for replacements."""
    told = [action.reason for action in explanation.actions]
    reasons = [one for one in explanation.replacement if one not in told]
    if not reasons or reasons[0].code == ReplacementDisabled.code:
        return []
    part = reasons[0].code in REPLACEMENT_FOUND
    lines = paragraph("a replacement with it was found:" if part else "it is in no replacement:", width, 0)
    for one in reasons:
        lines += paragraph(f"{one.message} [{one.code}]", width, 2, "- ")
    return lines


def _timer(explanation: NodeExplanation) -> str:
    """Which timer the node waits for last."""
    line, after = explanation.decision, explanation.unneeded_time
    last = (blocker for blocker in line.blockers if blocker.data.get("until", "") in ("", line.removable_at))
    ended = next((words for blocker in last if (words := LAST_TIMERS.get(blocker.code))), "")
    if ended:
        return f", {ended}"
    return f", {after.value} after it was first unneeded ({after.chain[0].source})" if after and line.unneeded_since else ""


def _blockers(line: NodeLine, width: int) -> list[str]:
    """One by one; of many those with equal words together."""
    lines: list[str] = []
    if not width or len(line.blockers) <= _FEW_BLOCKERS:
        for blocker in line.blockers:
            about = f"pod {blocker.pod}: " if blocker.pod else ""
            lines += paragraph(f"{about}{blocker.message} [{blocker.code}]", width, 2, "- ")
        return lines
    for sentence in blockers_words(alike_blockers(line.blockers), NAMES_SHOWN):
        lines += paragraph(sentence, width, 2, "- ")
    return lines


def _utilization(explanation: NodeExplanation, width: int) -> list[str]:
    parts = [
        f"{used.resource} {amount_text(used.resource, used.requested)} of {amount_text(used.resource, used.allocatable)}"
        f" = {permille_text(used.permille)}"
        for used in explanation.used
    ]
    permille = explanation.decision.utilization_permille
    share = "unknown" if permille is None else permille_text(permille)
    gpu = any(used.resource in GPU_RESOURCES for used in explanation.used)
    rule = "only the GPU counts" if gpu else "the larger counts"
    lines = paragraph(
        f"utilization: {share}, requests of {count(explanation.pods, 'pod')} over allocatable, {rule}: {', '.join(parts)}",
        width,
        0,
    )
    if explanation.ignored_pods:
        left_out = f"left out, with the room that they take: {', '.join(explanation.ignored_pods)}"
        lines += paragraph(f"{left_out} (scaleDown.daemonSetUtilization, scaleDown.mirrorPodUtilization)", width, 2, "- ")
    if explanation.threshold_percent is None:
        return lines
    return lines + paragraph(f"threshold: {explanation.threshold_percent}%, removable at or below it", width, 0)
