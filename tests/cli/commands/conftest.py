"""A command as a user starts it, inside of this process."""

from collections.abc import Callable

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `reconciler …`; exit code, stdout and stderr."""

    def call(*argv: object) -> tuple[int, str, str]:
        code = guarded(cli, [str(word) for word in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
