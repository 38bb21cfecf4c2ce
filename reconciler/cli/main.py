"""The command line: a group whose commands are imported only when they are called, so that `--help` stays fast."""

import importlib
import sys
from collections.abc import Sequence

import click

from reconciler import __version__

# name -> (module below reconciler.cli.commands, one line for the list of commands): the list is printed without importing any.
COMMANDS: dict[str, tuple[str, str]] = {
    "example": ("example", "Write an example to try the other commands on: a policy, a cluster, a trace."),
    "init": ("init", "Write a first policy, mode Observe, from what is there."),
    "import": ("import_", "Convert another autoscaler's settings to a policy."),
    "validate": ("validate", "Check policy files: every problem with file:line:column, caret and hint."),
    "plan": ("plan", "Show what would be done, and why, for one policy and one cluster."),
    "preview": ("preview", "What a policy change does: two revisions or directories, one cluster."),
    "previewer": ("previewer", "Preview open pull requests inside the cluster, and keep a comment on each."),
    "bounds": ("bounds", "Render what admission policies hold our account to: ranges, takeovers, evictions."),
    "apply": ("apply", "Carry out a saved plan; refuse what is stale, by name of what moved."),
    "explain": ("explain", "Everything that led to one outcome: a pod, a node, a group, a value."),
    "fit": ("fit", "For each pending pod and node: does it fit, and every scheduler plugin that says no."),
    "drain-report": ("drain_report", "Which nodes could be drained at which threshold, and what keeps the others."),
    "doctor": ("doctor", "Which build runs, and what is worth mending in a cluster."),
    "snapshot": ("snapshot", "Capture a live cluster as files that the other commands read."),
    "hold": ("hold", "Leave groups alone for a while, with a reason; or end that."),
    "handover": ("handover", "How a target comes from another autoscaler, or goes back: steps, and which are done."),
    "status": ("status", "What the loop of a policy last did, who leads, what is held and what drains."),
    "run": ("run", "The loop; with --simulate on the embedded cluster."),
    "simulate": ("simulate", "Demand of the past under one policy or two: how long pods wait, what nodes cost."),
    "schema": ("schema", "Print the JSON Schemas, the CRDs or the reference table."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}


_COLOR = "color"
_WANTED = {"auto": None, "always": True, "never": False}


def _color_option() -> click.Option:
    return click.Option(
        [f"--{_COLOR}"],
        type=click.Choice(list(_WANTED)),
        default="auto",
        show_default=True,
        expose_value=False,
        callback=_color_chosen,
        help="Colour on stdout and stderr; auto: on a terminal, unless NO_COLOR or CI is set.",
    )


def _color_chosen(context: click.Context, _: click.Parameter, value: str) -> None:
    context.color = _WANTED[value]


class LazyGroup(click.Group):
    """Commands by module; `--help` of the group reads the table above only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"reconciler.cli.commands.{COMMANDS[cmd_name][0]}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"reconciler.cli.commands.{cmd_name}.command is no click command")
        if all(parameter.name != _COLOR for parameter in command.params):
            command.params.append(_color_option())
        return command

    def invoke(self, ctx: click.Context) -> object:
        """As click does; a pipe whose reader went away is told apart from a failure."""
        from reconciler.cli.outputs.workflow_commands import WORKFLOW_COMMANDS

        # `validate -o github` prints commands, and stops them itself for every other format.
        if ctx._protected_args[:1] != ["validate"]:
            WORKFLOW_COMMANDS.stop()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            from reconciler.cli.outputs.failure import ReaderGoneError

            raise ReaderGoneError from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a did-you-mean for a wrong name."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"no command {name!r}." + (f" Did you mean {near[0]!r}?" if near else " See 'reconciler --help'."))
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="reconciler")
def cli() -> None:
    """Node groups from policy in git: a plan anyone can read, and only the replicas that are ours.

    \b
    Examples:
      reconciler validate policies/
      reconciler plan --policy policies/ --cluster examples/quickstart
      reconciler explain pod batch/giant --cluster examples/quickstart
      reconciler run --simulate
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point. Exit codes: see `docs/reference/exit-codes.md`."""
    from reconciler.cli.outputs.failure import guarded

    sys.exit(guarded(cli, argv))
