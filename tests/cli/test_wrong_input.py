"""What a stranger types by mistake is answered with one sentence, exit code 1, and no data on stdout."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ("--cluster", "examples/quickstart")


def _run(*words: str | Path, redirect: str = "", given: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, at the top of the checkout; `redirect` as the shell writes it."""
    line = f'exec "$@" {redirect}'
    called = ["sh", "-c", line, "sh", sys.executable, "-m", "reconciler", *map(str, words)]
    return subprocess.run(called, cwd=ROOT, capture_output=True, text=True, input=given, check=False, timeout=60)


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_an_instant_at_the_end_of_the_calendar_is_out_of_range(now: str) -> None:
    """No calendar has days before the year 1 or after 9999, where windows would have to look."""
    done = _run("plan", *CLUSTER, "--no-settled", "--now", now)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: --now: '{now}' is out of range")


@pytest.mark.parametrize("command", [["plan", "--no-settled"], ["preview", "--base-dir", "policies", "--head-dir", "policies"]])
def test_a_directory_or_nothing_as_out_prints_no_data(command: list[str], tmp_path: Path) -> None:
    """`--out` must name a file; what is refused prints nothing on stdout."""
    for out, told in ((tmp_path, "Name a file in it"), ("", "'--out': an empty path names nothing")):
        done = _run(*command, *CLUSTER, "--out", out)
        assert (done.returncode, done.stdout) == (1, "")
        assert told in done.stderr


def test_init_beside_another_policy_is_refused(tmp_path: Path) -> None:
    """Two groups for one target would make the whole tree invalid: nothing is written."""
    (tmp_path / "prod.yaml").write_bytes((ROOT / "policies/prod.yaml").read_bytes())
    done = _run("init", *CLUSTER, "--out", tmp_path)
    assert (done.returncode, sorted(file.name for file in tmp_path.iterdir())) == (1, ["prod.yaml"])
    assert "holds policy prod already" in done.stderr


def test_nothing_on_standard_input_is_no_valid_policy() -> None:
    """A renderer that failed in front of the pipe must not pass a check."""
    done = _run("validate", "-")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing came in on standard input" in done.stderr


def test_a_binary_file_is_not_imported(tmp_path: Path) -> None:
    """Bytes that look like flags by chance are no settings."""
    (tmp_path / "ca.bin").write_bytes(b"\x8f --l \xff --max-nodes-total=5")
    done = _run("import", tmp_path / "ca.bin")
    assert (done.returncode, done.stdout) == (1, "")
    assert "invalid text at byte 0" in done.stderr


@pytest.mark.parametrize(("redirect", "said"), [(">/dev/full", "No space left on device"), (">&-", "standard output is closed")])
def test_output_without_a_place_is_no_defect_of_ours(redirect: str, said: str) -> None:
    """A full disk and a closed stdout are told as such, in one line."""
    done = _run("schema", "plan", redirect=redirect)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert said in done.stderr


def test_a_directory_as_scenario_is_called_one(tmp_path: Path) -> None:
    """A directory that is there is not "no such file"."""
    done = _run("run", "--simulate", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {tmp_path}: a directory. Name a scenario file")
