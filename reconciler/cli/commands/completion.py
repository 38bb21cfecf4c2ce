"""`reconciler completion`: the script that teaches a shell to complete commands, options and choices."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    Examples:
      source <(reconciler completion bash)
      reconciler completion zsh > "${fpath[1]}/_reconciler"
      reconciler completion fish > ~/.config/fish/completions/reconciler.fish
    """
    from click.shell_completion import get_completion_class

    from reconciler.cli.main import cli

    # Made from click's template here, not by `_RECONCILER_COMPLETE=bash_source reconciler`, which for bash starts a bash
    # to look at its version and fails where there is none.
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    source = kind(cli, {}, "reconciler", "_RECONCILER_COMPLETE")
    click.echo(source.source_template % source.source_vars())
