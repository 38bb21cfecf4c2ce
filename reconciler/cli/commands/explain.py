"""`reconciler explain`: everything that led to one outcome."""

from pathlib import Path

import click

from reconciler.cli.inputs.chosen import chosen_options
from reconciler.cli.inputs.completing import complete_subject
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import input_options, live_options


@click.command("explain")
@click.argument("what", type=click.Choice(["pod", "node", "group", "value"]))
@click.argument("subject", metavar="NAME", shell_complete=complete_subject)
@input_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@click.option("--wide", is_flag=True, help="Do not break lines, tell everything one by one.")
@chosen_options
@click.option("--live", "live_url", metavar="URL", help="Ask the running loop at this address about its last plan.")
@click.option(
    "--token-file",
    metavar="FILE",
    type=NAMED_PATH,
    help="With --live: bearer token for that address. From its own machine, the loop needs none.",
)
@live_options
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
    live_url: str | None,
    token_file: Path | None,
    groups: tuple[str, ...],
    nodes: tuple[str, ...],
    pod_namespaces: tuple[str, ...],
    namespace: str | None,
    **connection: object,
) -> None:
    """Show everything that led to one outcome: a pod, a node, a group, or a value of a group.

    NAME may be the beginning of a name if it is unique. The beginning of several pod names is fine, too: pending pods are
    explained by kind, and running pods are counted. Name a pod with or without its namespace, and a value by group and field:
    general-a/scaleDown.unneededTime. `--group`, `--node` and `--pod-namespace` limit the search, and the groups and nodes in the
    answer.

    \b
    Examples:
      reconciler explain pod batch/giant-0 --context prod
      kubectl -n reconciler port-forward deploy/reconciler 8080 &
      reconciler explain group general-a --live http://localhost:8080
      reconciler explain pod batch/giant-0 --cluster snapshot/ --group 'gpu-*'
      reconciler explain node general-a-x7k2p --cluster snapshot/
      reconciler explain group general-a --policy policies/ --cluster snapshot/
      reconciler explain value general-a/scaleDown.unneededTime \\
        --cluster snapshot/
      reconciler explain node general-a-x7k2p --cluster snapshot/ -o json \\
        | jq .node.decision.blockers
    """
    import sys

    from reconciler.cli.inputs.chosen import check_chosen, chosen_of
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_inputs
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cli.outputs.terminal import text_width
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, full_decision
    from reconciler.decisions.work import Work
    from reconciler.rendering.documents.explanation.case import Case
    from reconciler.rendering.documents.explanation.document import explained
    from reconciler.rendering.documents.explanation.subjects import UnknownSubjectError
    from reconciler.rendering.printers.json_text import inert_json, json_text
    from reconciler.rendering.printers.text.explanation.answer import explained_lines
    from reconciler.rendering.words.plain import plain_lines

    if live_url is not None:
        from reconciler.cli.inputs.running_loop import ask

        if cluster_path is not None or any(connection.values()):
            raise InputError(
                "--live asks the running loop, which knows its cluster: leave --cluster, --context and their like out"
            )
        chosen_words = {"group": groups, "node": nodes, "namespace": pod_namespaces}
        answer = ask(live_url, f"/explain/{what}/{subject}", token_file, text=output == "text", query=chosen_words)
        click.echo(plain_lines(answer) if output == "text" else inert_json(answer), nl=False)
        return
    inputs = read_inputs(policy_path, name, cluster_path, now, connection_choice(connection), namespace)
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    decision = full_decision(inputs.world, inputs.policy, inputs.memory, inputs.now_seconds, Work(budget))
    plan = decision.plan
    chosen = chosen_of({"groups": groups, "nodes": nodes, "pod_namespaces": pod_namespaces})
    check_chosen(chosen, plan, inputs.world)
    # Of what was judged: without objects that judging fails on.
    case = Case.of(decision.world, inputs.policy, plan, inputs.now_seconds, decision.memory, chosen)
    try:
        if output == "json":
            click.echo(json_text(explained(case, what, subject)), nl=False)
        else:
            lines = explained_lines(case, what, subject, 0 if wide else text_width(sys.stdout))
            click.echo(plain_lines("\n".join(lines)))
    except UnknownSubjectError as error:
        raise InputError(str(error)) from None
