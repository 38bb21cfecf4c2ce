"""`reconciler fit`: each pending pod alone against the cluster as it stands."""

import sys
from pathlib import Path

import click

from reconciler.cli.inputs.completing import complete
from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH


@click.command("fit")
@click.argument("pods", metavar="[POD]...", nargs=-1, shell_complete=complete("pod", pending=True))
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Snapshot file or directory (what `kubectl get … -o json` prints, or `reconciler snapshot` writes) [default: live].",
)
@click.option(
    "--namespace",
    "--pod-namespace",
    "namespaces",
    metavar="NAME",
    multiple=True,
    shell_complete=complete("namespace"),
    help="Only pods of this namespace. Repeatable.",
)
@click.option(
    "--group",
    "groups",
    metavar="NAME",
    multiple=True,
    shell_complete=complete("group"),
    help="Only results for nodes of the target of this name. Repeatable.",
)
@click.option(
    "--node",
    "nodes",
    metavar="NAME",
    multiple=True,
    shell_complete=complete("node"),
    help="Only results for this node. Repeatable.",
)
@click.option("--wide", is_flag=True, help="Text: every pod by itself, every node by name.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@connection_options
def command(
    pods: tuple[str, ...],
    cluster_path: Path | None,
    namespaces: tuple[str, ...],
    groups: tuple[str, ...],
    nodes: tuple[str, ...],
    output: str,
    *,
    wide: bool,
    **connection: object,
) -> int:
    """For each pending pod and node, on its own: does it fit, and every scheduler plugin that says no.

    The pods are those without a node that are neither terminating nor finished, including those that scheduling gates hold back.
    Verdicts are those of the filter plugins of kube-scheduler 1.36 or 1.37 in its default configuration. POD, `--namespace`,
    `--group` and `--node` may contain `*` and `?`. Name a pod with or without its namespace. The beginning of a name is enough,
    as in `explain`. The exit code is 1 if no pending pod matches.

    \b
    Examples:
      reconciler fit --context prod
      reconciler fit --cluster snapshot/
      reconciler fit --cluster snapshot/ batch/giant
      reconciler fit --cluster snapshot/ 'batch/giant-*' --node 'gpu-*'
      reconciler fit --cluster snapshot/ -o json \\
        | jq '.pods[] | select(all(.nodes[]; .fits | not)).pod'
    """
    from itertools import chain

    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_cluster
    from reconciler.cli.outputs.failure import EXIT_OK, InputError
    from reconciler.cli.outputs.terminal import progress, text_width
    from reconciler.rendering.printers.json_text import inert_json
    from reconciler.rendering.printers.text.fit import fit_json, fit_text
    from reconciler.rendering.words.fold import EVERYTHING, Fold
    from reconciler.scheduling.fit import Asked, begun, fit, targets_of_nodes

    with progress("reading cluster"):
        world = read_cluster(cluster_path, connection_choice(connection))
    asked = begun(world, Asked(pods=pods, namespaces=namespaces, nodes=nodes, groups=groups))
    targets = targets_of_nodes(world)
    if (nodes or groups) and not any(asked.about_node(node.name, targets.get(node.name, "")) for node in world.nodes):
        of = f" of {' or '.join(groups)}" if groups else ""
        raise InputError(f"no node{of} of the cluster is called {' or '.join(nodes)}" if nodes else f"there is no node{of}")
    results = fit(world, messages=output != "json", asked=asked)
    first = next(results, None)
    if first is None and (pods or namespaces):
        raise InputError(_nobody(pods, namespaces))
    fits = results if first is None else chain((first,), results)
    if output == "json":
        stream = sys.stdout.buffer
        for piece in fit_json(fits):
            stream.write(inert_json(piece.decode()).encode())
        stream.flush()
    else:
        for line in fit_text(fits, EVERYTHING if wide else Fold(), 0 if wide else text_width(sys.stdout)):
            click.echo(line)
    return EXIT_OK


def _nobody(pods: tuple[str, ...], namespaces: tuple[str, ...]) -> str:
    """Why nothing is answered, and what to ask instead."""
    named = f" begins with {' or '.join(pods)}" if pods else ""
    where = f" in namespace {' or '.join(namespaces)}" if namespaces else ""
    is_pending = "no pending pod" if named else "no pod is pending"
    return f"{is_pending}{named}{where}. For a pod that has a node, use `reconciler explain pod NAME`"
