"""How a node stands, and everything that keeps it."""

from reconciler.decisions.reasons.amounts import amount_text, permille_text
from reconciler.decisions.removal.utilization import (
    GPU_RESOURCES,
    counted_resources,
    ignored_pods,
    requests_of,
    share_permille,
    threshold_percent,
)
from reconciler.plan.plan import NodeLine
from reconciler.rendering.alike import alike_blockers
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.document import NodeExplanation, Used
from reconciler.rendering.explanation.group import effective_value
from reconciler.rendering.fold import NAMES_SHOWN
from reconciler.rendering.text.layout import paragraph
from reconciler.rendering.wording import action_words, blockers_words, count, state_words

# What there is to say about a node besides its line in the plan: what its utilization is made of, and what it is measured by.


def node_findings(case: Case, name: str) -> NodeExplanation:
    """Everything about a node of the World. A GPU alone counts where there is one, else the larger of cpu and memory."""
    line, index = case.node_line(name), case.node_index(name)
    shape = case.world.node_shapes[case.world.nodes[index].shape]
    pods = [pod for pod in case.counted_pods() if case.world.pods.node[pod] == index]
    group = case.group(line.group) if line.group is not None else None
    ignored = ignored_pods(case.world, group, pods, case.policy.policy.pods.expendable_below_priority)
    requested, left_out = requests_of(case.world, pods), requests_of(case.world, ignored)
    return NodeExplanation(
        decision=line,
        used=tuple(
            Used(
                resource=resource,
                requested=requested.get(resource) - left_out.get(resource),
                allocatable=max(0, offered - left_out.get(resource)),
                permille=share_permille(requested.get(resource), offered, left_out.get(resource)) or 0,
            )
            for resource in counted_resources(shape)
            if (offered := shape.allocatable.get(resource))
        ),
        pods=len(pods) - len(ignored),
        ignored_pods=tuple(sorted(case.world.pods.key(pod) for pod in ignored)),
        threshold_percent=None if group is None else threshold_percent(group, shape),
        unneeded_time=None if group is None else effective_value(group, "scaleDown.unneededTime"),
        actions=tuple(action for action in case.plan.actions if name in action.nodes),
    )


_FEW_BLOCKERS = 6


def explain_node(case: Case, name: str, width: int) -> list[str]:
    """Lines about one node of the World."""
    found = node_findings(case, name)
    line = found.decision
    where = f"group {line.group}" if line.group else "no group"
    lines = paragraph(f"node {name}: {state_words(line.state)}, {where}", width, 0)
    lines += _utilization(found, width)
    for action in found.actions:
        lines += paragraph(f"this plan: {action_words(action)}", width, 0)
        lines += paragraph(f"{action.reason.message} [{action.reason.code}]", width, 2, "- ")
    if line.blockers:
        keeps = "it may go, but not now" if line.removable else "it stays"
        lines += paragraph(f"{keeps}, for {count(len(line.blockers), 'reason')}:", width, 0)
        lines += _blockers(line, width)
    elif not found.actions:
        lines += paragraph("nothing keeps it", width, 0)
    if line.unneeded_since:
        lines += paragraph(f"unneeded since {line.unneeded_since}", width, 0)
    if line.removable_at:
        after = found.unneeded_time
        told = f", {after.value} after it was first unneeded ({after.chain[0].source})" if after and line.unneeded_since else ""
        lines += paragraph(f"may go at {line.removable_at}{told}", width, 0)
    return lines


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


def _utilization(found: NodeExplanation, width: int) -> list[str]:
    parts = [
        f"{used.resource} {amount_text(used.resource, used.requested)} of {amount_text(used.resource, used.allocatable)}"
        f" = {permille_text(used.permille)}"
        for used in found.used
    ]
    permille = found.decision.utilization_permille
    told = "unknown" if permille is None else permille_text(permille)
    gpu = any(used.resource in GPU_RESOURCES for used in found.used)
    rule = "only the GPU counts" if gpu else "the larger counts"
    lines = paragraph(
        f"utilization: {told}, requests of {count(found.pods, 'pod')} over allocatable, {rule}: {', '.join(parts)}", width, 0
    )
    if found.ignored_pods:
        told = f"left out, with the room that they take: {', '.join(found.ignored_pods)}"
        lines += paragraph(f"{told} (scaleDown.daemonSetUtilization, scaleDown.mirrorPodUtilization)", width, 2, "- ")
    if found.threshold_percent is None:
        return lines
    return lines + paragraph(f"threshold: {found.threshold_percent}%, removable at or below it", width, 0)
