"""`reconciler explain`: everything that led to one outcome."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.plan_options import input_options

if TYPE_CHECKING:
    from reconciler.cli.failure import InputError
    from reconciler.rendering.explanation.case import Case

_WIDTH = 100
_SHOWN = 10


@click.command("explain")
@click.argument("what", type=click.Choice(["pod", "node", "group", "value"]))
@click.argument("subject", metavar="NAME")
@input_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@click.option("--wide", is_flag=True, help="Do not break lines.")
def command(
    what: str,
    subject: str,
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    output: str,
    *,
    wide: bool,
) -> None:
    """Show everything that led to one outcome: a pod, a node, a group, or a value of a group.

    NAME may be the beginning of a name when only one begins so, or, for pods, when all that do are alike. A pod is named with
    its namespace or without; a value by group and field: general-a/scaleDown.unneededTime.

    \b
    Examples:
      reconciler explain pod batch/giant-0 --cluster snapshot/
      reconciler explain node general-a-x7k2p --cluster snapshot/
      reconciler explain group general-a --policy policies/ --cluster snapshot/
      reconciler explain value general-a/scaleDown.unneededTime --cluster snapshot/
      reconciler explain node general-a-x7k2p --cluster snapshot/ -o json | jq .node.decision.blockers
    """
    from reconciler.cli.plan_inputs import read_inputs
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
    from reconciler.decisions.memory import Memory
    from reconciler.rendering.explanation.case import Case

    inputs = read_inputs(policy_path, name, cluster_path, now)
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    plan, memory = decide(inputs.world, inputs.policy, Memory(), inputs.now_seconds, budget)
    case = Case.of(inputs.world, inputs.policy, plan, inputs.now_seconds, memory)
    if output == "json":
        click.echo(_document(case, what, subject), nl=False)
        return
    click.echo("\n".join(_explained(case, what, subject, 0 if wide else _WIDTH)))


def _explained(case: "Case", what: str, subject: str, width: int) -> list[str]:
    if what == "pod":
        from reconciler.rendering.explanation.pod import explain_pods

        return explain_pods(case, _pods(case, subject), width)
    if what == "node":
        from reconciler.rendering.explanation.node import explain_node

        return explain_node(case, _chosen(what, subject, [node.name for node in case.world.nodes]), width)
    if what == "group":
        from reconciler.rendering.explanation.group import explain_group

        return explain_group(case, _chosen(what, subject, [group.name for group in case.groups]), width)
    from reconciler.rendering.explanation.value import explain_value, value_names

    return explain_value(case, _chosen(what, subject, value_names(case)), width)


def _document(case: "Case", what: str, subject: str) -> str:
    from reconciler.rendering.explanation.document import ExplanationDocument, ValueExplanation, document_json
    from reconciler.rendering.explanation.group_findings import effective_value, group_findings
    from reconciler.rendering.explanation.node_findings import node_findings
    from reconciler.rendering.explanation.pod_findings import pod_findings
    from reconciler.rendering.explanation.value import value_names

    plan = case.plan
    pod = node = group = value = None
    if what == "pod":
        pod = pod_findings(case, _pods(case, subject))
    elif what == "node":
        node = node_findings(case, _chosen(what, subject, [node.name for node in case.world.nodes]))
    elif what == "group":
        group = group_findings(case, _chosen(what, subject, [group.name for group in case.groups]))
    else:
        name, _, path = _chosen(what, subject, value_names(case)).rpartition("/")
        value = ValueExplanation(group=name, effective=effective_value(case.group(name), path))
    return document_json(
        ExplanationDocument(
            what=what, now=plan.now, cluster=plan.cluster, policy=plan.policy, pod=pod, node=node, group=group, value=value
        )
    )


def _pods(case: "Case", subject: str) -> list[int]:
    """The pod that is meant; several when all that are meant are alike."""
    from reconciler.rendering.explanation.pod import alike

    pods = case.world.pods
    keys = [pods.key(index) for index in range(len(pods))]
    bare = "/" not in subject
    names = [key.partition("/")[2] for key in keys] if bare else keys
    found = [index for index, name in enumerate(names) if name == subject]
    found = found or [index for index, name in enumerate(names) if name.startswith(subject)]
    if len(found) > 1 and alike(case, found):
        return found
    if len(found) > 1:
        raise _several("pod", subject, [keys[index] for index in found])
    return found or [names.index(_chosen("pod", subject, names))]


def _chosen(what: str, subject: str, names: Sequence[str]) -> str:
    """The name that is meant: exactly, or as the only one that begins so."""
    import difflib

    from reconciler.cli.failure import InputError

    if subject in names:
        return subject
    starting = [name for name in names if name.startswith(subject)]
    if len(starting) == 1:
        return starting[0]
    if starting:
        raise _several(what, subject, starting)
    near = difflib.get_close_matches(subject, names, n=3)
    meant = f" Did you mean {' or '.join(near)}?" if near else f" There are {len(names)}: {', '.join(sorted(names)[:_SHOWN])}."
    raise InputError(f"no {what} {subject!r} in this cluster and policy.{meant if names else ' There is none at all.'}")


def _several(what: str, subject: str, names: Sequence[str]) -> "InputError":
    from reconciler.cli.failure import InputError

    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return InputError(
        f"{what} {subject}: several are meant, and not the same is to be said of them: {', '.join(names[:_SHOWN])}{more}"
    )
