"""`reconciler simulate`, and the replay of a preview."""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.cli.commands.conftest import Run

ROOT = Path(__file__).resolve().parents[3]
TRACES = ROOT / "examples" / "traces"
QUICKSTART = ROOT / "examples" / "quickstart"
PACKED, SPARE, POOL = TRACES / "packed", TRACES / "spare", TRACES / "pool-28.csv"


def judge(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")))


def curve(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(("# pod: cpu=4 memory=8Gi", "time,pods", *lines)) + "\n", encoding="utf-8")
    return path


def test_two_policies_side_by_side(run: Run, tmp_path: Path):
    """Three pods of 4 cores fit on a node of 15.8, nine on three: a tenth waits 90 s for a fourth unless nodes are kept free."""
    demand = curve(tmp_path / "c.csv", "0,9", "3600,10", "7200,10")
    code, out, err = run("simulate", "--trace", demand, "--policy", PACKED, "--against", SPARE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "trace c · 3h from 1970-01-01T00:00:00Z · up to 10 pods"
    assert lines[2].split() == ["packed", "spare", "change"]
    assert next(line for line in lines if "time to schedule, p99" in line).split()[-3:] == ["90s", "0s", "-90s"]
    assert next(line for line in lines if "unplaced pod minutes" in line).split()[3:] == ["1.5", "0.0", "-1.5", "(-100.0%)"]


def test_json_follows_its_schema(run: Run, tmp_path: Path):
    """One side and two; another major version is no such document."""
    demand = curve(tmp_path / "c.csv", "0,3", "3600,9", "7200,2")
    for more in ((), ("--against", SPARE)):
        code, out, _ = run("simulate", "--trace", demand, "--policy", PACKED, *more, "-o", "json")
        document = json.loads(out)
        assert code == 0
        assert [error.message for error in judge("simulate").iter_errors(document)] == []
        assert [side["policy"] for side in document["sides"]] == ["packed", *(["spare"] if more else [])]
    assert list(judge("simulate").iter_errors(document | {"formatVersion": "2.0"}))


def test_same_bytes_twice(run: Run):
    """Two hours of the example, read and replayed twice."""
    words = ("simulate", "--trace", POOL, "--policy", PACKED, "--until", "2h", "-o", "json")
    assert run(*words) == run(*words)


def test_page_of_charts(run: Run, tmp_path: Path):
    """Both policies: CPU, nodes and memory of each and the cost of both; the same bytes twice."""
    demand = curve(tmp_path / "c.csv", "0,3", "3600,9", "7200,2")
    words = ("simulate", "--trace", demand, "--policy", PACKED, "--against", SPARE, "-o", "html")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.startswith("<!doctype html>\n")
    assert (out.count("<figure"), out.count('role="img"')) == (7, 7)
    assert run(*words) == (code, out, err)


def test_markdown_has_the_figures_as_a_table(run: Run, tmp_path: Path):
    """A row a figure, with a column a policy and the change."""
    demand = curve(tmp_path / "c.csv", "0,3", "3600,9", "7200,2")
    _, out, _ = run("simulate", "--trace", demand, "--policy", PACKED, "--against", SPARE, "-o", "markdown")
    assert "|  | `packed` | `spare` | change |" in out
    assert re.search(r"^\| cost \| `\$[0-9.]+` \| `\$[0-9.]+` \| `\+\$[0-9.]+", out, re.M)


def test_a_curve_on_a_captured_cluster(run: Run, tmp_path: Path):
    """With the cluster's pods, and without them: then fewer nodes are needed for the same curve."""
    demand = curve(tmp_path / "c.csv", "2026-11-21T00:00:00Z,2", "2026-11-21T02:00:00Z,2")
    words = ("simulate", "--trace", demand, "--policy", ROOT / "policies", "--cluster", QUICKSTART, "-o", "json")
    full = json.loads(run(*words)[1])
    alone = json.loads(run(*words, "--alone")[1])
    assert full["cluster"] == "c1"
    # Ten pods of the capture can never be placed; alone there are none but the two of the curve.
    assert full["sides"][0]["podsPending"] >= 10
    assert alone["sides"][0]["podsPending"] == 0
    assert alone["sides"][0]["nodeSeconds"] < full["sides"][0]["nodeSeconds"]


def test_recorded_snapshots_are_a_trace(run: Run, tmp_path: Path):
    """The same capture at two instants: its demand an hour long, and then as long again."""
    for name, hour in (("first", "00"), ("second", "01")):
        shutil.copytree(QUICKSTART, tmp_path / "captures" / name)
        manifest = tmp_path / "captures" / name / "snapshot.yaml"
        text = manifest.read_text(encoding="utf-8")
        manifest.write_text(re.sub(r"capturedAt:.*", f'capturedAt: "2026-11-21T{hour}:30:00Z"', text), encoding="utf-8")
    code, out, err = run("simulate", "--trace", tmp_path / "captures", "--policy", ROOT / "policies", "-o", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["seconds"], document["start"]) == (7_200, "2026-11-21T00:30:00Z")
    # 19 pods wait in the capture; 9 get a node of those that the plan of the README adds.
    assert (document["sides"][0]["podsPlaced"], document["sides"][0]["podsPending"]) == (9, 10)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--trace", "missing.csv"), "missing.csv: No such file"),
        (("--trace", "bad.csv"), "bad.csv:3:3: "),
        (("--trace", "good.csv", "--until", "2 days"), "--until: invalid duration '2 days'. The longest unit is h: write 48h"),
        (("--trace", "good.csv", "--until", "0"), "--until 0s: must be above zero"),
        (("--trace", "good.csv", "--alone"), "--alone goes with --cluster"),
        (("--trace", "."), "0 snapshots, but a replay needs at least two"),
    ],
)
def test_bad_input_is_told_in_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
):
    """What is wrong, where, and what to do; nothing on stdout."""
    monkeypatch.chdir(tmp_path)
    curve(tmp_path / "good.csv", "0,1")
    curve(tmp_path / "bad.csv", "0,many")
    code, out, err = run("simulate", *words, "--policy", PACKED)
    assert (code, out) == (1, "")
    assert says in err
    assert "Traceback" not in err


def test_a_policy_without_groups_needs_a_cluster(run: Run, tmp_path: Path):
    """Discovery finds nothing where there is nothing."""
    (tmp_path / "p.yaml").write_text(
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: bare}\n"
        "spec: {discovery: [{name: all, clusterAPI: {}}]}\n",
        encoding="utf-8",
    )
    code, _, err = run("simulate", "--trace", POOL, "--policy", tmp_path / "p.yaml")
    assert code == 1
    assert "policy bare has no node group without a cluster: name one with --cluster, or write NodeGroups" in err


@pytest.mark.parametrize("why", ["held", "no template"])
def test_a_policy_under_which_nothing_could_grow_is_no_success(run: Run, tmp_path: Path, why: str):
    """The figures are there, a note says that they tell nothing, and the exit code is 1 with the policy's name."""
    demand = curve(tmp_path / "c.csv", "2026-11-21T00:00:00Z,2", "2026-11-21T00:10:00Z,2")
    words = ("simulate", "--trace", demand, "--until", "10m")
    if why == "held":
        shutil.copytree(PACKED, tmp_path / "policy")
        for file in (tmp_path / "policy").glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("  policyRef:", "  hold: {reason: x}\n  policyRef:"), encoding="utf-8")
        words = (*words, "--policy", tmp_path / "policy")
        told = "held all the time: "
    else:
        (tmp_path / "policy").mkdir()
        (tmp_path / "policy" / "p.yaml").write_text(
            "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: bare}\nspec: {}\n---\n"
            "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: gone, namespace: x}\n"
            "spec: {policyRef: {name: bare}, size: {max: 3},\n"
            "  target: {clusterAPI: {kind: MachineDeployment, namespace: none, name: gone}}}\n",
            encoding="utf-8",
        )
        words = (*words, "--policy", tmp_path / "policy", "--cluster", QUICKSTART)
        told = "the capacity of a new node is unknown: gone"
    code, out, err = run(*words)
    assert code == 1
    assert "time to schedule, longest" in out
    assert told in " ".join(out.split())
    assert "no group could grow, so the figures say nothing about this policy" in " ".join(out.split())
    assert f"{tmp_path / 'policy'}: no group could grow" in err


def test_a_preview_replays_demand_under_both_policies(run: Run, tmp_path: Path):
    """The curve's figures stand below the difference, in JSON with both sides; equal policies differ in nothing."""
    demand = curve(tmp_path / "c.csv", "2026-11-21T00:00:00Z,2", "2026-11-21T00:05:00Z,2")
    words = ("preview", "--base-dir", ROOT / "policies", "--head-dir", ROOT / "policies", "--cluster", QUICKSTART)
    code, out, _ = run(*words, "--replay", demand, "-o", "json")
    document = json.loads(out)
    assert code == 0
    assert [error.message for error in judge("preview").iter_errors(document)] == []
    first, second = document["replay"]["sides"]
    assert first == second
    assert first["nodeSeconds"] > 0
    plain = json.loads(run(*words, "-o", "json")[1])
    assert plain["replay"] is None
    assert plain["digest"] != document["digest"]
    assert "time to schedule, p50" in run(*words, "--replay", demand)[1]
    assert "### Replay" in run(*words, "--replay", demand, "-o", "markdown")[1]


def previewed(tmp_path: Path) -> tuple[object, ...]:
    """A preview without a change, with a curve of one hour: the last line holds as long as the one before."""
    demand = curve(tmp_path / "c.csv", "2026-11-21T00:00:00Z,2", "2026-11-21T00:30:00Z,1")
    sides = ("--base-dir", ROOT / "policies", "--head-dir", ROOT / "policies")
    return "preview", *sides, "--cluster", QUICKSTART, "--replay", demand


def test_a_preview_replays_as_much_as_is_asked_for(run: Run, tmp_path: Path):
    """An hour in all, ten minutes of it when told so."""
    words = previewed(tmp_path)
    assert json.loads(run(*words, "-o", "json")[1])["replay"]["seconds"] == 3600
    assert json.loads(run(*words, "--until", "10m", "-o", "json")[1])["replay"]["seconds"] == 600


@pytest.mark.parametrize(("until", "code", "says"), [("0s", 1, "--until 0s: must be above zero"), ("soon", 1, "--until: ")])
def test_a_preview_refuses_a_bad_limit_of_the_replay(run: Run, tmp_path: Path, until: str, code: int, says: str):
    """As `simulate` does, with nothing on stdout."""
    found, out, err = run(*previewed(tmp_path), "--until", until)
    assert (found, out) == (code, "")
    assert says in err


def test_a_limit_without_a_replay_is_wrong_usage(run: Run):
    """There is nothing that it could be the limit of."""
    sides = ("--base-dir", ROOT / "policies", "--head-dir", ROOT / "policies")
    code, out, err = run("preview", *sides, "--cluster", QUICKSTART, "--until", "1h")
    assert (code, out) == (1, "")
    assert "--until goes with --replay PATH" in err


class Terminal(io.StringIO):
    """Something that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_tells_how_far_a_preview_is_with_its_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On a terminal, to the end, and taken away again; a pipe and CI get none."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("CI", "1")
    words = [str(word) for word in previewed(tmp_path)]
    assert guarded(cli, words) == 0
    assert "replaying" not in terminal.getvalue()
    monkeypatch.delenv("CI")
    assert guarded(cli, words) == 0
    assert "replaying" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[1A\r\x1b[K")


def test_help_is_quick_and_has_examples():
    """What the command needs is loaded when it runs, not when it is asked about."""
    program = (
        "import sys; from reconciler.cli.outputs.failure import guarded; from reconciler.cli.main import cli\n"
        "code = guarded(cli, ['simulate', '--help'])\n"
        "heavy = ('msgspec', 'yaml', 'reconciler.simulation.replays.replay', 'reconciler.rendering')\n"
        "print('LOADED', [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "LOADED []" in done.stdout
    assert "Examples:" in done.stdout
