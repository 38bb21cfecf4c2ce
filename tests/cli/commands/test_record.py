"""`reconciler record`, and the recording of a loop: what is written, what is read, and what is deleted."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cli.outputs.recorded_days import MOST_DAYS, RecordedDays
from tests.builders import ClusterBuilder

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
SCENARIO = ROOT / "examples" / "scenarios" / "burst-and-fall.yaml"
DAY = 86_400

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `reconciler …`; exit code, stdout and stderr."""

    def call(*argv: object) -> tuple[int, str, str]:
        code = guarded(cli, [str(word) for word in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for file in sorted(folder.iterdir()) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_loop_records_what_simulate_replays(run: Run, tmp_path: Path) -> None:
    """The scenario scales a workload from 9 to 40 pods and back; a replay has the same demand, and its clock begins with it."""
    demand = tmp_path / "demand"
    assert run("run", "--simulate", SCENARIO, "--record", demand)[0] == 0
    changes = [line["pods"][0][1] for line in lines(demand) if line.get("pods")]  # type: ignore[index]
    assert changes == [9, 14, 22, 34, 40, 28, 16, 9]
    policy = ROOT / "examples" / "traces" / "packed"
    code, out, err = run("simulate", "--trace", demand, "--policy", policy)
    assert (code, err) == (0, "")
    assert out.startswith("trace demand · 2h from 2026-11-21T00:00:00Z · up to 40 pods\n")


def test_a_snapshot_is_recorded_without_what_no_decision_reads(run: Run, tmp_path: Path) -> None:
    """The requests of its pods are there; the same snapshot again adds nothing."""
    assert run("record", "--cluster", QUICKSTART, "--out", tmp_path / "demand") == (0, "", "")
    once = lines(tmp_path / "demand")
    assert once[0]["formatVersion"] == "1.0"
    assert run("record", "--cluster", QUICKSTART, "--cluster", QUICKSTART, "--out", tmp_path / "demand") == (0, "", "")
    assert lines(tmp_path / "demand") == once
    text = next((tmp_path / "demand").iterdir()).read_text(encoding="utf-8")
    assert '"cpu_milli"' in text
    assert '"image"' not in text


def test_a_torn_line_is_cut_off_and_a_damaged_one_is_said(run: Run, tmp_path: Path) -> None:
    """A process that was killed in the middle of a line; a line that somebody edited."""
    demand = tmp_path / "demand"
    run("record", "--cluster", QUICKSTART, "--out", demand)
    (file,) = demand.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"at":99')
    assert run("record", "--cluster", QUICKSTART, "--out", demand)[0] == 0
    assert file.read_bytes() == whole
    file.write_bytes(whole + b"edited\n")
    code, _, err = run("record", "--cluster", QUICKSTART, "--out", demand)
    assert code == 1
    assert f"{file}:{whole.count(10) + 1}:1: not a line of a recording" in err
    assert f"{file}:{whole.count(10) + 1}:1" in run("simulate", "--trace", demand, "--policy", ROOT / "policies")[2]


def test_old_days_are_deleted(tmp_path: Path) -> None:
    """Thirty stay, and the newest is among them."""
    days = RecordedDays(tmp_path)
    for day in range(MOST_DAYS + 3):
        days.observe(ClusterBuilder().world(), (20_000 + day) * DAY)
    left = sorted(file.name for file in tmp_path.iterdir())
    assert len(left) == MOST_DAYS
    assert left[-1] == "2024-11-05.jsonl"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cluster", QUICKSTART, "--every", "30s"], "--every and --redact are for a live cluster"),
        (["--cluster", QUICKSTART, "--redact"], "--every and --redact are for a live cluster"),
        (["--every", "soon"], "--every"),
    ],
)
def test_options_that_do_not_go_together(run: Run, tmp_path: Path, words: list[object], message: str) -> None:
    """One sentence."""
    code, out, err = run("record", "--out", tmp_path / "d", *words)
    assert (code, out) == (1, "")
    assert message in err
