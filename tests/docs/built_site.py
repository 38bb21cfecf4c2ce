"""The documentation as a site, built as `make docs` does it."""

import subprocess
import sys
from pathlib import Path

from docs.site import SOURCE


def built(directory: Path) -> Path:
    """The site of this checkout. Every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "docs.site", str(directory)], cwd=SOURCE.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return directory
