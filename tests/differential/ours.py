"""What reconciler answers about a snapshot: the `fit` command, called in this process."""

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from reconciler.cli.failure import guarded
from reconciler.cli.main import cli

Object = dict[str, Any]


def fit(snapshot: Object) -> Any:
    """The answer of `reconciler fit -o json`. Raises RuntimeError with what it printed when it failed."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "cluster.json").write_text(json.dumps(snapshot))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = guarded(cli, ["fit", "--cluster", directory, "-o", "json"])
    if code != 0:
        raise RuntimeError(f"reconciler fit ended with {code}: {err.getvalue().strip()}")
    return json.loads(out.getvalue())
