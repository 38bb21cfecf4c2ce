"""`reconciler plan`: one decision, shown."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.chosen import chosen_options
from reconciler.cli.inputs.completing import complete
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import input_options, live_options
from reconciler.cli.inputs.verbose import verbose_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.cli.inputs.plan_inputs import PlanInputs
    from reconciler.cluster.world import World
    from reconciler.plan.narrowed import Chosen
    from reconciler.plan.plan import Plan
    from reconciler.plan.rollout import Rollout


@click.command("plan")
@input_options
@click.option("--out", "out_path", metavar="FILE", type=NAMED_PATH, help="Also save the plan as JSON there.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "markdown", "json", "html"]), default="text", show_default=True, help="Format."
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when there are changes, 0 when there are none.")
@click.option("--no-settled", is_flag=True, help="Leave out the column of sizes in steady state, which is faster.")
@click.option("--wide", is_flag=True, help="Text: shorten nothing, list every name.")
@click.option(
    "--rollout",
    "rollout_group",
    metavar="GROUP",
    shell_complete=complete("group"),
    help="Instead of the plan: what replacing all nodes of this group would take.",
)
@click.option("--what-if", "situation", metavar="NAME", help="The plan of another situation than now, such as half-of-pods-gone.")
@click.option(
    "--fleet", is_flag=True, help="Instead of the plan: one line for each cluster. --cluster DIR has a snapshot for each."
)
@chosen_options
@verbose_option
@click.option("--stats", is_flag=True, help="Print one line of JSON on stderr: seconds by stage, peak memory, counts.")
@live_options
def command(
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    out_path: Path | None,
    output: str,
    *,
    detailed_exitcode: bool,
    no_settled: bool,
    wide: bool,
    rollout_group: str | None,
    situation: str | None,
    fleet: bool,
    verbose: bool,
    stats: bool,
    groups: tuple[str, ...],
    nodes: tuple[str, ...],
    pod_namespaces: tuple[str, ...],
    namespace: str | None,
    **connection: object,
) -> int:
    """Show what would be done, and why, for one policy and one cluster: a snapshot, or the live one of the current context.
    Nothing is written to any cluster.

    There are two columns of sizes: after this decision (desired), and in the steady state with unchanged demand (settled).
    `--group`, `--node` and `--pod-namespace` show a part of the plan. `--out` always saves the whole.

    `--rollout GROUP` predicts the replacement of all nodes of one group. It shows how many leave at a time, the
    reasons that keep a node, and which budgets pace it. It also shows how long it takes, and its cost. GROUP may be the beginning
    of a name. The prediction is never carried out.

    `--what-if NAME` shows the plan of a situation that a preview compares both policies in. A wrong NAME prints all of them.

    `--fleet` shows the plans of many clusters in one table, and those that need somebody first.

    \b
    Examples:
      reconciler plan
      reconciler plan --policy policies/ --context prod
      reconciler plan --cluster snapshot/
      reconciler plan --policy policies/ --cluster snapshot.json.gz \\
        --now 2026-11-21T18:00:00Z
      reconciler plan --cluster snapshot/ --group 'gpu-*' --pod-namespace batch
      reconciler plan --cluster snapshot/ -o markdown > comment.md
      reconciler plan --cluster snapshot/ -o html > plan.html
      reconciler plan --cluster snapshot/ -o json | jq '.groups[] | select(.held)'
      reconciler plan --cluster snapshot/ --out plan.json --detailed-exitcode
      reconciler plan --cluster snapshot/ --rollout general-a
      reconciler plan --cluster snapshot/ --what-if demand-doubled
      reconciler plan --fleet --policy policies/ --cluster snapshots/
    """
    from reconciler.cli.inputs.chosen import check_chosen, chosen_of
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_inputs
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_OK
    from reconciler.cli.outputs.stats import Stats
    from reconciler.cli.outputs.terminal import progress
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, full_decision
    from reconciler.decisions.work import Work
    from reconciler.plan.narrowed import narrowed

    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    if fleet:
        from reconciler.cli.processes.fleet_plan import FleetPlanAsked, run_fleet_plan

        if (
            situation is not None
            or rollout_group is not None
            or out_path is not None
            or output == "html"
            or (*groups, *nodes, *pod_namespaces)
        ):
            raise click.UsageError(
                "--fleet shows one line for each cluster: leave --what-if, --rollout, --out, -o html and parts out"
            )
        asked = FleetPlanAsked(policy=policy_path, name=name, cluster=cluster_path, now=now, work_budget=budget)
        return run_fleet_plan(asked, output, detailed_exitcode=detailed_exitcode, wide=wide)
    measured = Stats()
    with measured.stage("load"), progress("reading policy and cluster"):
        inputs = read_inputs(policy_path, name, cluster_path, now, connection_choice(connection), namespace, verbose=verbose)
    if situation is not None:
        if out_path is not None:
            raise click.UsageError(
                "--what-if shows a plan of another situation than now, which nobody may apply: leave --out out"
            )
        inputs = _in_situation(inputs, situation)
    if rollout_group is not None:
        _refuse_with_rollout(out_path, (*groups, *nodes, *pod_namespaces))
        with measured.stage("decide"), progress("predicting"):
            rollout = _predicted(inputs, rollout_group, budget)
        with measured.stage("render"):
            text = _rollout_text(rollout, output, wide=wide)
        click.echo(text.encode() if output == "html" else text, nl=False)
        if stats:
            click.echo(measured.line(nodes=len(inputs.world.nodes), pods=len(inputs.world.pods)), err=True)
        return EXIT_CHANGES if detailed_exitcode and rollout.waves else EXIT_OK
    with measured.stage("decide"), progress("deciding"):
        decision = full_decision(inputs.world, inputs.policy, inputs.memory, inputs.now_seconds, Work(budget))
        plan = decision.plan
    chosen = chosen_of({"groups": groups, "nodes": nodes, "pod_namespaces": pod_namespaces})
    check_chosen(chosen, plan, inputs.world)
    at_rest = None
    if not no_settled:
        from reconciler.simulation.settled import come_to_rest

        with measured.stage("settle"), progress("deciding on until nothing changes"):
            rest = come_to_rest(inputs.world, inputs.policy, decision.memory, inputs.now_seconds, plan, budget, decision)
            plan, at_rest = rest.plan, rest.world
    with measured.stage("render"):
        shown = narrowed(plan, chosen)
        text = _page(shown, inputs.world, at_rest, chosen) if output == "html" else _rendered(shown, output, wide=wide)
        if out_path is not None:
            _save(plan, inputs.policy_files, out_path)
    click.echo(text.encode() if output == "html" else text, nl=False)
    if stats:
        counts = {"nodes": len(inputs.world.nodes), "pods": len(inputs.world.pods), "groups": len(plan.groups)}
        click.echo(measured.line(**counts, actions=len(plan.actions), pendingPods=len(plan.pods)), err=True)
    return EXIT_CHANGES if detailed_exitcode and plan.changes else EXIT_OK


def _rendered(plan: "Plan", output: str, *, wide: bool) -> str:
    if output == "json":
        from reconciler.rendering.printers.json_text import json_text

        return json_text(plan)
    if output == "markdown":
        from reconciler.rendering.printers.markdown.plan import plan_markdown

        return plan_markdown(plan)
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.printers.text.plan import plan_text

    return plan_text(plan, colour=wants_colour(sys.stdout), wide=wide, width=text_width(sys.stdout))


def _page(plan: "Plan", now: "World", at_rest: "World | None", chosen: "Chosen") -> str:
    from reconciler.plan.picture import Picture, Pictures, picture
    from reconciler.rendering.printers.html.plan import plan_html

    def drawn(world: "World") -> Picture:
        complete = picture(world, plan.groups, plan.nodes)
        nodes = tuple(node for node in complete.nodes if chosen.about_group(node.group) and chosen.about_node(node.node))
        return Picture(nodes=nodes, waiting=complete.waiting)

    return plan_html(plan, Pictures(now=drawn(now), rest=None if at_rest is None else drawn(at_rest)))


def _save(plan: "Plan", policy_files: "Mapping[str, bytes]", path: Path) -> None:
    from reconciler.cli.outputs.saved_files import save_document
    from reconciler.plan.saved import with_files
    from reconciler.rendering.printers.json_text import json_text

    save_document(json_text(with_files(plan, policy_files) if policy_files else plan), path)


def _in_situation(inputs: "PlanInputs", name: str) -> "PlanInputs":
    """The same in the situation of that name. Raises `InputError` with the names that there are."""
    import msgspec

    from reconciler.cli.outputs.failure import InputError
    from reconciler.simulation.what_if.situation import in_situation
    from reconciler.simulation.what_if.standard import standard_situations

    situations = {one.name: one for one in standard_situations(inputs.world, (inputs.policy,), inputs.now_seconds)}
    if (found := situations.get(name)) is None:
        raise InputError(f"--what-if {name}: the situations of this cluster are {', '.join(situations) or 'none'}")
    return msgspec.structs.replace(inputs, world=in_situation(inputs.world, found), now_seconds=found.at_seconds)


def _refuse_with_rollout(out_path: Path | None, parts: tuple[str, ...]) -> None:
    """Raises `InputError` for options that are about a plan, which a rollout has none of."""
    from reconciler.cli.outputs.failure import InputError

    if out_path is not None:
        raise InputError("--rollout makes no plan that --out could save. Write the prediction with -o json > FILE")
    if parts:
        raise InputError("--rollout is about one group: leave --group, --node and --pod-namespace out")


def _predicted(inputs: "PlanInputs", name: str, budget: int) -> "Rollout":
    """The rollout of the group of that name, or of the only one that begins so. Raises `InputError`."""
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cluster.defects import judged
    from reconciler.decisions.removal.rollouts.rollout import predict_rollout
    from reconciler.decisions.view import View
    from reconciler.decisions.work import Work
    from reconciler.rendering.documents.explanation.subjects import UnknownSubjectError, chosen_group

    def predicted(world: "World") -> "Rollout | UnknownSubjectError":
        view = View.of(world, inputs.policy, inputs.memory, inputs.now_seconds, Work(budget))
        try:
            return predict_rollout(view, chosen_group(name, [group.name for group in view.groups]))
        except UnknownSubjectError as error:
            return error

    rollout = judged(inputs.world, predicted)
    if isinstance(rollout, UnknownSubjectError):
        raise InputError(str(rollout))
    return rollout


def _rollout_text(rollout: "Rollout", output: str, *, wide: bool) -> str:
    if output == "json":
        from reconciler.rendering.printers.json_text import json_text

        return json_text(rollout)
    if output == "html":
        from reconciler.rendering.printers.html.rollout import rollout_html

        return rollout_html(rollout)
    from reconciler.rendering.documents.rollout import rollout_document
    from reconciler.rendering.words.fold import EVERYTHING, Fold

    document = rollout_document(rollout, EVERYTHING if wide else Fold())
    if output == "markdown":
        from reconciler.rendering.printers.markdown.document import document_markdown

        return document_markdown(document)
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.printers.text.document import document_text

    return document_text(document, width=0 if wide else text_width(sys.stdout), colour=wants_colour(sys.stdout))
