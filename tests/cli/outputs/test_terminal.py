"""What a user says of the terminal: colour, and how wide it is."""

import subprocess
import sys

import pytest


def shown(*options: str, **environment: str) -> str:
    """What `plan` prints of the quickstart into a pipe."""
    command = [sys.executable, "-m", "reconciler", "plan", "--policy", "policies", "--cluster", "examples/quickstart", *options]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("options", "environment", "painted"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {}, False),
    ],
)
def test_color(options: tuple[str, ...], environment: dict[str, str], painted: bool):
    """A pipe has no colour unless it is asked for; what is asked for on the command line comes before the environment."""
    assert ("\x1b[" in shown(*options, **environment)) is painted


@pytest.mark.parametrize(("columns", "widest"), [("80", 80), ("", 100), ("x", 100)])
def test_columns(columns: str, widest: int):
    """`COLUMNS` says how wide text may be; without it a pipe gets 100. Only the digest and YAML to copy are not broken."""
    whole = ("sha256:", "cluster.x-k8s.io/")
    lines = [line for line in shown(COLUMNS=columns).splitlines() if not line.lstrip().startswith(whole)]
    assert widest - 8 <= max(map(len, lines)) <= widest


def test_no_narrower_than_sixty():
    """Tables are not readable below."""
    assert shown(COLUMNS="20") == shown(COLUMNS="60")
