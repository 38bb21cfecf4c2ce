"""What a node adds to its line in the plan: what its utilization is made of, and what it is measured by."""

from reconciler.decisions.removal.ignored_pods import ignored_pods, requests_of
from reconciler.decisions.removal.replacements.standing import replacement_standing
from reconciler.decisions.removal.utilization import counted_resources, share_permille, threshold_percent
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.groups import effective_value
from reconciler.rendering.documents.explanation.values import NodeExplanation, Used


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
        replacement=replacement_standing(case.plan, case.memory, group, line),
    )
