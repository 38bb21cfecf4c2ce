"""What somebody asks about a decision: a kind of thing and a name, whole or the beginning of one."""

import difflib
from collections.abc import Sequence

from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.document import ExplanationDocument, ValueExplanation
from reconciler.rendering.explanation.group import effective_value, explain_group, group_findings
from reconciler.rendering.explanation.node import explain_node, node_findings
from reconciler.rendering.explanation.pod import alike, explain_pods, pod_findings
from reconciler.rendering.explanation.value import explain_value, value_names

KINDS = ("pod", "node", "group", "value")
_SHOWN, _NEAR = 10, 3
_ALIKE = 0.8


class UnknownSubjectError(Exception):
    """There is nothing of that name, or several; the message says which names there are."""


def explained_lines(case: Case, what: str, subject: str, width: int) -> list[str]:
    """The answer as lines of at most `width` characters (0: as long as they are). Raises `UnknownSubjectError`."""
    if what == "pod":
        return explain_pods(case, _pods(case, subject), width)
    if what == "node":
        return explain_node(case, _node(case, subject), width)
    if what == "group":
        return explain_group(case, _group(case, subject), width)
    return explain_value(case, _chosen(what, subject, value_names(case)), width)


def explained(case: Case, what: str, subject: str) -> ExplanationDocument:
    """The answer as values. Raises `UnknownSubjectError`."""
    plan = case.plan
    pod = node = group = value = None
    if what == "pod":
        pod = pod_findings(case, _pods(case, subject))
    elif what == "node":
        node = node_findings(case, _node(case, subject))
    elif what == "group":
        group = group_findings(case, _group(case, subject))
    else:
        name, _, path = _chosen(what, subject, value_names(case)).rpartition("/")
        value = ValueExplanation(group=name, effective=effective_value(case.group(name), path))
    return ExplanationDocument(
        what=what, now=plan.now, cluster=plan.cluster, policy=plan.policy, pod=pod, node=node, group=group, value=value
    )


def _node(case: Case, subject: str) -> str:
    return _chosen("node", subject, [case.world.nodes[index].name for index in case.asked_nodes()])


def _group(case: Case, subject: str) -> str:
    return _chosen("group", subject, [group.name for group in case.asked_groups()])


def _pods(case: Case, subject: str) -> list[int]:
    """The pod that is meant; several when all that are meant are alike."""
    pods = case.world.pods
    keys = {key: index for index in range(len(pods)) if case.chosen.about_pod(key := pods.key(index))}
    named = [(key if "/" in subject else key.partition("/")[2], index) for key, index in keys.items()]
    found = [index for name, index in named if name == subject]
    found = found or [index for name, index in named if name.startswith(subject)]
    if len(found) > 1 and alike(case, found):
        return found
    if len(found) > 1:
        raise _several("pod", subject, [pods.key(index) for index in found])
    if found:
        return found
    chosen = _chosen("pod", subject, [name for name, _ in named])
    return [next(index for name, index in named if name == chosen)]


def _chosen(what: str, subject: str, names: Sequence[str]) -> str:
    """The name that is meant: exactly, or as the only one that begins so."""
    if subject in names:
        return subject
    starting = [name for name in names if name.startswith(subject)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise _several(what, subject, starting)
    near = _near(subject, names)
    meant = f" Did you mean {' or '.join(near)}?" if near else f" There are {len(names)}: {_some(sorted(names))}."
    raise UnknownSubjectError(f"no {what} {subject!r} in this cluster and policy.{meant if names else ' There is none at all.'}")


def _near(subject: str, names: Sequence[str]) -> list[str]:
    """The names most like `subject`, else those whose beginning is: whoever types `batch/gaint` leaves the hash out."""
    whole = difflib.get_close_matches(subject, names, n=_NEAR)
    if whole:
        return whole
    beginning = {name[: len(subject)]: name for name in sorted(names, reverse=True)}
    return [beginning[found] for found in difflib.get_close_matches(subject, beginning, n=_NEAR, cutoff=_ALIKE)]


def _several(what: str, subject: str, names: Sequence[str]) -> UnknownSubjectError:
    if not subject:
        return UnknownSubjectError(f"name a {what}; there are {len(names)}: {_some(names)}")
    return UnknownSubjectError(f"{what} {subject}: several begin so, and their answers differ; name one: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
