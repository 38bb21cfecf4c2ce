"""The packaged example: a policy, a captured cluster, scenarios and a trace, as in a checkout of the project."""

import tarfile
from importlib.resources import as_file, files
from pathlib import Path

ARCHIVE = "example.tar.gz"
DEMO = "examples/scenarios/demo.yaml"


class OverwriteError(Exception):
    """A file is in the way; the message names it."""


def unpack(directory: Path, *, force: bool = False) -> list[str]:
    """Write the files below `directory`; their names. Raises `OverwriteError` before anything is written, and `OSError`."""
    with as_file(files(__package__) / ARCHIVE) as archive, tarfile.open(archive) as packed:
        names = [member.name for member in packed.getmembers() if member.isfile()]
        there = next((name for name in names if (directory / name).exists()), None)
        if there is not None and not force:
            raise OverwriteError(f"{directory / there} is there already: --force overwrites it")
        directory.mkdir(parents=True, exist_ok=True)
        # The filter came with Python 3.11.4, and Debian 12 has 3.11.2. The archive is our own: it holds plain files only.
        if hasattr(tarfile, "data_filter"):
            packed.extractall(directory, filter="data")
        else:
            packed.extractall(directory)  # noqa: S202 - see above
    return names
