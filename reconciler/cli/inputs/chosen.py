"""The options that say which part of a plan is shown."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from reconciler.cli.inputs.completing import complete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.cluster.world import World
    from reconciler.plan.narrowed import Chosen
    from reconciler.plan.plan import Plan

Command = TypeVar("Command", bound=Callable[..., object])


def chosen_options(command: Command) -> Command:
    """Add `--group`, `--node` and `--pod-namespace`; the command takes them as `groups`, `nodes` and `pod_namespaces`."""
    options = (
        click.option(
            "--group",
            "groups",
            metavar="NAME",
            multiple=True,
            shell_complete=complete("group"),
            help="Only this group. It may contain * and ?. Repeatable.",
        ),
        click.option(
            "--node",
            "nodes",
            metavar="NAME",
            multiple=True,
            shell_complete=complete("node"),
            help="Only this node. It may contain * and ?. Repeatable.",
        ),
        click.option(
            "--pod-namespace",
            "pod_namespaces",
            metavar="NAME",
            multiple=True,
            shell_complete=complete("namespace"),
            help="Only pods of this namespace, with the nodes that are added or kept for them. Repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen_of(options: "Mapping[str, tuple[str, ...]]") -> "Chosen":
    """The value of the three options, by the keywords that the command takes."""
    from reconciler.plan.narrowed import Chosen

    return Chosen(groups=options["groups"], nodes=options["nodes"], namespaces=options["pod_namespaces"])


def check_chosen(chosen: "Chosen", plan: "Plan", world: "World") -> None:
    """Raises `InputError` for a pattern that nothing matches."""
    from reconciler.cli.outputs.failure import InputError
    from reconciler.plan.narrowed import nothing_matches

    if wrong := nothing_matches(chosen, plan, {shape.namespace for shape in world.pod_shapes}):
        raise InputError(wrong)
