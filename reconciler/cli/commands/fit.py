"""`reconciler fit`: each pending pod alone against the cluster as it stands."""

import sys
from pathlib import Path

import click

from reconciler.cli.options.connection import connection_options
from reconciler.cli.options.named_path import NAMED_PATH


@click.command("fit")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Snapshot file or directory (what `kubectl get … -o json` prints, or `reconciler snapshot` writes) [default: live].",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@connection_options
def command(cluster_path: Path | None, output: str, **connection: object) -> int:
    """For each pending pod and node, on its own: does it fit, and every scheduler plugin that says no.

    Pods without a node that are neither terminating nor finished, those held back by scheduling gates included. Verdicts
    are those of the filter plugins of kube-scheduler 1.36 in its default configuration.

    \b
    Examples:
      reconciler fit --context prod
      reconciler fit --cluster snapshot/
      reconciler fit --cluster snapshot/ -o json | jq '.pods[] | select(all(.nodes[]; .fits | not)).pod'
    """
    from reconciler.cli.inputs.plan_inputs import read_cluster
    from reconciler.cli.options.connections import connection_choice
    from reconciler.cli.outputs.failure import EXIT_OK
    from reconciler.cli.outputs.terminal import progress
    from reconciler.rendering.fit import fit_json, fit_text
    from reconciler.scheduling.fit import fit

    with progress("reading cluster"):
        world = read_cluster(cluster_path, connection_choice(connection))
    if output == "json":
        stream = sys.stdout.buffer
        for piece in fit_json(fit(world, messages=False)):
            stream.write(piece)
        stream.flush()
    else:
        for line in fit_text(fit(world)):
            click.echo(line)
    return EXIT_OK
