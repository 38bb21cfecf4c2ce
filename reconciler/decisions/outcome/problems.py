"""What a reader of a plan must know beside its actions."""

from collections.abc import Iterator, Mapping

from reconciler.decisions.draft import Draft
from reconciler.decisions.groups.accelerators import accelerator_label
from reconciler.decisions.memory import Memory
from reconciler.decisions.outcome.without_targets import without_targets
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.decisions.work import Shares
from reconciler.plan.plan import PlanProblem
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.values.plural import count_text


def plan_problems(
    draft: Draft, halted: tuple[str, ...], memory: Memory, refused: tuple[RefusedGroup, ...]
) -> tuple[PlanProblem, ...]:
    """Sorted; empty when all is well."""
    found = [PlanProblem(code="RemovalsHalted", message=sentence) for sentence in halted]
    found.extend(
        PlanProblem(code=problem.code, object=problem.object, message=problem.message) for problem in draft.world.problems
    )
    for group in draft.groups:
        facts = group.group.facts
        if facts is None:
            continue
        found.extend(PlanProblem(code="TargetProblem", object=str(facts.ref), message=text) for text in facts.problems)
    found.extend(
        PlanProblem(code="NodeClaimedTwice", object=f"Node {node}", message=why) for node, why in draft.members.conflicts
    )
    found.extend(PlanProblem(code=entry.code, object=entry.title, message=entry.message) for entry in refused)
    found.extend(_unknown_accelerators(draft))
    found.extend(without_targets(draft.world, draft.policy, [group.group for group in draft.groups]))
    if memory.known_groups and not draft.groups:
        message = f"the policy has no groups any more, where it had {len(memory.known_groups)}: nothing is released"
        found.append(PlanProblem(code="AllGroupsGone", message=message))
    if draft.work.exhausted:
        message = (
            f"the work budget of {draft.work.budget} steps ran out{_most(draft.shares.spent)}; what was not examined says so"
        )
        found.append(PlanProblem(code="WorkBudgetExhausted", message=message))
    found.extend(
        PlanProblem(code="NamespaceDelayed", object=f"Namespace {namespace}", message=_delayed(draft.shares, namespace))
        for namespace in draft.shares.over | draft.shares.delayed.keys()
    )
    return tuple(sorted(set(found)))


def _most(spent: Mapping[str, int]) -> str:
    """Whose pods took most of the steps."""
    if not spent:
        return ""
    steps, namespace = max((steps, namespace) for namespace, steps in spent.items())
    return f", {steps} of them for pods of namespace {namespace}"


def _delayed(shares: Shares, namespace: str) -> str:
    pods = shares.delayed.get(namespace, 0)
    waiting = f"{count_text(pods, 'pod')} of it were" if pods else "nodes that its pods run on were"
    return (
        f"its pods took {shares.spent.get(namespace, 0)} steps, more than its share of the work of a plan ({shares.each}, and "
        f"what nobody else is kept): {waiting} not examined, those of other namespaces were"
    )


def _unknown_accelerators(draft: Draft) -> Iterator[PlanProblem]:
    """Nodes that nobody manages, with a label that names an accelerator and none to offer: they count as nodes without one.

    Source: kubernetes/autoscaler#10301, where one such node ended every scale-up with an error.
    """
    for index, node in enumerate(draft.world.nodes):
        if draft.members.group_of[index] >= 0:
            continue
        shape = draft.world.node_shapes[node.shape]
        label = accelerator_label(shape)
        if label is not None and not has_gpu(shape):
            message = (
                f"label {label[0]}={label[1]} names an accelerator, it offers none and no group manages it: it counts without"
            )
            yield PlanProblem(code="AcceleratorUnknown", object=f"Node {node.name}", message=message)
