"""The options that say which policy meets which cluster at which instant: the same for every command that decides."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])

WORK_BUDGET_HELP = "Steps that one decision may take; a plan that runs out of them names what it did not examine."


def input_options(command: Command) -> Command:
    """Add `--policy`, `--name`, `--cluster`, `--now` and `--work-budget`."""
    options = (
        click.option(
            "--policy",
            "policy_path",
            metavar="PATH",
            type=click.Path(path_type=Path),
            help="Policy file or directory [default: policies/ if it is there, else the targets' own annotations].",
        ),
        click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several."),
        click.option(
            "--cluster",
            "cluster_path",
            metavar="PATH",
            type=click.Path(path_type=Path),
            help="Snapshot of the cluster: a file or a directory of `kubectl get -o json|yaml` output, also .gz.",
        ),
        click.option("--now", metavar="RFC3339", help="The instant of the decision [default: that of the snapshot]."),
        click.option("--work-budget", metavar="N", type=click.IntRange(min=1), help=WORK_BUDGET_HELP),
    )
    for option in reversed(options):
        command = option(command)
    return command
