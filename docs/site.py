"""Build the site: `python -m docs.site DIRECTORY`. Every warning is an error: a link to nowhere, a page that nothing leads to."""

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

SOURCE = Path(__file__).parent


def build(directory: Path) -> int:
    """Write the site; the exit code of the generator."""
    return build_main(
        ["-b", "html", "-W", "--keep-going", "-q", "-E", "-d", f"{directory}.doctrees", str(SOURCE), str(directory)]
    )


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
