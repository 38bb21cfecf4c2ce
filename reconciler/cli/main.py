"""The command line: a group whose commands are imported only when they are called, so that `--help` stays fast."""

import gc
import importlib
import sys
from collections.abc import Sequence

import click

from reconciler import __version__
from reconciler.cli.outputs.grouped_help import GroupedCommand

# name -> (module below reconciler.cli.commands, one line for the list of commands): the list is printed without importing any.
COMMANDS: dict[str, tuple[str, str]] = {
    "example": ("example", "Write an example to try the other commands on."),
    "init": ("init", "Write a first policy in mode Observe from what exists."),
    "import": ("import_", "Convert another autoscaler's settings to a policy."),
    "validate": ("validate", "Check policy files, with file:line:column of every problem."),
    "test": ("test", "Run policy tests, each a given cluster and expectations."),
    "plan": ("plan", "Show what would be done for a policy and a cluster, and why."),
    "preview": ("preview", "Show what a change of the policy does to a cluster."),
    "previewer": ("previewer", "Preview open pull requests, and keep a comment on each."),
    "bounds": ("bounds", "Render the admission policies that bound our account."),
    "apply": ("apply", "Carry out a saved plan, except for stale actions."),
    "explain": ("explain", "Explain one pod, node, group or value."),
    "fit": ("fit", "Show on which nodes pending pods fit, and what rejects them."),
    "drain-report": ("drain_report", "Show which nodes could be drained at which threshold."),
    "doctor": ("doctor", "Show the build, and what to fix in a cluster."),
    "snapshot": ("snapshot", "Capture a live cluster as files for the other commands."),
    "record": ("record", "Record past demand for simulate and tune."),
    "hold": ("hold", "Hold groups for a while, with a reason, or release them."),
    "handover": ("handover", "Show the steps from another autoscaler to us, or back."),
    "status": ("status", "Show who leads, the last plan, holds and drains."),
    "report": ("report", "Show cost, waiting, holds and events of the last days."),
    "run": ("run", "Run the loop, with --simulate on the embedded cluster."),
    "simulate": ("simulate", "Replay past demand under one policy or two."),
    "tune": ("tune", "Look for a better policy in past demand, with proof."),
    "schema": ("schema", "Print the JSON Schemas, the CRDs or the reference table."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
COMMAND_GROUPS = {
    "Try": ("example", "init", "validate", "test", "plan", "explain", "fit", "simulate", "tune"),
    "Review": ("preview", "previewer", "drain-report", "schema"),
    "Operate": ("run", "status", "report", "hold", "apply", "doctor", "snapshot", "record", "bounds", "completion"),
    "Migrate": ("import", "handover"),
}
"""What somebody wants -> the commands for it."""


_YOUNG_OBJECTS = 100_000
"""New objects after which those without an owner are collected, instead of 700."""
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
        help="Colour on stdout and stderr. With auto, on a terminal unless NO_COLOR or CI is set.",
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
            raise TypeError(f"reconciler.cli.commands.{cmd_name}.command is not a click command")
        if all(parameter.name != _COLOR for parameter in command.params):
            command.params.append(_color_option())
        return GroupedCommand.of(command)

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
        """The list of commands by what they are for, from the table."""
        widest = max(map(len, COMMANDS))
        for heading, names in COMMAND_GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), COMMANDS[name][1]) for name in names])

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


def collect_rarely() -> None:
    """Make Python's collector run rarely. Nearly all that is imported and read stays until the end, and it would look through all
    of that again and again."""
    gc.set_threshold(_YOUNG_OBJECTS)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point. Exit codes: see `docs/reference/exit-codes.md`."""
    from reconciler.cli.outputs.failure import guarded

    collect_rarely()
    sys.exit(guarded(cli, argv))
