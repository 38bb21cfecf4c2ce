"""`reconciler example`: something to try the other commands on."""

from pathlib import Path

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.outputs.telling import tell


@click.command("example")
@click.argument("directory", metavar="[DIR]", type=NAMED_PATH, default=Path())
@click.option("--force", is_flag=True, help="Overwrite files of the same names there.")
def command(directory: Path, *, force: bool) -> None:
    """Write an example to DIR [default: this directory]: a policy with tests, a captured cluster, scenarios and a trace.

    What the documentation shows runs on them: the policy is in policies/, the rest below examples/. Nothing else is needed, no
    cluster and no checkout.

    \b
    Examples:
      reconciler example && reconciler plan --cluster examples/quickstart
      reconciler example try-it && cd try-it \\
        && reconciler run --simulate examples/scenarios/burst-and-fall.yaml
    """
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cli.packaged.example import OverwriteError, unpack

    try:
        names = unpack(directory, force=force)
    except OverwriteError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from error
    tell(f"{len(names)} files in {directory}. Next: reconciler plan --cluster examples/quickstart")
