"""A path on the command line that names something."""

import errno
from pathlib import Path
from typing import Any

import click

_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
_SHOWN = 60


class NamedPath(click.Path):
    """`click.Path` as a `pathlib.Path`, which refuses the empty text. `pathlib` takes it for the current directory. The person
    who wrote it (most often as a shell variable that is not set) meant another one."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(path_type=Path, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own
        """The path. Fails for an empty one, and for a text that can be the name of no file."""
        if isinstance(value, str) and not value:
            self.fail("an empty path names nothing: is a variable not set? The current directory is written as .", param, ctx)
        try:
            Path(value).stat()
        except ValueError:
            self.fail("a path holds no zero bytes", param, ctx)
        except OSError as error:
            if error.errno in _NO_NAMES:
                self.fail(f"{str(value)[:_SHOWN]}…: {error.strerror}", param, ctx)
        return super().convert(value, param, ctx)


NAMED_PATH = NamedPath()
