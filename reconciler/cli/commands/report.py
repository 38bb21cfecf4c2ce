"""`reconciler report`: what the loop of a policy did in the last hours or days."""

from typing import TYPE_CHECKING, TextIO

import click

from reconciler.cli.inputs.plan import live_options

if TYPE_CHECKING:
    from reconciler.rendering.documents.report import ReportDocument


@click.command("report")
@click.option("--since", metavar="DURATION", default="24h", show_default=True, help="How far to look back, at most 168h.")
@click.option("--name", metavar="NAME", help="The policy, where loops of several keep state there.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "markdown", "json", "slack", "teams"]),
    default="text",
    show_default=True,
    help="Format. With slack and teams, the body of a request to a webhook of theirs.",
)
@live_options
def command(since: str, name: str | None, output: str, namespace: str | None, **connection: object) -> int:
    """Show the work of the loop: cost, nodes, waiting pods and holds, each next to the same time before. Show what happened and
    what kept underused nodes. The leader records it every ten minutes in its state ConfigMap, for 15 days. So it works with the
    loop down.

    \b
    Examples:
      reconciler report
      reconciler report --since 168h -o markdown > week.md
      reconciler report -o slack | curl --fail --json @- "$SLACK_WEBHOOK"
    """
    import sys
    import time

    from reconciler.cli.inputs.connections import connection_choice, own_namespace
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.policy_state import policy_with_state
    from reconciler.cli.outputs.failure import InputError
    from reconciler.control.live.loop_report import loop_report
    from reconciler.kube.leading.state import StateUnavailableError
    from reconciler.values.duration import DurationError, parse_duration

    try:
        seconds = parse_duration(since)
    except DurationError as error:
        raise InputError(f"--since {since}: {error}") from None
    if not 3600 <= seconds <= 168 * 3600:
        raise InputError(f"--since {since}: write a duration from 1h to 168h")
    live = LiveInputs(connection_choice(connection), or_snapshot=False)
    where = own_namespace(namespace)
    policy = policy_with_state(live.connections.management, where, name)
    try:
        document = loop_report(live.connections.management, where, policy, int(time.time()), seconds)
    except StateUnavailableError as error:
        raise InputError(str(error)) from None
    click.echo(_printed(document, output, sys.stdout), nl=False)
    return 0


def _printed(document: "ReportDocument", output: str, stream: TextIO) -> str:
    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.documents.report import report_tree
    from reconciler.rendering.printers.chat import slack_body, teams_body
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.markdown.document import document_markdown
    from reconciler.rendering.printers.text.document import document_text

    tree = report_tree(document)
    if output == "text":
        return document_text(tree, width=text_width(stream), colour=wants_colour(stream))
    if output == "markdown":
        return document_markdown(tree)
    bodies = {"slack": slack_body, "teams": teams_body}
    return json_text(bodies[output](tree) if output in bodies else document)
