"""The answer to a question about a decision, as values."""

from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.groups import effective_value, group_findings
from reconciler.rendering.documents.explanation.nodes import node_findings
from reconciler.rendering.documents.explanation.pods import alike_running, pod_findings, pod_kinds
from reconciler.rendering.documents.explanation.subjects import (
    asked_group,
    chosen_name,
    chosen_node,
    chosen_pods,
    several_begin_so,
    value_names,
)
from reconciler.rendering.documents.explanation.values import ExplanationDocument, PodExplanation, ValueExplanation

_MOST_KINDS = 50
"""As values: every one of them says what each node says."""


def explained(case: Case, what: str, subject: str) -> ExplanationDocument:
    """The answer as values. Raises `UnknownSubjectError`."""
    plan = case.plan
    pod = node = group = value = None
    more: tuple[PodExplanation, ...] = ()
    running = 0
    if what == "pod":
        indices = chosen_pods(case, subject)
        kinds = pod_kinds(case, indices)
        if len(kinds.waiting) > _MOST_KINDS or (
            not kinds.waiting and len(kinds.running) > 1 and not alike_running(case, kinds.running)
        ):
            raise several_begin_so("pod", subject, [case.world.pods.key(index) for index in indices])
        pod = pod_findings(case, kinds.first or indices)
        more = tuple(pod_findings(case, kind) for kind in kinds.waiting[1:])
        running = len(kinds.running) if kinds.waiting else 0
    elif what == "node":
        node = node_findings(case, chosen_node(case, subject))
    elif what == "group":
        group = group_findings(case, asked_group(case, subject))
    else:
        name, _, path = chosen_name(what, subject, value_names(case)).rpartition("/")
        value = ValueExplanation(group=name, effective=effective_value(case.group(name), path))
    return ExplanationDocument(
        what=what, now=plan.now, cluster=plan.cluster, policy=plan.policy, pod=pod, node=node, group=group, value=value,
        more_pods=more, running_pods=running,
    )  # fmt: skip
