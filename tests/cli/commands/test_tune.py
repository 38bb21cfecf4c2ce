"""`reconciler tune`: planted best values are found by replaying, and written where they stand."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from reconciler.values.duration import duration_text
from reconciler.values.instant import parse_instant
from tests.cli.commands.conftest import Run
from tests.simulation.replays.test_recording import NOON

ROOT = Path(__file__).resolve().parents[3]
QUARTER = 900


POLICY = """\
# Two kinds of nodes with four cores each.
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers:
    # The good machines come first.
    - {name: dear, defaults: {pricePerHour: "2"}}
    - {name: cheap, defaults: {pricePerHour: "1"}}
  defaults:
    size: {min: 0, max: 40}
    template: {capacity: {cpu: 4, memory: 16Gi, pods: 110}, architecture: amd64}
    scaleDown:
      unneededTime: 10m  # as ever
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: dear, namespace: reconciler}
spec:
  policyRef: {name: prod}
  tier: dear
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: dear}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: cheap, namespace: reconciler}
spec:
  policyRef: {name: prod}
  tier: cheap
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: cheap}}
"""


def environment(hash_seed: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed}


def policy(folder: Path, text: str = POLICY) -> Path:
    file = folder / "prod.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def trace(folder: Path, pods: list[int], size: str = "cpu=4 memory=8Gi") -> Path:
    """Pods of each quarter of an hour of a day."""
    file = folder / "demand.csv"
    lines = [f"# pod: {size}", "time,pods", *(f"{at * QUARTER},{count}" for at, count in enumerate(pods))]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def order_of_tiers() -> list[int]:
    """Any demand at all: dear nodes cost twice as much."""
    return [random.Random(at).randint(1, 3) for at in range(32)]


def pauses() -> list[int]:
    """Ten pods more for a quarter of an hour, twice in two hours with a quarter between. Nodes that outlive the pause save one of
    two waits. To save the other one too, they would have to stay for an hour and a quarter."""
    return [2 + (10 if at % 8 in (0, 2) else 0) for at in range(64)]


def one_more() -> list[int]:
    """One pod more each quarter, which fills a node, and all gone at the full hour: one free node is always enough."""
    return [2 + at % 4 for at in range(32)]


def spread_thin() -> list[int]:
    """Twelve pods fill three nodes; three of them stay for 45 minutes, on a node each. They fit on one."""
    return [12 if at % 4 == 0 else 3 for at in range(32)]


def tuned(run: Run, demand: Path, file: Path, *words: object) -> dict[str, object]:
    code, out, err = run("tune", "--trace", demand, "--policy", file, "-o", "json", *words)
    assert (code, err) == (0, "")
    found: dict[str, object] = json.loads(out)
    return found


def proposed(found: dict[str, object]) -> dict[str, str]:
    """Setting -> value."""
    trials: list[dict[str, object]] = found["trials"]  # type: ignore[assignment]
    changes = trials[found["chosen"] or 0]["changes"]  # type: ignore[index]
    return {change["path"]: change["after"] for change in changes}


THRESHOLD = POLICY.replace("unneededTime: 10m  # as ever", "{utilizationThresholdPercent: 10, unneededTime: 5m}").replace(
    "scaleDown:\n      {", "scaleDown: {"
)


@pytest.mark.parametrize(
    ("demand", "size", "text", "words", "best"),
    [
        pytest.param(order_of_tiers, "cpu=4", POLICY, "tiers=*", {"spec.tiers": "cheap, dear"}, id="order of tiers"),
        pytest.param(
            pauses, "cpu=4", POLICY, "scaleDown.unneededTime=5m,20m,2h --objective wait --objective cost",
            {"spec.defaults.scaleDown.unneededTime": "20m"}, id="unneeded time",
        ),
        pytest.param(
            one_more, "cpu=4", POLICY, "dear/headroom.nodes=0..2/1 --objective wait=2 --objective cost",
            {"spec.headroom.nodes": "1"}, id="headroom",
        ),
        pytest.param(
            spread_thin, "cpu=1", THRESHOLD, "scaleDown.utilizationThresholdPercent=5,60 --objective cost",
            {"spec.defaults.scaleDown.utilizationThresholdPercent": "60"}, id="threshold",
        ),
    ],
)  # fmt: skip
def test_a_planted_best_value_is_found(
    run: Run, tmp_path: Path, demand: Callable[[], list[int]], size: str, text: str, words: str, best: dict[str, str]
) -> None:
    """Through the simulator, by demand for which the best value can be told by hand."""
    file = trace(tmp_path, demand(), f"{size} memory=2Gi")
    assert proposed(tuned(run, file, policy(tmp_path, text), "--vary", *words.split())) == best


def test_settings_without_effect_are_no_better_policy(run: Run, tmp_path: Path) -> None:
    """There is no GPU, and demand never changes: every trial comes to the same. The exit code says that nothing is proposed."""
    text = POLICY.replace("unneededTime: 10m", "gpuUtilizationThresholdPercent: 50")
    demand = trace(tmp_path, [3] * 16)
    found = tuned(
        run, demand, policy(tmp_path, text), "--vary", "scaleDown.gpuUtilizationThresholdPercent=10,90", "--detailed-exitcode"
    )
    assert (found["verdict"], found["chosen"], found["heldOut"]) == ("NothingBetter", None, None)
    Draft202012Validator(json.loads((ROOT / "schemas" / "tune.schema.json").read_text(encoding="utf-8"))).validate(found)
    code, out, _ = run("tune", "--trace", demand, "--policy", tmp_path / "prod.yaml", "--vary", "nearTiePercent=5")
    assert code == 0
    assert out.startswith("no better policy found: none of 1 trial is better")
    assert "It does not react" in out


def test_a_gap_in_a_recording_is_in_no_period(run: Run, tmp_path: Path) -> None:
    """Two recorded days, a week apart: the quiet week is neither searched nor held out. Pods that fit no group are told."""
    days = tmp_path / "demand"
    days.mkdir()
    shape = {"namespace": "shop", "requests": {"cpu_milli": 4_000, "memory_bytes": 2 << 30, "pods": 1}}
    source = {
        "shape": shape,
        "traits": {"namespace": "shop", "controller": {"api_group": "apps", "kind": "ReplicaSet", "name": "web"}},
    }
    for day in (0, 8):
        lines: list[object] = [{"formatVersion": "1.1"}, {"source": source}]
        lines += [{"at": NOON + day * 86_400 + 900 * at, "pods": [[0, 1 + at % 3]]} for at in range(40)]
        (days / f"day-{day}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    words = ("tune", "--trace", days, "--policy", policy(tmp_path), "--vary", "tiers=*")
    found = json.loads(run(*words, "-o", "json")[1])
    last = NOON + 39 * 900
    assert found["unobservedSeconds"] == NOON + 8 * 86_400 - last
    sentence = f"Nobody looked for {duration_text(found['unobservedSeconds'])}, and the last demand before lasts meanwhile."
    assert sentence in " ".join(run(*words)[1].split())
    simulated = ("simulate", "--trace", days, "--policy", tmp_path / "prod.yaml")
    assert sentence in run(*simulated, "--wide")[1]
    assert json.loads(run(*simulated, "-o", "json")[1])["unobservedSeconds"] == found["unobservedSeconds"]
    assert "Nobody looked" not in run(*simulated, "--until", "9h", "--wide")[1]
    begins = [parse_instant(text) for text in (*found["searchPeriods"], *found["heldOutPeriods"])]
    assert all(begin < last or begin > NOON + 8 * 86_400 - found["periodSeconds"] for begin in begins)
    assert proposed(found) == {"spec.tiers": "cheap, dear"}
    shape["node_selector"] = [["pool", "gpu"]]
    (days / "day-0.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in [*lines[:1], {"source": source}, *lines[2:]]), encoding="utf-8"
    )
    (days / "day-8.jsonl").unlink()
    out = run(*words)[1]
    assert "never got a node. Is this the recording of its cluster?" in out
    assert "Nobody looked" not in out


def test_what_is_proposed_is_written_where_it_stands(run: Run, tmp_path: Path) -> None:
    """The two lines change places with the comment above them, and nothing else changes. The policy is valid. A second search
    says that nothing is better."""
    file, body = policy(tmp_path), tmp_path / "request.md"
    words = ("tune", "--trace", trace(tmp_path, order_of_tiers()), "--policy", file, "--vary", "tiers=*", "--detailed-exitcode")
    code, out, err = run(*words, "--write", "--body", body)
    assert (code, err) == (2, f"{file}: changed\n")
    assert out.startswith("the best of 1 trial gains 4")
    dear = '    # The good machines come first.\n    - {name: dear, defaults: {pricePerHour: "2"}}\n'
    cheap = '    - {name: cheap, defaults: {pricePerHour: "1"}}\n'
    assert file.read_text(encoding="utf-8") == POLICY.replace(dear + cheap, cheap + dear)
    assert run("validate", file)[0] == 0
    told = body.read_text(encoding="utf-8")
    assert "| `prod spec.tiers` | `dear, cheap` | `cheap, dear` |" in told
    assert "revert this commit" in told
    assert run(*words, "--write", "--body", body)[:1] == (0,)
    assert body.read_text(encoding="utf-8") == told


def test_two_workers_and_an_interruption_make_the_same_bytes(tmp_path: Path) -> None:
    """Half of the finished trials and a torn line are left: the rest is made again, with another order of sets."""
    finished = tmp_path / "finished.jsonl"
    words = [
        sys.executable,
        "-m",
        "reconciler",
        "tune",
        "--trace",
        trace(tmp_path, order_of_tiers()),
        "--policy",
        policy(tmp_path),
    ]
    words += ["--vary", "tiers=*", "--vary", "scaleDown.unneededTime=5m", "--until", "4h", "-o", "html"]

    def printed(hash_seed: str, *more: str | Path) -> bytes:
        return subprocess.run([*words, *more], check=True, capture_output=True, env=environment(hash_seed)).stdout

    once = printed("7", "--resume", finished)
    page = once.decode()
    assert page.count('class="evicts" d="M') == 2  # today's policy in the picture, and in the key
    assert "<script" not in page
    assert "cheap, dear" in page
    lines = finished.read_bytes().splitlines(keepends=True)
    finished.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:40])
    assert printed("8", "--resume", finished, "--workers", "2") == once
    assert sorted(finished.read_bytes().splitlines(keepends=True)) == sorted(lines)


ORDER_OF_SETS = """
from reconciler.cli.processes.tuning_run import FinishedTrials
from reconciler.simulation.tuning.variant import Past
from tests.builders import ClusterBuilder
from tests.simulation.replays.test_recording import NOON, recorded, world
from reconciler.simulation.replays.recording import read_recording
import msgspec
cluster = ClusterBuilder()
for number in range(20):
    cluster.group(f"group-{number}", nodes=1)
found = cluster.world()
found = msgspec.structs.replace(found, observed=frozenset(facts.ref for facts in found.targets))
trace = read_recording("demand", list(recorded((NOON, world({"web": 3})), (NOON + 30, world({"web": 4}))).items()))
past = Past(files={"a": b"b"}, name="prod", trace=trace, world=found)
print(list(found.observed)[0].name, FinishedTrials(None, past).key(((), 0)))
"""


def test_finished_trials_are_known_again_whatever_the_order_of_sets() -> None:
    """The World of a preview has a set of targets, which another process keeps in another order."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", ORDER_OF_SETS], check=True, capture_output=True, cwd=ROOT, env=environment(seed)
        ).stdout.split()
        for seed in ("1", "2", "3")
    ]
    assert len({order for order, _ in runs}) > 1
    assert len({key for _, key in runs}) == 1


def test_parts_on_many_machines_make_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """Three parts, round by round, each with what the others have finished. A part that runs again replays nothing."""
    trials = tmp_path / "trials"
    words = ("tune", "--trace", trace(tmp_path, order_of_tiers()), "--policy", policy(tmp_path), "--vary", "tiers=*")
    words = (*words, "--until", "4h")
    once = run(*words, "-o", "json")[1]
    told: list[str] = []
    for _ in range(6):
        told = [run(*words, "--resume", trials, "--part", f"{index}/3")[2] for index in (2, 0, 1)]
        if not any("more trials are missing" in line for line in told):
            break
    assert set(told) == {"no trial is missing: run without --part\n"}
    files = sorted(trials.iterdir())
    assert [file.name for file in files] == [f"part-{index}-of-3.jsonl" for index in range(3)]
    finished = [file.read_bytes() for file in files]
    keys = [json.loads(line)["key"] for file in finished for line in file.splitlines()]
    assert len(keys) == len(set(keys))
    with files[1].open("ab") as stream:
        stream.write(b'{"key":"torn')
    assert run(*words, "--resume", trials, "-o", "json") == (0, once, "")
    assert files[1].read_bytes() == finished[1] + b'{"key":"torn'
    assert not (trials / "local.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--vary size.max=3", "'size.max' is not searched. Name one of expanders, headroom.nodes"),
        ("--vary limits=1", "is not searched"),
        ("--vary other/headroom.nodes=1", "no NodeGroup document has the name 'other'"),
        ("--vary headroom.nodes", "write KEY=RANGE"),
        ("--vary headroom.nodes=0", "no value is left. The policy has it already"),
        ("--vary headroom.nodes=5..1", "the second end must not be below the first"),
        ("--vary headroom.nodes=0..90/1", "more than 24 values"),
        ("--vary scaleDown.unneededTime=x..y", "'x'"),
        ("--vary tiers=dear>cheap", "there is no other order of tiers"),
        ("--vary defaults.size.min=0..3/1", "a search never goes below a minimum that people set"),
        ("--objective speed", "write one of cost, wait, evictions, changes"),
        ("--objective cost=0", "with a weight from 1 to 9999"),
        ("--until 1h", "shorter than 4h, which is too little to learn from"),
        ("--part 0/2", "--part goes with --resume DIRECTORY"),
        ("--resume {folder}/prod.yaml --part 0/2", "--part goes with --resume DIRECTORY"),
        ("--resume {folder}/t --part 2/2", "write I/N, such as 0/16"),
        ("--resume {folder}/t --part 1/2/3", "write I/N, such as 0/16"),
        ("--resume {folder}/t --part 0/x", "write I/N, such as 0/16"),
        ("--resume {folder}/prod.yaml", "prod.yaml:1:1: not a file of finished trials"),
    ],
)
def test_what_cannot_be_searched_is_said(run: Run, tmp_path: Path, words: str, message: str) -> None:
    """One sentence, exit code 1, and nothing is replayed."""
    file = policy(tmp_path, POLICY.replace("min: 0", "min: 1"))
    given = words.format(folder=tmp_path).split()
    code, out, err = run("tune", "--trace", trace(tmp_path, [1] * 16), "--policy", file, *given)
    assert (code, out) == (1, "")
    assert message in err
