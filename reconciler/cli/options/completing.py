"""How shells complete arguments that name groups, nodes, pods and namespaces."""

from collections.abc import Callable

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def complete(what: str, *, pending: bool = False) -> Complete:
    """For `shell_complete`: names of every `what` in the snapshot or cluster that the options before it name."""

    def answer(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from reconciler.cli.inputs.known_names import known_names

        names = known_names(what, context.params, incomplete, pending=pending)
        return [name for name in names if name.startswith(incomplete)]

    return answer


def complete_subject(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For NAME of `explain`: by the kind that stands before it; a value begins with its group."""
    what = str(context.params.get("what"))
    if what != "value":
        return complete(what)(context, parameter, incomplete)
    group = incomplete.partition("/")[0]
    return [f"{name}/" for name in complete("group")(context, parameter, group)]
