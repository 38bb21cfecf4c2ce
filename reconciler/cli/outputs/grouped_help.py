"""`--help` of a command: its options in groups; of very many those that most people need, the rest with `--help-all`."""

from collections.abc import Iterator, Sequence

import click

OPTIONS = "Options"
GROUPS: dict[str, tuple[str, ...]] = {
    OPTIONS: (),
    "Policy": (
        "--policy", "--name", "--custom-resources", "--flux-source", "--flux-verified", "--last-good", "--allow-rewind",
        "--allow-no-groups", "--approvers", "--approver-gpg-keys", "--now", "--work-budget",
    ),
    "Cluster": (
        "--cluster", "--cluster-name", "--context", "--kubeconfig", "--management-kubeconfig", "--management-context",
        "--target-namespace", "--namespace", "--group", "--node", "--pod-namespace", "--live", "--token-file",
    ),
    "Git": (
        "--git", "--ref", "--path", "--repo", "--base", "--head", "--base-tip", "--allowed-signers", "--gpg-keys", "--signer",
        "--git-username", "--git-password-file", "--git-ca-file", "--git-ssh-key", "--known-hosts", "--git-protocol",
        "--git-timeout", "--git-cache", "--git-max-mib",
    ),
    "Output": (
        "--output", "--out", "--force", "--wide", "--stats", "--verbose", "--detailed-exitcode", "--no-settled", "--log-format",
        "--log-level", "--color", "--help-all", "--help", "--version",
    ),
}  # fmt: skip
"""Heading -> options by their long names, in this order. An option that stands in none is the command's own, and comes first."""
SELDOM = frozenset((
    "--allow-no-groups", "--allow-rewind", "--approver-gpg-keys", "--approvers", "--beside-cluster-autoscaler",
    "--cluster-autoscaler-metrics", "--cluster-name", "--comment-key", "--drain-timeout", "--flux-verified", "--fork-label",
    "--git-ca-file", "--git-cache", "--git-max-mib", "--git-password-file", "--git-protocol", "--git-ssh-key", "--git-timeout",
    "--git-username", "--gpg-keys", "--known-hosts", "--last-good", "--lease-duration", "--log-level",
    "--management-context", "--management-kubeconfig", "--notify-grade", "--notify-secret-file", "--notify-url",
    "--probes", "--record", "--refresh", "--signer", "--target-namespace",
    "--tls-certificate", "--webhook-secret-file", "--work-budget", "--wave-soak",
))  # fmt: skip
MOST_OPTIONS = 25
"""A command with more of them shows those of `SELDOM` with `--help-all` only."""
ALL = "reconciler.help-all"
"""Key of a context's `meta`: whether all options are shown."""


class GroupedCommand(click.Command):
    """A command whose help has groups."""

    @staticmethod
    def of(command: click.Command) -> "GroupedCommand":
        """The same command."""
        grouped = GroupedCommand(
            name=command.name, callback=command.callback, params=command.params, help=command.help, epilog=command.epilog,
            context_settings=command.context_settings, no_args_is_help=command.no_args_is_help, deprecated=command.deprecated,
        )  # fmt: skip
        if grouped.is_long and all(_long_name(parameter) != "--help-all" for parameter in grouped.params):
            grouped.params.append(_help_all())
        return grouped

    @property
    def is_long(self) -> bool:
        """Whether it has more options than most people want to read."""
        return sum(isinstance(parameter, click.Option) for parameter in self.params) > MOST_OPTIONS

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section per group. A long command leaves out the options that few people need."""
        brief = self.is_long and not ctx.meta.get(ALL)
        left: list[click.Parameter] = []
        for heading, parameters in _grouped(self.get_params(ctx)):
            shown = [one for one in parameters if not (brief and _long_name(one) in SELDOM)]
            left += [one for one in parameters if one not in shown]
            records = [record for parameter in shown if (record := parameter.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if left:
            formatter.write_paragraph()
            formatter.write_text(f"{len(left)} more options: `{ctx.command_path} --help-all`.")


def _grouped(parameters: Sequence[click.Parameter]) -> Iterator[tuple[str, list[click.Parameter]]]:
    """In each group as listed, the command's own in the order in which it names them."""
    place = {name: (heading, at) for heading, names in GROUPS.items() for at, name in enumerate(names)}
    groups: dict[str, list[click.Parameter]] = {heading: [] for heading in GROUPS}
    for parameter in parameters:
        groups[place.get(_long_name(parameter), (OPTIONS, 0))[0]].append(parameter)
    for heading, those in groups.items():
        yield heading, sorted(those, key=lambda one: place.get(_long_name(one), ("", 0))[1])


def _long_name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len)


def _help_all() -> click.Option:
    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options and exit."
    )


def _show_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - as click calls it
    if wanted:
        context.meta[ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()
