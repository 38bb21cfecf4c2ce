"""`reconciler doctor`: what this installation is, and what is worth mending in a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.plan_options import input_options

if TYPE_CHECKING:
    from reconciler.decisions.finding import Finding


@click.command("doctor")
@input_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
def command(
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    output: str,
) -> None:
    """Show which build runs, and with --cluster what is worth mending there: nodes that differ, workloads without requests
    or disruption budget, groups laid out badly, replicas that a topology declares.

    Findings are advice: the exit code is 0.

    \b
    Examples:
      reconciler doctor
      reconciler doctor --policy policies/ --cluster snapshot/
    """
    import platform

    import msgspec
    import yaml

    from reconciler import __version__
    from reconciler.scheduling.kernels import active_build

    installation = {
        "reconciler": __version__,
        "python": platform.python_version(),
        "kernels": active_build(),
        "yaml": "libyaml" if hasattr(yaml, "CSafeLoader") else "pure Python",
    }
    found: tuple[Finding, ...] = ()
    if cluster_path is not None:
        from reconciler.cli.plan_inputs import read_inputs
        from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
        from reconciler.decisions.lints import findings
        from reconciler.decisions.memory import Memory
        from reconciler.decisions.view import View
        from reconciler.decisions.work import Work

        inputs = read_inputs(policy_path, name, cluster_path, now)
        work = Work(DEFAULT_WORK_BUDGET if work_budget is None else work_budget)
        found = findings(View.of(inputs.world, inputs.policy, Memory(), inputs.now_seconds, work))
    if output == "json":
        document = {"formatVersion": "1.0", "installation": installation, "findings": found}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    for key, value in installation.items():
        click.echo(f"{key:<11} {value}")
    if cluster_path is None:
        return
    from reconciler.rendering.text.paragraph import paragraph

    click.echo(f"\n{len(found)} findings" if found else "\nnothing to mend")
    for finding in found:
        click.echo(f"\n{finding.code}, {finding.object}")
        click.echo("\n".join((*paragraph(finding.message, 100, 2), *paragraph(f"advice: {finding.advice}", 100, 2))))
