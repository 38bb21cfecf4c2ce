"""`reconciler drain-report`: node x threshold, safe to remove or not, and what keeps the rest."""

from pathlib import Path

import click

from reconciler.cli.inputs.plan import input_options, live_options


@click.command("drain-report")
@input_options
@click.option("--thresholds", default="30,50,70,90", show_default=True, metavar="PERCENT,…", help="Utilization thresholds.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@click.option("--wide", is_flag=True, help="Do not break lines.")
@live_options
def command(
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    thresholds: str,
    output: str,
    *,
    wide: bool,
    namespace: str | None,
    **connection: object,
) -> None:
    """Show which nodes could be drained, at which utilization threshold, and everything that keeps the others.

    Each node is judged on its own against the cluster as it stands: rules for pods, disruption budgets, and whether every pod
    has another place. Timers, budgets and group sizes do not count. Needs no right to write anything.

    \b
    Examples:
      reconciler drain-report --context prod
      reconciler drain-report --cluster snapshot/
      reconciler drain-report --cluster snapshot/ --thresholds 40,60 -o json
    """
    import sys

    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_inputs
    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
    from reconciler.decisions.removal.drains.drain_report import drain_report
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.drain_report import drain_report_text

    inputs = read_inputs(policy_path, name, cluster_path, now, connection_choice(connection), namespace)
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    report = drain_report(inputs.world, inputs.policy, inputs.now_seconds, _percents(thresholds), budget)
    if output == "json":
        click.echo(json_text(report), nl=False)
    else:
        text = drain_report_text(report, width=0 if wide else text_width(sys.stdout), colour=wants_colour(sys.stdout))
        click.echo(text, nl=False)


def _percents(text: str) -> tuple[int, ...]:
    from reconciler.cli.outputs.failure import InputError
    from reconciler.values.whole_number import whole_number

    percents = {whole_number(part.strip().removesuffix("%")) for part in text.split(",")}
    known = sorted(percent for percent in percents if percent is not None and percent <= 100)
    if len(known) < len(percents):
        raise InputError(f"--thresholds {text}: write percentages from 0 to 100 with commas between, such as 30,50,70")
    return tuple(known)
