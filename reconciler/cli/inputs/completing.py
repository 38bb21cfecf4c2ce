"""How shells complete arguments that name groups, values, nodes, pods, namespaces and contexts."""

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
    """For NAME of `explain`: by the kind that stands before it; a value begins with its group, its fields come next."""
    what = str(context.params.get("what"))
    if what != "value":
        return complete(what)(context, parameter, incomplete)
    group, slash, _ = incomplete.partition("/")
    if slash:
        return complete("value")(context, parameter, incomplete)
    return [f"{name}/" for name in complete("group")(context, parameter, group)]


def complete_context(option: str) -> Complete:
    """Names of the contexts in the kubeconfig that `option` names, else in those that any client reads."""

    def answer(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from reconciler.cli.inputs.known_contexts import known_contexts

        return [name for name in known_contexts(context.params.get(option)) if name.startswith(incomplete)]

    return answer
