"""A preview as sections of marked sentences, in the order in which a reviewer reads: effects first, the policy itself last."""

from reconciler.plan.comparison import Pair
from reconciler.plan.plan import PlanProblem
from reconciler.plan.preview import Preview
from reconciler.rendering.change_figures import joined_nodes
from reconciler.rendering.fold import Fold
from reconciler.rendering.group_differences import action_differences, group_differences
from reconciler.rendering.marked_lines import FEWER, MORE, OTHERWISE, Difference, Meaning, Section, gravest_first
from reconciler.rendering.node_differences import node_differences
from reconciler.rendering.pod_differences import pod_differences
from reconciler.rendering.policy_differences import policy_differences
from reconciler.rendering.size_words import HEADING, size_sentences

GROUPS, ACTIONS, PODS, NODES, PROBLEMS, POLICY = "Groups", "Actions", "Pods", "Nodes", "Problems", "Policy"


def preview_sections(preview: Preview, fold: Fold) -> tuple[Section, ...]:
    """Sections that are not empty, each with the number of what it names. `fold` says how much is told one by one."""
    found = preview.comparison
    if found is None:
        return ()
    before, after, plan = preview.impact_before, preview.impact_after, preview.plan
    pods = pod_differences(before, after, found.pods, fold)
    joined = joined_nodes(before, found, 0), joined_nodes(after, found, 1)
    nodes = node_differences(before, after, joined, found.nodes, plan.nodes, plan.groups, fold)
    sizes = tuple(Difference(mark, sentence, Meaning.HELD) for mark, sentence in size_sentences(preview.sizes))
    sections = (
        Section(GROUPS, len(found.groups), group_differences(found.groups, found.actions, fold), "group"),
        Section(HEADING, len(preview.sizes), sizes, "declared size"),
        Section(ACTIONS, len(found.actions), action_differences(found.actions, fold), "action"),
        Section(PODS, *pods),
        Section(NODES, *nodes),
        Section(PROBLEMS, len(found.problems), tuple(gravest_first([_problem(pair) for pair in found.problems])), "problem"),
        Section(POLICY, len(preview.changes), policy_differences(preview.changes, preview.loosened, fold), "value"),
    )
    return tuple(section for section in sections if section.differences)


def _problem(pair: Pair[PlanProblem]) -> Difference:
    problem = pair.either
    about = f"{problem.object}: " if problem.object else ""
    told = f"{problem.code}: {about}{problem.message}"
    if pair.after is None:
        return Difference(FEWER, f"no longer: {told}")
    return Difference(MORE if pair.before is None else OTHERWISE, told, Meaning.DANGER)
