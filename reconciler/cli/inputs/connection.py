"""Options that say which clusters are meant, and as whom. What they mean is in connections.py."""

from collections.abc import Callable
from typing import TypeVar

import click

from reconciler.cli.inputs.completing import complete_context

_Command = TypeVar("_Command", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--context",
        metavar="NAME",
        shell_complete=complete_context("kubeconfig"),
        help="Context of the kubeconfig [default: its current one].",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the cluster whose pods are placed, or in-cluster [default: KUBECONFIG, ~/.kube/config, the pod].",
    ),
    click.option(
        "--management-kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the cluster with the Cluster API objects, or in-cluster [default: the same cluster].",
    ),
    click.option(
        "--management-context",
        metavar="NAME",
        shell_complete=complete_context("management_kubeconfig"),
        help="Context for the cluster with the Cluster API objects.",
    ),
    click.option(
        "--target-namespace",
        "target_namespaces",
        metavar="NAME",
        multiple=True,
        help="Read Cluster API objects of this namespace only. Repeatable [default: all].",
    ),
)


def connection_options(command: _Command) -> _Command:
    """Add the options to a command, which takes them as keywords of these names."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
