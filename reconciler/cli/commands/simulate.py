"""`reconciler simulate`: demand of the past under one policy or two, in virtual time."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH

if TYPE_CHECKING:
    from reconciler.cli.inputs.trace_files import ReplayInputs
    from reconciler.plan.replay import Replay
    from reconciler.policy.documents import PolicySet


@click.command("simulate")
@click.option(
    "--trace", "trace_path", metavar="PATH", type=NAMED_PATH, required=True,
    help="Capacity curve (CSV), or a directory of snapshots taken one after the other.",
)  # fmt: skip
@click.option("--policy", "policy_path", metavar="PATH", type=NAMED_PATH, help="Policy file or directory [default: policies/].")
@click.option("--against", "against_path", metavar="PATH", type=NAMED_PATH, help="Another policy, to compare with.")
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
@click.option(
    "--cluster", "cluster_path", metavar="PATH", type=NAMED_PATH,
    help="Snapshot to begin with [default: the groups of the policies, without a node]. A curve comes on top of its pods.",
)  # fmt: skip
@click.option("--alone", is_flag=True, help="Take the cluster's own pods away first, those of DaemonSets excepted.")
@click.option("--until", metavar="DURATION", help="How much of the trace, such as 24h [default: all of it].")
@click.option(
    "--step", metavar="DURATION", default="5m", show_default=True,
    help="For a curve: take the largest value of each such interval. 0 takes each line.",
)  # fmt: skip
@click.option("--join-after", metavar="DURATION", help="From asking for a node to having it [default: as recorded, else 90s].")
@click.option("--work-budget", metavar="N", type=click.IntRange(min=1), help="Steps that one decision may take.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "markdown", "json", "html"]), default="text", show_default=True, help="Format."
)
@click.option("--wide", is_flag=True, help="Text: shorten nothing.")
@click.option("--stats", is_flag=True, help="Print one line of JSON on stderr: seconds by stage, peak memory, counts.")
def command(
    trace_path: Path,
    policy_path: Path | None,
    against_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    until: str | None,
    step: str,
    join_after: str | None,
    work_budget: int | None,
    output: str,
    *,
    alone: bool,
    wide: bool,
    stats: bool,
) -> None:
    """Replay demand under a policy: how long pods wait, how much the nodes cost. Nothing real is touched.

    The decisions are those of the loop. Cluster and clock are simulated. The figures of --policy and --against are shown side by
    side: availability first, then cost. A curve is lines of CSV: a header `time,cpu` (or pods, memory, nodes), then when and how
    much. A line `# pod: cpu=1 memory=2Gi` describes its pods. If no group could grow under one policy, the exit code is 1, after
    the figures. Then all groups are held, or no new node's size is known.

    \b
    Examples:
      reconciler simulate --trace examples/traces/pool-28.csv \\
        --policy examples/traces/packed
      reconciler simulate --trace examples/traces/pool-28.csv \\
        --policy examples/traces/packed --against examples/traces/spare
      reconciler simulate --trace captures/ --policy policies/ \\
        --against changed/ -o markdown
      reconciler simulate --trace curve.csv --cluster snapshot/ --alone \\
        --until 24h -o json
      reconciler simulate --trace curve.csv --against changed/ -o html \\
        > replay.html
    """
    from reconciler.cli.inputs.trace_files import joining, read_replay_inputs
    from reconciler.cli.outputs.replay_bar import replay_bar
    from reconciler.cli.outputs.stats import Stats
    from reconciler.cli.outputs.terminal import progress
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
    from reconciler.simulation.replays.replay import replay

    measured = Stats()
    with measured.stage("load"), progress("reading trace, policies and cluster"):
        inputs = read_replay_inputs(trace_path, cluster_path, step, until, alone=alone)
        sides = _sides(policy_path, against_path, name, inputs)
        inputs.check(sides)
        trace, join_seconds = joining(inputs.trace, join_after)
    with measured.stage("decide"), replay_bar() as bar:
        figures = replay(
            sides,
            trace,
            inputs.world,
            lead_seconds=inputs.lead_seconds,
            join_seconds=join_seconds,
            work_budget=DEFAULT_WORK_BUDGET if work_budget is None else work_budget,
            progress=bar,
        )
    with measured.stage("render"):
        click.echo(_rendered(figures, output, wide=wide).encode("utf-8", "replace"), nl=False)
    if stats:
        counts = {"turns": sum(side.decisions for side in figures.sides), "pods": sum(side.pods_placed for side in figures.sides)}
        click.echo(measured.line(**counts, steps=len(inputs.trace.steps)), err=True)
    _check_growth(figures)


def _check_growth(figures: "Replay") -> None:
    """Raises `InputError` where the figures of a policy say nothing about it."""
    from reconciler.cli.outputs.failure import InputError
    from reconciler.rendering.documents.replay import COULD_NOT_GROW

    stuck = [side.source for side in figures.sides if not side.could_grow]
    if stuck:
        raise InputError(f"{', '.join(stuck)}: {COULD_NOT_GROW}: take the holds away, or write spec.template")


def _sides(
    policy_path: Path | None, against_path: Path | None, name: str | None, inputs: "ReplayInputs"
) -> "list[tuple[str, PolicySet]]":
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES, read_policy
    from reconciler.cluster.world import identity_of

    now, cluster = inputs.begin_seconds, None if inputs.world is None else identity_of(inputs.world)
    first = (policy_path or DEFAULT_POLICIES).as_posix()
    sides = [(first, read_policy(policy_path, name, now, cluster))]
    if against_path is not None:
        sides.append((against_path.as_posix(), read_policy(against_path, name, now, cluster)))
    return sides


def _rendered(figures: "Replay", output: str, *, wide: bool) -> str:
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.documents.replay import replay_document, replay_values
    from reconciler.rendering.printers.json_text import json_text

    if output == "json":
        return json_text(replay_values(figures), None)
    if output == "html":
        from reconciler.rendering.printers.html.replay import replay_html

        return replay_html(figures)
    if output == "markdown":
        from reconciler.rendering.printers.markdown.document import document_markdown

        return document_markdown(replay_document(figures))
    from reconciler.rendering.printers.text.document import document_text

    return document_text(replay_document(figures), width=0 if wide else text_width(sys.stdout), colour=wants_colour(sys.stdout))
