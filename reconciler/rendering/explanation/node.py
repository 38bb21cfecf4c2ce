"""How a node stands, and everything that keeps it."""

from reconciler.cluster.resources import Resources
from reconciler.decisions.reasons.amounts import amount_text, permille_text
from reconciler.decisions.utilization import GPU_RESOURCES, has_gpu
from reconciler.plan.plan import NodeLine
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.wording import action_words, count, state_words


def explain_node(case: Case, name: str, width: int) -> list[str]:
    """Lines about one node of the World."""
    line, index = case.node_line(name), case.node_index(name)
    where = f"group {line.group}" if line.group else "no group"
    lines = paragraph(f"node {name}: {state_words(line.state)}, {where}", width, 0)
    lines += _utilization(case, line, index, width)
    leaving = [action for action in case.plan.actions if name in action.nodes]
    for action in leaving:
        lines += paragraph(f"this plan: {action_words(action)}", width, 0)
        lines += paragraph(f"{action.reason.message} [{action.reason.code}]", width, 2, "- ")
    if line.blockers:
        keeps = "it may go, but not now" if line.removable else "it stays"
        lines += paragraph(f"{keeps}, for {count(len(line.blockers), 'reason')}:", width, 0)
        for blocker in line.blockers:
            about = f"pod {blocker.pod}: " if blocker.pod else ""
            lines += paragraph(f"{about}{blocker.message} [{blocker.code}]", width, 2, "- ")
    elif not leaving:
        lines += paragraph("nothing keeps it", width, 0)
    if line.unneeded_since:
        lines += paragraph(f"unneeded since {line.unneeded_since}", width, 0)
    if line.removable_at:
        lines += paragraph(f"may go at {line.removable_at}", width, 0)
    return lines


def _utilization(case: Case, line: NodeLine, index: int, width: int) -> list[str]:
    shape = case.world.node_shapes[case.world.nodes[index].shape]
    requested, pods = Resources(), 0
    for pod in case.counted_pods():
        if case.world.pods.node[pod] == index:
            requested = requested.plus(case.world.pod_shapes[case.world.pods.shape[pod]].requests)
            pods += 1
    gpu = has_gpu(shape)
    names = (
        [name for name in GPU_RESOURCES if shape.capacity.get(name) or shape.allocatable.get(name)][:1]
        if gpu
        else ["cpu", "memory"]
    )
    parts = [
        f"{name} {amount_text(name, requested.get(name))} of {amount_text(name, shape.allocatable.get(name))}"
        f" = {permille_text(-(-requested.get(name) * 1000 // shape.allocatable.get(name)))}"
        for name in names
        if shape.allocatable.get(name)
    ]
    used = "unknown" if line.utilization_permille is None else permille_text(line.utilization_permille)
    rule = "only the GPU counts" if gpu else "the larger counts"
    lines = paragraph(
        f"utilization: {used}, requests of {count(pods, 'pod')} over allocatable, {rule}: {', '.join(parts)}", width, 0
    )
    if line.group is None:
        return lines
    group = next(group for group in case.groups if group.name == line.group)
    threshold = group.gpu_utilization_threshold_percent if gpu else group.utilization_threshold_percent
    return lines + paragraph(f"threshold: {threshold}%, removable at or below it", width, 0)
