"""How far a reader has to go: `python -m tests.benchmarks.passage` plans the quickstart and counts what the plan passes through.

It prints the number of files whose functions run, and how often a call goes to another package than the call
before it. A package is a folder of `reconciler`. At most 200 files and 7,000 changes are the goal.
"""

import contextlib
import io
import sys
from pathlib import Path
from types import FrameType

from reconciler.cli.main import cli

ROOT = Path(__file__).parents[2]
PRODUCT = str(ROOT / "reconciler")


def main() -> int:
    """Prints both numbers; 1 if the plan fails."""
    files: dict[str, int] = {}
    changes, last = 0, ""

    def seen(frame: FrameType, event: str, _: object) -> None:
        nonlocal changes, last
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(PRODUCT) or frame.f_code.co_name == "<module>":
            return
        files[path] = files.get(path, 0) + 1
        package = path[len(PRODUCT) + 1 :].partition("/")[0]
        changes += package != last
        last = package

    given = ["plan", "--policy", str(ROOT / "policies"), "--cluster", str(ROOT / "examples" / "quickstart")]
    printed = io.StringIO()
    sys.setprofile(seen)
    try:
        with contextlib.redirect_stdout(printed):
            code = cli.main(given, standalone_mode=False)
    finally:
        sys.setprofile(None)
    print(f"{len(files)} files, {changes:,} changes of package, for {printed.getvalue().count(chr(10))} lines of output")
    return int(code or 0)


if __name__ == "__main__":
    sys.exit(main())
