"""`reconciler record`, and the recording of a loop: what is written, what is read, and what is deleted."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from reconciler.cli.outputs.recorded_days import MOST_DAYS, RecordedDays
from reconciler.cli.processes.live_loop import recording
from reconciler.control.turn.turn_report import Decided, LoopReport
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.simulation.embedded.durations import Shortage
from reconciler.simulation.replays.recording import read_recording
from tests.builders import ClusterBuilder
from tests.cli.commands.conftest import Run
from tests.policies import policy

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
SCENARIO = ROOT / "examples" / "scenarios" / "burst-and-fall.yaml"
DAY = 86_400


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for file in sorted(folder.iterdir()) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_loop_records_what_simulate_replays(run: Run, tmp_path: Path) -> None:
    """The scenario scales a workload from 9 to 40 pods and back; a replay has the same demand, and its clock begins with it."""
    demand = tmp_path / "demand"
    assert run("run", "--simulate", SCENARIO, "--record", demand)[0] == 0
    changes = [line["pods"][0][1] for line in lines(demand) if line.get("pods")]  # type: ignore[index]
    assert changes == [9, 14, 22, 34, 40, 28, 16, 9]
    packed = ROOT / "examples" / "traces" / "packed"
    code, out, err = run("simulate", "--trace", demand, "--policy", packed)
    assert (code, err) == (0, "")
    assert out.startswith("trace demand · 2h from 2026-11-21T00:00:00Z · up to 40 pods\n")


def test_lead_times_that_the_loop_learned_are_replayed(run: Run, tmp_path: Path) -> None:
    """Machines of the scenario take two minutes: pods of the replay wait as long, and ten seconds if somebody says so."""
    demand = tmp_path / "demand"
    run("run", "--simulate", SCENARIO, "--record", demand)
    assert {"leadTimes": [["general", 120]]} in lines(demand)
    file = tmp_path / "policy.yaml"
    text = SCENARIO.read_text(encoding="utf-8").partition("---\n")[2].replace("min: 2, max: 12", "min: 2, max: 40")
    file.write_text(
        text.replace('"0.20"', '"0.20"\n  template: {capacity: {cpu: 4, memory: 16Gi, pods: 110}, architecture: amd64}'),
        encoding="utf-8",
    )
    words = ("simulate", "--trace", demand, "--policy", file, "-o", "json")
    waited = [json.loads(run(*words, *more)[1])["sides"][0]["waitMaxSeconds"] for more in ((), ("--join-after", "10s"))]
    assert waited == [120, 10]


def test_failures_and_prices_are_recorded_and_replayed(run: Run, tmp_path: Path) -> None:
    """Spot machines cannot be had for 40 minutes, and the loop gives one up after five. In a replay of that hour, too, pods get
    their nodes from the other tier, later than if spot machines came. Prices of a policy that has none are those of the time."""
    demand = tmp_path / "demand"
    assert run("run", "--simulate", ROOT / "examples" / "scenarios" / "out-of-stock.yaml", "--record", demand)[0] == 0
    found = lines(demand)
    assert {"prices": [["on-demand", "0.40"], ["spot", "0.12"]]} in found
    ((name, asked, seconds), *_) = next(line["failures"] for line in found if "failures" in line)  # type: ignore[attr-defined]
    assert (name, seconds) == ("spot", 300)
    assert 1_795_219_200 + 120 <= asked <= 1_795_219_200 + 180
    file = tmp_path / "policy.yaml"
    rules = (ROOT / "examples" / "scenarios" / "out-of-stock.yaml").read_text(encoding="utf-8").partition("---\n")[2]
    for price in ('"0.12"', '"0.40"'):
        rules = rules.replace(f"  pricePerHour: {price}", "  template: {capacity: {cpu: 8, memory: 32Gi, pods: 110}}")
    file.write_text(rules, encoding="utf-8")
    words = ("simulate", "--trace", demand, "--policy", file, "-o", "json")
    replayed = json.loads(run(*words)[1])["sides"][0]
    day = next(demand.iterdir())
    day.write_bytes(b"".join(line for line in day.read_bytes().splitlines(keepends=True) if b'"failures"' not in line))
    healthy = json.loads(run(*words)[1])["sides"][0]
    assert replayed["waitMaxSeconds"] > 300 > healthy["waitMaxSeconds"]
    hours = {target["target"].partition("/")[2]: target["nodeSeconds"] / 3_600 for target in replayed["targets"]}
    assert hours["on-demand"] > 1
    assert float(replayed["cost"]) == pytest.approx(0.40 * hours["on-demand"] + 0.12 * hours.get("spot", 0), abs=0.01)


def test_a_second_recorder_repeats_no_failure(tmp_path: Path) -> None:
    """What the loop remembers for long is written once a day."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    times = {str(world.targets[0].ref): LeadTimes(requests=(LeadTime(DAY - 900, -300, -300), LeadTime(DAY - 600, 60, 60)))}
    for at in (DAY, DAY + 600, 2 * DAY):
        RecordedDays(tmp_path).observe(world, at, times)
    assert [line["failures"] for line in lines(tmp_path) if "failures" in line] == [[["general", DAY - 900, 300]]] * 2
    trace = read_recording("demand", [(file.name, file.read_bytes()) for file in sorted(tmp_path.iterdir())])
    assert trace.shortages == (("general", Shortage(from_seconds=DAY - 900, until_seconds=DAY - 600)),)


def test_a_snapshot_is_recorded_without_what_no_decision_reads(run: Run, tmp_path: Path) -> None:
    """The requests of its pods are there; the same snapshot again adds nothing."""
    assert run("record", "--cluster", QUICKSTART, "--out", tmp_path / "demand") == (0, "", "")
    once = lines(tmp_path / "demand")
    assert once[0]["formatVersion"] == "1.1"
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


class Told:
    """What a loop logs."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def warning(self, code: str, message: str) -> None:
        self.lines.append((code, message))


def test_a_turn_that_cannot_be_recorded_is_told_and_ends_nothing(tmp_path: Path) -> None:
    """The live loop: its directory is gone in the second turn, and a file has its name."""
    told, folder = Told(), tmp_path / "demand"
    turned = recording(folder, told)  # type: ignore[arg-type]
    decided = Decided(world=ClusterBuilder().world(), policy=policy(), memory=Memory(), now_seconds=DAY)
    turned(LoopReport(at_seconds=DAY, decided=decided))
    assert [file.name for file in folder.iterdir()] == ["1970-01-02.jsonl"]
    shutil.rmtree(folder)
    folder.write_text("")
    turned(LoopReport(at_seconds=2 * DAY, decided=msgspec.structs.replace(decided, now_seconds=2 * DAY)))
    turned(LoopReport(at_seconds=3 * DAY, unavailable="no view"))
    ((code, message),) = told.lines
    assert code == "NotRecorded"
    assert message.startswith("the demand of this turn is not recorded: ")


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
