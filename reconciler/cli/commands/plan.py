"""`reconciler plan`: one decision, shown."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options.named_path import NAMED_PATH
from reconciler.cli.options.plan import input_options, live_options

if TYPE_CHECKING:
    from reconciler.cluster.world import World
    from reconciler.plan.plan import Plan


@click.command("plan")
@input_options
@click.option("--out", "out_path", metavar="FILE", type=NAMED_PATH, help="Also save the plan as JSON there.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "markdown", "json", "html"]), default="text", show_default=True, help="Format."
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when there are changes, 0 when there are none.")
@click.option("--no-settled", is_flag=True, help="Leave out the column of sizes at which the loop would come to rest; faster.")
@click.option("--wide", is_flag=True, help="Text: shorten nothing, list every name.")
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
    stats: bool,
    namespace: str | None,
    **connection: object,
) -> int:
    """Show what would be done, and why, for one policy and one cluster: a snapshot, or the live one of the current context.
    Nothing is written to any cluster.

    Two columns: what this decision does (desired), and where sizes come to rest with unchanged demand (settled).

    \b
    Examples:
      reconciler plan
      reconciler plan --policy policies/ --context prod
      reconciler plan --cluster snapshot/
      reconciler plan --policy policies/ --cluster snapshot.json.gz --now 2026-11-21T18:00:00Z
      reconciler plan --cluster snapshot/ -o markdown > comment.md
      reconciler plan --cluster snapshot/ -o html > plan.html
      reconciler plan --cluster snapshot/ -o json | jq '.groups[] | select(.held)'
      reconciler plan --cluster snapshot/ --out plan.json --detailed-exitcode
    """
    from reconciler.cli.inputs.plan_inputs import read_inputs
    from reconciler.cli.options.connections import connection_choice
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_OK
    from reconciler.cli.outputs.stats import Stats
    from reconciler.cli.outputs.terminal import progress
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide

    measured = Stats()
    with measured.stage("load"), progress("reading policy and cluster"):
        inputs = read_inputs(policy_path, name, cluster_path, now, connection_choice(connection), namespace)
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    with measured.stage("decide"), progress("deciding"):
        plan, memory = decide(inputs.world, inputs.policy, inputs.memory, inputs.now_seconds, budget)
    at_rest = None
    if not no_settled:
        from reconciler.simulation.settled import come_to_rest

        with measured.stage("settle"), progress("deciding on until nothing changes"):
            rest = come_to_rest(inputs.world, inputs.policy, memory, inputs.now_seconds, plan, budget)
            plan, at_rest = rest.plan, rest.world
    with measured.stage("render"):
        text = _page(plan, inputs.world, at_rest) if output == "html" else _rendered(plan, output, wide=wide)
        if out_path is not None:
            _save(plan, out_path)
    click.echo(text.encode() if output == "html" else text, nl=False)
    if stats:
        counts = {"nodes": len(inputs.world.nodes), "pods": len(inputs.world.pods), "groups": len(plan.groups)}
        click.echo(measured.line(**counts, actions=len(plan.actions), pendingPods=len(plan.pods)), err=True)
    return EXIT_CHANGES if detailed_exitcode and plan.changes else EXIT_OK


def _rendered(plan: "Plan", output: str, *, wide: bool) -> str:
    if output == "json":
        from reconciler.rendering.plan_json import plan_json

        return plan_json(plan)
    if output == "markdown":
        from reconciler.rendering.markdown.plan import plan_markdown

        return plan_markdown(plan)
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.text.plan import plan_text

    return plan_text(plan, colour=wants_colour(sys.stdout), wide=wide, width=text_width(sys.stdout))


def _page(plan: "Plan", now: "World", at_rest: "World | None") -> str:
    from reconciler.plan.picture import Pictures, picture
    from reconciler.rendering.html.plan import plan_html

    rest = None if at_rest is None else picture(at_rest, plan.groups, plan.nodes)
    return plan_html(plan, Pictures(now=picture(now, plan.groups, plan.nodes), rest=rest))


def _save(plan: "Plan", path: Path) -> None:
    from reconciler.cli.outputs.saved_document import save_document
    from reconciler.rendering.plan_json import plan_json

    save_document(plan_json(plan), path)
