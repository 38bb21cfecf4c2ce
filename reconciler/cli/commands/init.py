"""`reconciler init`: a first policy from what is there."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.outputs.telling import tell
from reconciler.values.plural import count_text

if TYPE_CHECKING:
    from reconciler.cli.inputs.connections import ConnectionChoice


@click.command("init")
@click.option("--out", "out", metavar="DIR", type=NAMED_PATH, default=Path("policies"), show_default=True, help="Directory.")
@click.option("--force", is_flag=True, help="Overwrite the files of the same names there.")
@click.option("--name", metavar="NAME", help="Name of the policy [default: that of the cluster].")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Snapshot instead of a live cluster.",
)
@connection_options
def command(out: Path, *, force: bool, name: str | None, cluster_path: Path | None, **connection: object) -> None:
    """Write a first policy in mode Observe. It has a NodeGroup for every MachineDeployment, MachineSet and MachinePool that
    nothing else controls, and for every Auto Scaling group of the cluster's own nodes. Comments name the sources. Nothing is
    written to the cluster.

    Groups that nothing marks as part of this cluster are left out. A group whose range or name is not valid in a NodeGroup is
    commented out with the reason. The range comes from the size annotations or tags. A target without them stays at its size
    until you widen the range.

    \b
    Examples:
      reconciler init --context prod
      reconciler init --context prod --out clusters/prod --name prod \\
        && reconciler plan --policy clusters/prod --context prod
    """
    import time

    from reconciler.cli.commands.policy_output import write_policies
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.plan_inputs import read_cluster
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cluster.platform_reading import target_kinds
    from reconciler.rendering.manifests.first_policy import first_policy
    from reconciler.rendering.manifests.group_names import policy_name

    choice = connection_choice(connection)
    world = read_cluster(cluster_path, choice)
    chosen = name or policy_name(world.name)
    if chosen != policy_name(chosen):
        raise InputError(f"--name {chosen}: lower-case letters, digits, '-' and '.', such as {policy_name(chosen)}")
    files = first_policy(world, chosen)
    if "groups.yaml" not in files:
        raise InputError(f"there is nothing to size here: none of {', '.join(target_kinds())}")
    write_policies(out, files, int(time.time()), force=force)
    count = files["groups.yaml"].count("\nkind: NodeGroup\n")
    commented = files["groups.yaml"].count("\n# kind: NodeGroup\n")
    tell(f"{', '.join(str(out / file) for file in files)}: policy {chosen} with {count_text(count, 'group')}, mode Observe")
    if commented:
        tell(f"note: {commented} more are commented out, each with the reason: look for 'Not in force' in {out / 'groups.yaml'}")
    tell(f"next: {_plan_command(out, cluster_path, choice)}")


def _plan_command(out: Path, cluster_path: Path | None, choice: "ConnectionChoice") -> str:
    """The command that shows what the new policy would do to the same cluster."""
    import shlex

    options = {
        "--policy": out,
        "--cluster": cluster_path,
        "--context": choice.context,
        "--kubeconfig": choice.kubeconfig,
        "--management-kubeconfig": choice.management_kubeconfig,
        "--management-context": choice.management_context,
    }
    words = [word for option, value in options.items() if value is not None for word in (option, str(value))]
    words += [word for namespace in choice.target_namespaces for word in ("--target-namespace", namespace)]
    return shlex.join(["reconciler", "plan", *words])
