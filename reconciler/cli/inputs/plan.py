"""The options that say which policy meets which cluster at which instant: the same for every command that decides."""

from collections.abc import Callable
from typing import TypeVar

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH

Command = TypeVar("Command", bound=Callable[..., object])

WORK_BUDGET_HELP = "Steps that one decision may take. A plan that runs out of steps lists the parts that it did not examine."


_POLICY = "Policy file or directory [default: policies/ if it is there, else the targets' own annotations]."
_CLUSTER = "Snapshot instead of a live cluster: a file, directory or tar of what kubectl prints, also dumps and support bundles."
_NOW = "The instant of the decision [default: that of the snapshot, now]."


def policy_option(help_text: str = _POLICY) -> Callable[[Command], Command]:
    """`--policy`, as `policy_path`."""
    return click.option("--policy", "policy_path", metavar="PATH", type=NAMED_PATH, help=help_text)


def cluster_option(help_text: str = _CLUSTER) -> Callable[[Command], Command]:
    """`--cluster`, as `cluster_path`."""
    return click.option("--cluster", "cluster_path", metavar="PATH", type=NAMED_PATH, help=help_text)


def now_option(help_text: str = _NOW) -> Callable[[Command], Command]:
    """`--now`, as it was written."""
    return click.option("--now", metavar="RFC3339", help=help_text)


def side_options(command: Command) -> Command:
    """Add `--policy`, `--name`, `--cluster` and `--now`: what meets what, and when."""
    name = click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
    for option in (now_option(), cluster_option(), name, policy_option()):
        command = option(command)
    return command


def input_options(command: Command) -> Command:
    """Add those of `side_options`, and `--work-budget`."""
    budget = click.option("--work-budget", metavar="N", type=click.IntRange(min=1), help=WORK_BUDGET_HELP)
    return side_options(budget(command))


def live_options(command: Command) -> Command:
    """Add the options that name a live cluster, and `--namespace` where its loop keeps what it remembers; the command takes the
    former as further keywords."""
    option = click.option(
        "--namespace",
        metavar="NAME",
        help="Where the loop keeps Lease and state [default: the pod's namespace, else reconciler].",
    )
    return option(connection_options(command))
